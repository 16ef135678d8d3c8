//! What README.md prints is what happens, and what docs/clients.md prints of chat completions.

use crate::server::Server;
use crate::{NODE, PYTHON, guide, installed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the README's commands look for the server.
const ADDRESS: &str = "http://127.0.0.1:8080/v1";

/// The text of the README's first block in this language that holds `with`.
fn block(language: &str, with: &str) -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let start = format!("```{language}\n");
    let blocks = readme.split(&start).skip(1);
    let mut blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default());
    let found = blocks.find(|block| block.contains(with));
    found
        .unwrap_or_else(|| panic!("README.md has no such block"))
        .to_owned()
}

/// Runs a program on a text of a page, at this server instead of the one that the page names.
fn run(program: &mut Command, text: &str, server: &Server) -> String {
    assert!(text.contains(ADDRESS), "{text}");
    let ran = program
        .arg(text.replace(ADDRESS, &server.url))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{err}");
    String::from_utf8(ran.stdout).unwrap()
}

fn example(name: &str) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    examples.join(name)
}

fn welcome() -> Server {
    Server::open(&example("welcome"))
}

#[test]
fn the_readmes_curl_command_works_as_printed() {
    let mut shell = Command::new("sh");
    let out = run(shell.arg("-c"), &block("sh", "curl"), &welcome());
    assert!(out.contains("\"delta\":{\"content\":\"Hello\"}"), "{out}");
    assert!(out.ends_with("data: [DONE]\n\n"), "{out}");
}

#[test]
fn the_readmes_python_program_prints_what_is_printed() {
    let mut python = Command::new(installed(PYTHON));
    let out = run(python.arg("-c"), &block("python", "OpenAI"), &welcome());
    assert_eq!(out, block("text", "Nice to meet you"));
}

#[test]
fn the_guides_programs_for_chat_completions_print_what_is_printed() {
    let server = Server::with_key(&example("clients"));
    let section = |language| guide("OpenAI chat completions", language);
    let (programs, printed) = (section("python"), section("text"));
    assert_eq!((programs.len(), printed.len()), (2, 2));
    for (program, printed) in programs.iter().zip(printed) {
        let mut python = Command::new(installed(PYTHON));
        python.env("AMBIT_KEY", &server.key).arg("-c");
        assert_eq!(run(&mut python, program, &server), printed);
    }
}

#[test]
fn the_guides_program_for_node_prints_what_is_printed() {
    let server = Server::with_key(&example("clients"));
    let first = |language| guide("OpenAI chat completions", language).remove(0);
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval"]);
    node.env("AMBIT_KEY", &server.key);
    node.current_dir(installed(NODE));
    assert_eq!(run(&mut node, &first("js"), &server), first("text"));
}
