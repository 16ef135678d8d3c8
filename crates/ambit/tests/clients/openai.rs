//! Clients of OpenAI's Responses and Conversations: the `openai` packages, the Agents SDK and Codex.

use crate::recorded::RecordedStreams;
use crate::server::{Server, make_store, new_key};
use crate::{beside, guide, installed, python_cases};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Names the Python that has the packages.
const PYTHON: &str = "TEST_OPENAI_PYTHON";
/// Names the folder that has the packages for Node.
const NODE: &str = "TEST_OPENAI_NODE";

fn server() -> Server {
    Server::with_key(&beside("openai/app"))
}

fn two_nodes() -> Vec<Server> {
    Server::nodes(&beside("openai/app"), 2)
}

fn python(nodes: &[Server], cases: &str, count: usize) {
    let cases = format!("openai/python/{cases}.py");
    check(&mut python_cases(PYTHON, &cases, nodes), count);
}

/// Runs a program that prints `ok NAME` for each of so many cases.
fn check(cases: &mut Command, count: usize) {
    let ran = cases.output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{out}{err}");
    let held = out.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!((held, out.lines().count()), (count, count), "{out}{err}");
}

#[test]
fn every_response_of_the_openai_package_for_python_holds() {
    python(&[server()], "responses", 17);
}

#[test]
fn every_response_of_the_openai_package_for_python_holds_with_two_nodes() {
    python(&two_nodes(), "responses", 17);
}

#[test]
fn every_run_of_the_agents_sdk_for_python_holds() {
    python(&[server()], "agents_sdk", 6);
}

#[test]
fn every_run_of_the_agents_sdk_for_python_holds_with_two_nodes() {
    python(&two_nodes(), "agents_sdk", 6);
}

#[test]
fn g166_sessions_of_the_agents_sdk_go_on_when_their_server_was_killed() {
    let data = tempfile::tempdir().unwrap();
    make_store(&beside("openai/app"), data.path());
    let key = new_key(data.path());
    let mut cases = Command::new(installed(PYTHON));
    cases.arg(beside("openai/python/killed.py"));
    cases.env("PYTHONPATH", beside("python"));
    cases.arg(env!("CARGO_BIN_EXE_ambit"));
    cases.arg(beside("openai/app"));
    check(cases.arg(data.path()).arg(key), 3);
}

/// Runs the cases for Node with one node or several.
fn check_node(nodes: &[Server]) {
    let urls: Vec<&str> = nodes.iter().map(|node| node.url.as_str()).collect();
    let mut run = Command::new("node");
    run.arg(beside("openai/node/cases.cjs"));
    run.args([&urls.join(","), &nodes[0].key]);
    check(run.arg(installed(NODE)), 14);
}

#[test]
fn every_case_of_the_openai_and_agents_packages_for_node_holds() {
    check_node(&[server()]);
}

#[test]
fn every_case_of_the_openai_and_agents_packages_for_node_holds_on_two_nodes() {
    check_node(&Server::nodes(&beside("openai/app"), 2));
}

#[test]
fn the_stream_helpers_of_the_openai_package_take_every_recorded_stream() {
    let records = RecordedStreams::write();
    let mut helpers = Command::new("node");
    helpers.arg(beside("openai/node/recorded.cjs"));
    helpers.arg(records.folder.path());
    // Chat completions and Responses.
    check(helpers.arg(installed(NODE)), 2 * records.count);
}

#[test]
fn every_case_of_open_responses_holds() {
    python(&[server()], "open_responses", 10);
}

#[test]
fn every_case_of_open_responses_holds_with_two_nodes() {
    python(&two_nodes(), "open_responses", 10);
}

/// A folder in which Codex works, with the page's configuration.
fn codex_home(server: &Server) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let config = blocks("toml").remove(0);
    let config = config.replace("http://127.0.0.1:8080/v1", &server.url);
    std::fs::create_dir(home.path().join(".codex")).unwrap();
    std::fs::write(home.path().join(".codex/config.toml"), config).unwrap();
    home
}

/// Runs Codex by a command of the page.
fn codex(server: &Server, home: &Path, command: &str) -> Output {
    let program = installed(NODE).join("node_modules/@openai/codex/bin/codex.js");
    let wrapper = format!("codex() {{ node {} \"$@\"; }}\n", program.display());
    let mut run = Command::new("bash");
    run.args(["-c", &format!("{wrapper}{command}")]);
    run.current_dir(home).env("HOME", home);
    run.env("AMBIT_KEY", &server.key).env_remove("CODEX_HOME");
    run.stdin(Stdio::null()).output().unwrap()
}

/// What Codex answers: all else that it prints is not on its standard output.
fn codex_answer(server: &Server, home: &Path, command: &str) -> String {
    let ran = codex(server, home, command);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{err}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn codex_runs_a_tool_and_goes_on_as_the_page_says() {
    let server = server();
    let home = codex_home(&server);
    let commands = blocks("sh").remove(0);
    let [first, second] = commands.lines().collect::<Vec<_>>()[..] else {
        panic!("{commands}");
    };
    let answer = codex_answer(&server, home.path(), first);
    assert!(answer.starts_with("The shell has said: "), "{answer}");
    assert!(answer.contains("from the shell"), "{answer}");
    // The model is told again what it has said before, and what the tool gave.
    let answer = codex_answer(&server, home.path(), second);
    assert!(answer.starts_with("You were told: "), "{answer}");
    assert!(answer.contains("The shell has said: "), "{answer}");
    assert!(answer.contains("echo from the shell"), "{answer}");
}

#[test]
fn codex_does_not_repeat_what_is_refused() {
    let server = server();
    let home = codex_home(&server);
    let command = "codex exec --skip-git-repo-check -m strict 'Use the shell.'";
    let ran = codex(&server, home.path(), command);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success(), "{err}");
    assert!(err.contains("takes no developer messages"), "{err}");
    assert!(!err.contains("econnecting"), "{err}");
}

/// The blocks of the page's section that are written in this language.
fn blocks(language: &str) -> Vec<String> {
    guide("OpenAI Responses", language)
}

#[test]
fn the_pages_programs_print_what_is_printed() {
    let server = server();
    let programs = blocks("python");
    let expected = [
        blocks("text").remove(0),
        "It is sunny in Oslo.\n".to_owned(),
    ];
    assert_eq!(programs.len(), expected.len());
    for (program, expected) in programs.iter().zip(expected) {
        let program = program.replace("http://127.0.0.1:8080/v1", &server.url);
        let mut python = Command::new(installed(PYTHON));
        python.args(["-c", &program]);
        let environment = [
            ("AMBIT_KEY", &server.key),
            ("OPENAI_API_KEY", &server.key),
            ("OPENAI_BASE_URL", &server.url),
        ];
        let ran = python.envs(environment).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{err}");
    }
}
