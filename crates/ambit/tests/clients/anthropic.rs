//! Anthropic's clients: their packages for Python and Node, and Claude Code.

use crate::recorded::RecordedStreams;
use crate::server::Server;
use crate::{beside, check, guide, installed};
use std::process::Command;

/// Names the Python that has the `anthropic` package.
const PYTHON: &str = "TEST_ANTHROPIC_PYTHON";
/// Names the folder that has `@anthropic-ai/sdk` and `@anthropic-ai/claude-code`.
const NODE: &str = "TEST_ANTHROPIC_NODE";
/// Where the commands of the page look for the server.
const ADDRESS: &str = "http://127.0.0.1:8080";

/// The server's address without its base path, which these clients add themselves.
fn root(server: &Server) -> &str {
    server.url.strip_suffix("/v1").unwrap()
}

#[test]
fn every_case_of_the_anthropic_package_for_python_holds() {
    let server = Server::with_key(&beside("anthropic/app"));
    let mut cases = Command::new(installed(PYTHON));
    cases.arg(beside("anthropic/cases.py"));
    check(cases.args([root(&server), &server.key]), 14);
}

#[test]
fn every_case_of_the_anthropic_package_for_node_holds() {
    let server = Server::with_key(&beside("anthropic/app"));
    let mut cases = Command::new("node");
    cases.arg(beside("anthropic/cases.cjs"));
    cases
        .args([root(&server), &server.key])
        .arg(installed(NODE));
    check(&mut cases, 11);
}

#[test]
fn the_stream_helper_of_the_anthropic_package_takes_every_recorded_stream() {
    let records = RecordedStreams::write();
    let mut helper = Command::new("node");
    helper.arg(beside("anthropic/recorded.cjs"));
    helper.arg(records.folder.path());
    check(helper.arg(installed(NODE)), records.count);
}

/// The block of the page's section in this language that holds `with`.
fn block(language: &str, with: &str) -> String {
    let mut blocks = guide("Anthropic Messages", language).into_iter();
    blocks.find(|block| block.contains(with)).unwrap()
}

/// A server of an app that has the agent of the page, which asks a model of the tests.
fn server_of_the_page() -> (Server, tempfile::TempDir) {
    let app = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = app.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let read = |name: &str| std::fs::read_to_string(beside("anthropic/app").join(name)).unwrap();
    for name in ["app.yao", "openapi/openapi.yao"] {
        write(name, &read(name));
    }
    write(
        "connectors/claude.conn.yao",
        &read("connectors/words.conn.yao"),
    );
    write(
        "assistants/coder/package.yao",
        &block("json", "\"connector\": \"claude\""),
    );
    write(
        "assistants/coder/prompts.yml",
        &block("yaml", "role: system"),
    );
    (Server::with_key(app.path()), app)
}

#[test]
fn the_python_program_of_the_page_prints_what_is_printed() {
    let (server, _app) = server_of_the_page();
    let program = block("python", "anthropic");
    let program = program.replace(ADDRESS, root(&server));
    let mut python = Command::new(installed(PYTHON));
    let ran = python
        .args(["-c", &program])
        .env("AMBIT_KEY", &server.key)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{err}");
    assert_eq!(
        String::from_utf8(ran.stdout).unwrap(),
        block("text", "It is")
    );
}

#[test]
fn claude_code_runs_a_tool_as_the_page_says() {
    let (server, _app) = server_of_the_page();
    let home = tempfile::tempdir().unwrap();
    let program = installed(NODE).join("node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs");
    let commands = block("sh", "ANTHROPIC_BASE_URL").replace(ADDRESS, root(&server));
    assert!(commands.contains("claude -p "), "{commands}");
    let wrapper = format!("claude() {{ node {} \"$@\"; }}\n", program.display());
    let ran = Command::new("bash")
        .args(["-c", &format!("{wrapper}{commands}")])
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("AMBIT_KEY", &server.key)
        .env_remove("ANTHROPIC_API_KEY")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{out}{err}");
    assert_eq!(out, "The shell said from the tool.\n", "{err}");
}
