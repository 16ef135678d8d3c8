//! The official `ai` package in three versions, the first of 6 and the last of 6 and 7, each with the chat of its `@ai-sdk/react`.

use crate::recorded::RecordedStreams;
use crate::server::Server;
use crate::{beside, check, guide, installed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder that has the package in all versions, and a Node that is new enough for them.
const FOLDER: &str = "TEST_CLIENTS_AI_SDK";
/// The names under which the versions are installed.
const FIRST_6: &str = "ai-6-0-0";
const LAST_6: &str = "ai-6";
const LAST_7: &str = "ai-7";

/// A Node that is new enough for the newest packages.
pub fn node_program() -> PathBuf {
    installed(FOLDER).join("node_modules/node/bin/node")
}

fn node(program: &str) -> Command {
    let mut node = Command::new(node_program());
    node.arg(beside("ai-sdk").join(program));
    node
}

/// Runs cases, all where none are named, with one node or several.
fn cases(nodes: &[&Server], version: &str, names: &[&str]) -> Command {
    let urls: Vec<&str> = nodes.iter().map(|node| node.url.as_str()).collect();
    let mut program = node("cases.mjs");
    program.args([&urls.join(","), &nodes[0].key]);
    program.arg(installed(FOLDER)).arg(version).args(names);
    program
}

fn server() -> Server {
    Server::with_key(&beside("ai-sdk/app"))
}

#[test]
fn g155_what_clients_of_6_0_0_hold_is_what_is_listed() {
    check(&mut cases(&[&server()], FIRST_6, &[]), 25);
}

#[test]
fn g155_what_clients_of_the_last_6_hold_is_what_is_listed() {
    check(&mut cases(&[&server()], LAST_6, &[]), 28);
}

#[test]
fn g155_what_clients_of_the_last_7_hold_is_what_is_listed() {
    check(&mut cases(&[&server()], LAST_7, &[]), 28);
}

/// Runs all cases of a version with two nodes in turn.
fn check_on_two_nodes(version: &str, least: usize) {
    let nodes = Server::nodes(&beside("ai-sdk/app"), 2);
    let nodes: Vec<&Server> = nodes.iter().collect();
    check(&mut cases(&nodes, version, &[]), least);
}

#[test]
fn every_case_of_6_0_0_holds_on_two_nodes() {
    check_on_two_nodes(FIRST_6, 25);
}

#[test]
fn every_case_of_the_last_6_holds_on_two_nodes() {
    check_on_two_nodes(LAST_6, 28);
}

#[test]
fn every_case_of_the_last_7_holds_on_two_nodes() {
    check_on_two_nodes(LAST_7, 28);
}

#[test]
fn g156_calls_have_ids_of_their_own_where_a_provider_repeats_its() {
    let names = ["calls_whose_ids_a_provider_repeats"];
    check(&mut cases(&[&server()], LAST_7, &names), 1);
}

#[test]
fn g157_a_continued_message_is_one_streamed_resumed_and_reloaded() {
    let names = [
        "client_tool_and_continuation",
        "resume_of_a_continued_message",
    ];
    for version in [LAST_6, LAST_7] {
        check(&mut cases(&[&server()], version, &names), 2);
    }
}

#[test]
fn g161_a_stale_copy_of_the_history_changes_nothing() {
    let names = ["a_stale_copy_changes_nothing"];
    check(&mut cases(&[&server()], LAST_7, &names), 1);
}

#[test]
fn g162_a_message_that_is_sent_again_is_answered_once() {
    let nodes = Server::nodes(&beside("ai-sdk/app"), 2);
    let nodes: Vec<&Server> = nodes.iter().collect();
    check(&mut cases(&nodes, LAST_7, &["repeat"]), 1);
}

#[test]
fn g163_every_recorded_stream_passes_the_strict_parser() {
    let records = RecordedStreams::write();
    for version in [FIRST_6, LAST_6, LAST_7] {
        let mut program = node("recorded.mjs");
        program.arg(records.folder.path());
        program.arg(installed(FOLDER)).arg(version);
        check(&mut program, records.count);
    }
}

/// What a program of the page prints at this server, with the last 7.
fn printed(program: &str, server: &Server) -> String {
    let address = "http://127.0.0.1:8080/v1";
    assert!(program.contains(address), "{program}");
    let program = program.replace(address, &server.url);
    let folder = tempfile::tempdir().unwrap();
    let packages = installed(FOLDER).join("node_modules");
    std::os::unix::fs::symlink(packages, folder.path().join("node_modules")).unwrap();
    let file = folder.path().join("program.mjs");
    let program = program.replace("\"ai\"", "\"ai-7\"");
    let program = program.replace("\"@ai-sdk/react\"", "\"react-7\"");
    std::fs::write(&file, program).unwrap();
    let mut program = Command::new(node_program());
    let ran = program.arg(file).env("AMBIT_KEY", &server.key).output();
    let ran = ran.unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{err}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn the_pages_program_for_use_chat_prints_what_it_says() {
    let program = guide("AI SDK", "js").remove(0);
    assert_eq!(printed(&program, &server()), "hello\ntrue\n");
}

#[test]
fn the_pages_component_answers_calls_of_its_tools() {
    let mut components = guide("AI SDK", "js").into_iter();
    let component = components.find(|component| component.contains("useChat({\n"));
    let component = component.unwrap();
    let lines = component.lines();
    let (imports, body): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with("import "));
    let page = std::fs::read_to_string(beside("ai-sdk/page.mjs")).unwrap();
    let page = page.replace("// the imports of the component", &imports.join("\n"));
    let page = page.replace("// the component", &body.join("\n"));
    let expected = "user weather\nassistant Wait.  / sunny in Oslo / It is sunny in Oslo.\n";
    assert_eq!(printed(&page, &server()), expected);
}

#[test]
fn the_pages_program_without_a_page_prints_what_is_printed() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clients");
    let mut programs = guide("AI SDK", "js").into_iter();
    let program = programs.find(|program| program.contains("generateText"));
    let out = printed(&program.unwrap(), &Server::with_key(&example));
    assert_eq!(out, guide("AI SDK", "text").remove(0));
}
