//! Running scenarios and reading what came of them.

use crate::scenarios::{FAILING, LEFT_OUT, SCENARIOS};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A warning of this says that the machine is busy.
const TIMED: &str = "client-sse-retry-timing";

/// The suite's command.
fn conformance() -> Command {
    let folder = std::env::var_os("TEST_CONFORMANCE").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| {
        panic!("TEST_CONFORMANCE is not set; run the tests with `cargo xtask test`")
    });
    let modules = folder.join("node_modules");
    // It needs a newer Node than many machines have.
    let mut command = Command::new(modules.join("node/bin/node"));
    command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
    command
}

/// Every scenario for clients is either run or left out, and none is named that does not exist.
pub fn is_whole() {
    let listed = conformance().args(["list", "--client"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let clients = listed
        .split("\n\n")
        .find(|part| part.trim_start().starts_with("Client"));
    let names = clients.unwrap().lines().skip(1);
    let names: Vec<&str> = names
        .filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next())
        .collect();
    assert!(names.len() > SCENARIOS.len(), "{listed}");
    let is_run = |name: &str| SCENARIOS.iter().any(|row| row.0 == name);
    let is_left_out = |name: &str| LEFT_OUT.iter().any(|row| name.starts_with(row.0));
    let both_or_none = names
        .iter()
        .filter(|name| is_run(name) == is_left_out(name));
    assert_eq!(both_or_none.collect::<Vec<_>>(), Vec::<&&str>::new());
    let gone = SCENARIOS.iter().filter(|row| !names.contains(&row.0));
    assert_eq!(gone.count(), 0, "{names:?}");
}

/// Runs one scenario against this program: nothing fails but what must, and something succeeds.
pub fn run(name: &str, version: &str) {
    let results = tempfile::tempdir().unwrap();
    let client = std::env::current_exe().unwrap();
    let mut command = conformance();
    command.args(["client", "--scenario", name, "--spec-version", version]);
    // Else it gives a client half a minute, which a busy machine may need.
    command.args(["--timeout", "300000"]);
    command.arg("--command").arg(client);
    let ran = command.arg("--output-dir").arg(results.path()).output();
    let ran = ran.unwrap();
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let said = said.join("\n");
    let checks = checks(results.path().to_owned());
    let of = |status: &str| -> Vec<&str> {
        let found = checks.iter().filter(|check| check["status"] == status);
        found.filter_map(|check| check["id"].as_str()).collect()
    };
    let mut warnings = of("WARNING");
    warnings.retain(|id| *id != TIMED);
    let expected: Vec<&str> = FAILING
        .iter()
        .filter(|row| row.0 == name)
        .map(|row| row.1)
        .collect();
    assert_eq!((of("FAILURE"), warnings), (expected, Vec::new()), "{said}");
    assert!(!of("SUCCESS").is_empty(), "{said}");
}

/// What was checked: the suite keeps it in a folder of its own for each run, which may lie deeper.
fn checks(folder: PathBuf) -> Vec<Value> {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("checks.json") {
                let text = std::fs::read_to_string(path).unwrap();
                return serde_json::from_str(&text).unwrap();
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    panic!("the suite has left no checks");
}
