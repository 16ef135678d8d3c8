//! The public conformance suite, in both eras against an example.

use super::scenarios::{LEFT_OUT, NOT_GREEN, SCENARIOS};
use crate::installed;
use crate::server::Server;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The versions that are tried: the newest of each era.
const VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The suite's command.
fn suite() -> Command {
    let modules = installed("TEST_CONFORMANCE").join("node_modules");
    // It needs a newer Node than many machines have.
    let mut command = Command::new(modules.join("node/bin/node"));
    command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
    command
}

/// The suite's scenarios for servers, each with the versions that it is for; extensions are for the newest.
fn listed() -> Vec<(String, Vec<String>)> {
    let listed = suite().args(["list", "--server"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let rows = listed.lines().filter_map(|line| {
        let (name, versions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
        let versions = versions
            .trim_end_matches(']')
            .replace("extension", "2026-07-28");
        let versions = versions.split(',').map(str::to_owned).collect();
        Some((name.to_owned(), versions))
    });
    let rows: Vec<_> = rows.collect();
    assert!(rows.len() > SCENARIOS.len(), "{listed}");
    rows
}

fn left_out(name: &str) -> bool {
    LEFT_OUT.iter().any(|row| name.starts_with(row.0))
}

#[test]
fn every_scenario_of_the_suite_is_run_or_left_out_for_a_reason() {
    let listed = listed();
    let run = |name: &str| SCENARIOS.contains(&name);
    let names = listed.iter().map(|(name, _)| name.as_str());
    let both_or_none = names.clone().filter(|name| run(name) == left_out(name));
    assert_eq!(both_or_none.collect::<Vec<_>>(), Vec::<&str>::new());
    let names: BTreeSet<&str> = names.collect();
    let gone = SCENARIOS.iter().filter(|name| !names.contains(*name));
    assert_eq!(gone.count(), 0, "{names:?}");
    let useless = LEFT_OUT
        .iter()
        .filter(|row| !names.iter().any(|name| name.starts_with(row.0)));
    assert_eq!(useless.count(), 0);
}

#[test]
fn every_check_of_the_suite_is_green_or_listed() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let server = Server::open(&examples.join("tool-server"));
    let url = format!("{}/mcp", server.url);
    talk(&server.url);
    let (mut found, mut green) = (BTreeSet::new(), 0);
    for (name, versions) in listed() {
        for version in VERSIONS {
            if left_out(&name) || !versions.iter().any(|known| known == version) {
                continue;
            }
            let checks = run(&url, &name, version);
            let is_green =
                |check: &&Value| check["status"] == "SUCCESS" || check["status"] == "INFO";
            green += checks.iter().filter(is_green).count();
            let others = checks.iter().filter(|check| !is_green(check));
            found.extend(others.map(|check| format!("{name} {}", check["id"].as_str().unwrap())));
        }
    }
    let known = NOT_GREEN.iter().map(|row| format!("{} {}", row.0, row.1));
    assert_eq!(found, known.collect());
    assert!(green >= 40, "{green} checks are green");
}

/// Begins a chat, so that there is a resource to read.
fn talk(url: &str) {
    let body = r#"{"messages": [{"role": "user", "content": "When are you open?"}]}"#;
    let path = format!("{url}/chat/completions");
    let mut curl = Command::new("curl");
    let talked = curl.args(["--silent", "--fail", "--data", body, &path]);
    assert!(talked.output().unwrap().status.success());
}

/// The checks of one scenario.
fn run(url: &str, name: &str, version: &str) -> Vec<Value> {
    let results = tempfile::tempdir().unwrap();
    let mut command = suite();
    command.args(["server", "--url", url, "--scenario", name]);
    command.args(["--spec-version", version]);
    let ran = command.arg("--output-dir").arg(results.path()).output();
    let ran = ran.unwrap();
    checks(results.path().to_owned()).unwrap_or_else(|| {
        let told = String::from_utf8_lossy(&ran.stderr);
        panic!("{name} in {version} has left no checks: {told}")
    })
}

/// What was checked: the suite keeps it in a folder of its own for each run, which may lie deeper.
fn checks(folder: PathBuf) -> Option<Vec<Value>> {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("checks.json") {
                let text = std::fs::read_to_string(path).unwrap();
                return Some(serde_json::from_str(&text).unwrap());
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    None
}
