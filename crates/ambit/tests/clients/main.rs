//! Official clients against `ambit serve` as people run it. Their packages are installed by `cargo xtask test`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod printed;
mod server;

use server::Server;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the Python that has the `openai` package.
const PYTHON: &str = "TEST_CLIENTS_PYTHON";
/// Names the folder that has the `openai` package for Node.
const NODE: &str = "TEST_CLIENTS_NODE";

/// What the environment names.
fn installed(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.unwrap_or_else(|| panic!("{variable} is not set; run the tests with `cargo xtask test`"))
}

/// A file beside this one.
fn beside(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    folder.join(name)
}

#[test]
fn every_case_of_the_openai_package_for_python_holds() {
    let server = Server::with_key(&beside("app"));
    let mut cases = Command::new(installed(PYTHON));
    cases.arg(beside("python/cases.py"));
    check(cases.args([&server.url, &server.key]));
}

#[test]
fn every_case_of_the_openai_package_for_node_holds() {
    let server = Server::with_key(&beside("app"));
    let mut cases = Command::new("node");
    cases.arg(beside("node/cases.cjs"));
    cases.args([&server.url, &server.key]).arg(installed(NODE));
    check(&mut cases);
}

/// Runs a program that prints `ok NAME` for each case that holds.
fn check(cases: &mut Command) {
    let ran = cases.output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{out}{err}");
    assert!(
        out.lines().all(|line| line.starts_with("ok ")),
        "{out}{err}"
    );
    assert!(out.lines().count() >= 14, "not all cases ran:\n{out}{err}");
}
