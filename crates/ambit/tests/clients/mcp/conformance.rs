//! The public conformance suite, in both eras against an example.

use super::scenarios::{NOT_GREEN, OF_ITS_OWN_SERVER, SCENARIOS, UNDECLARED};
use crate::installed;
use crate::server::Server;
use serde_json::{Value, json};
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

/// The beginnings of the names of the scenarios that are left out.
fn left_out() -> impl Iterator<Item = &'static str> {
    let others = OF_ITS_OWN_SERVER.iter().map(|row| row.0);
    others.chain(UNDECLARED.iter().map(|row| row.0))
}

#[test]
fn every_scenario_of_the_suite_is_run_or_left_out_for_a_reason() {
    let listed = listed();
    let names: BTreeSet<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    let gone = SCENARIOS.iter().filter(|name| !names.contains(*name));
    assert_eq!(gone.count(), 0, "{names:?}");
    let others: Vec<&str> = names
        .into_iter()
        .filter(|name| !SCENARIOS.contains(name))
        .collect();
    let unknown = others
        .iter()
        .filter(|name| !left_out().any(|beginning| name.starts_with(beginning)));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new());
    let useless =
        left_out().filter(|beginning| !others.iter().any(|name| name.starts_with(beginning)));
    assert_eq!(useless.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn what_is_left_out_for_a_capability_is_declared_in_no_era() {
    let server = served();
    let begin = json!({"protocolVersion": VERSIONS[0], "capabilities": {}});
    let older = ask(&server, "initialize", &begin, &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": VERSIONS[1],
        "io.modelcontextprotocol/clientCapabilities": {}});
    let version = format!("MCP-Protocol-Version: {}", VERSIONS[1]);
    let headers = [version.as_str(), "Mcp-Method: server/discover"];
    let params = json!({"_meta": meta});
    let newer = ask(&server, "server/discover", &params, &headers);
    for told in [older, newer] {
        let capabilities = &told["result"]["capabilities"];
        assert_eq!(capabilities["tools"], json!({}), "{told}");
        for (scenarios, place, _) in UNDECLARED {
            assert_eq!(capabilities.pointer(place), None, "{scenarios}");
        }
    }
}

#[test]
fn every_check_of_the_suite_is_green_or_listed() {
    let server = served();
    let url = format!("{}/mcp", server.url);
    talk(&server.url);
    let (mut found, mut green) = (BTreeSet::new(), 0);
    for (name, versions) in listed() {
        for version in VERSIONS {
            let is_run = SCENARIOS.contains(&name.as_str());
            if !is_run || !versions.iter().any(|known| known == version) {
                continue;
            }
            for check in run(&url, &name, version) {
                let [id, status] = ["id", "status"].map(|key| check[key].as_str().unwrap());
                if ["SUCCESS", "INFO"].contains(&status) {
                    green += 1;
                } else {
                    found.insert(format!("{name} {id} {status}"));
                }
            }
        }
    }
    let known = NOT_GREEN
        .iter()
        .map(|(scenario, check, status, _)| format!("{scenario} {check} {status}"));
    assert_eq!(found, known.collect());
    assert!(green >= 80, "{green} checks are green");
}

/// The example that the suite is run against.
fn served() -> Server {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    Server::open(&examples.join("tool-server"))
}

/// The answer to one request.
fn ask(server: &Server, method: &str, params: &Value, headers: &[&str]) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut curl = Command::new("curl");
    for header in headers {
        curl.arg("--header").arg(header);
    }
    let url = format!("{}/mcp", server.url);
    let answered = curl.args(["--silent", "--data", &body.to_string(), &url]);
    serde_json::from_slice(&answered.output().unwrap().stdout).unwrap()
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
    // Extensions belong to no version, so that the suite would not run their scenarios.
    command.args(["--spec-version", version, "--force"]);
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
