//! Official clients against `ambit serve` as people run it. Their packages are installed by `cargo xtask test`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod ag_ui;
mod ai_sdk;
mod anthropic;
mod app_types;
#[path = "../support/conversation.rs"]
mod conversation;
mod copilotkit;
mod generated;
mod mcp;
mod openai;
mod phoenix;
mod printed;
mod recorded;
#[path = "../support/recorded_logs.rs"]
mod recorded_logs;
mod server;
mod store;
mod telemetry;
mod web;

use conversation::converse;
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

/// The blocks of this section of docs/clients.md that are written in this language.
fn guide(section: &str, language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once(&format!("\n## {section}")).unwrap();
    let section = section.split("\n## ").next().unwrap_or_default();
    let start = format!("```{language}\n");
    let blocks = section.split(&start).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default().to_owned());
    blocks.collect()
}

/// Cases that this Python runs, whose requests go to these nodes in turn.
fn python_cases(python: &str, cases: &str, nodes: &[Server]) -> Command {
    let mut program = Command::new(installed(python));
    program.arg(beside(cases)).arg(&nodes[0].key);
    program.args(nodes.iter().map(|node| &node.url));
    program.env("PYTHONPATH", beside("python"));
    program
}

#[test]
fn every_case_of_the_openai_package_for_python_holds() {
    let nodes = [Server::with_key(&beside("app"))];
    check(&mut python_cases(PYTHON, "python/cases.py", &nodes), 14);
}

#[test]
fn every_case_of_the_openai_package_for_python_holds_with_two_nodes() {
    let nodes = Server::nodes(&beside("app"), 2);
    check(&mut python_cases(PYTHON, "python/cases.py", &nodes), 14);
}

/// Runs the cases for Node with one node or several.
fn check_node(nodes: &[Server]) {
    let urls: Vec<&str> = nodes.iter().map(|node| node.url.as_str()).collect();
    let mut cases = Command::new("node");
    cases.arg(beside("node/cases.cjs"));
    cases.args([&urls.join(","), &nodes[0].key]);
    check(cases.arg(installed(NODE)), 14);
}

#[test]
fn every_case_of_the_openai_package_for_node_holds() {
    check_node(&[Server::with_key(&beside("app"))]);
}

#[test]
fn every_case_of_the_openai_package_for_node_holds_on_two_nodes() {
    check_node(&Server::nodes(&beside("app"), 2));
}

#[test]
fn ambit_chat_talks_to_a_server() {
    let server = Server::with_key(&beside("app"));
    let mut chat = Command::new(env!("CARGO_BIN_EXE_ambit"));
    chat.args(["chat", "plain", "--url", &server.url]);
    let out = converse(chat.env("AMBIT_TOKEN", &server.key), "hello\ncount\n");
    assert!(out.status.success(), "{out:?}");
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "echo: hello\n4\n");
}

#[test]
fn ambit_chat_says_why_a_server_refuses() {
    let server = Server::with_key(&beside("app"));
    let mut chat = Command::new(env!("CARGO_BIN_EXE_ambit"));
    chat.args(["chat", "plain", "--url", &server.url]);
    let out = converse(chat.env_remove("AMBIT_TOKEN"), "hello\n");
    assert_eq!(out.status.code(), Some(2));
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(err.starts_with("ambit: ") && !err.contains("401"), "{err}");
}

/// Runs a program that prints `ok NAME` for each case that holds, of which there are so many at least.
fn check(cases: &mut Command, least: usize) {
    let ran = cases.output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{out}{err}");
    assert!(
        out.lines().all(|line| line.starts_with("ok ")),
        "{out}{err}"
    );
    let count = out.lines().count();
    assert!(count >= least, "not all cases ran:\n{out}{err}");
}
