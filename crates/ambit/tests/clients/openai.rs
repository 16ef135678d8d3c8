//! Clients of OpenAI's Responses and Conversations: the `openai` packages, the Agents SDK and Codex.

use crate::server::Server;
use crate::{beside, installed};
use std::path::Path;
use std::process::Command;

/// Names the Python that has the packages.
const PYTHON: &str = "TEST_OPENAI_PYTHON";
/// Names the folder that has the packages for Node.
const NODE: &str = "TEST_OPENAI_NODE";

fn server() -> Server {
    Server::with_key(&beside("openai/app"))
}

fn python(cases: &str, count: usize) {
    let server = server();
    let mut run = Command::new(installed(PYTHON));
    run.arg(beside(cases)).args([&server.url, &server.key]);
    check(&mut run, count);
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
    python("openai/python/responses.py", 17);
}

#[test]
fn every_run_of_the_agents_sdk_for_python_holds() {
    python("openai/python/agents_sdk.py", 6);
}

#[test]
fn every_case_of_the_openai_and_agents_packages_for_node_holds() {
    let server = server();
    let mut run = Command::new("node");
    run.arg(beside("openai/node/cases.cjs"));
    run.args([&server.url, &server.key]).arg(installed(NODE));
    check(&mut run, 14);
}

#[test]
fn every_case_of_open_responses_holds() {
    let server = server();
    let mut run = Command::new("node");
    run.arg(beside("openai/node/open_responses.cjs"));
    check(run.args([&server.url, &server.key]), 7);
}

/// The blocks of this section of docs/clients.md that are written in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## OpenAI Responses").unwrap();
    let section = section.split("\n## ").next().unwrap_or_default();
    let start = format!("```{language}\n");
    let blocks = section.split(&start).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default().to_owned());
    blocks.collect()
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
            ("OPENAI_API_KEY", &server.key),
            ("OPENAI_BASE_URL", &server.url),
        ];
        let ran = python.envs(environment).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{err}");
    }
}
