//! The official client of AG-UI: against a server, over what the formats' tests have recorded, and as the documentation shows it.

use crate::recorded::RecordedStreams;
use crate::server::Server;
use crate::{beside, check, installed};
use std::path::Path;
use std::process::Command;

/// Names the folder that has the packages of AG-UI.
const PACKAGES: &str = "TEST_CLIENTS_AG_UI";
/// Where the documentation looks for the server.
const ADDRESS: &str = "http://127.0.0.1:8080/v1";

#[test]
fn every_case_of_the_ag_ui_client_holds() {
    let server = Server::with_key(&beside("ag_ui/app"));
    let mut cases = Command::new("node");
    cases.arg(beside("ag_ui/cases.cjs"));
    cases.args([&server.url, &server.key]);
    check(cases.arg(installed(PACKAGES)), 17);
}

#[test]
fn every_case_of_the_ag_ui_client_holds_on_two_nodes() {
    let server = Server::with_key(&beside("ag_ui/app"));
    let other = server.node_beside(&beside("ag_ui/app"));
    let mut cases = Command::new("node");
    cases.arg(beside("ag_ui/cases.cjs"));
    cases.args([&format!("{},{}", server.url, other.url), &server.key]);
    check(cases.arg(installed(PACKAGES)), 17);
}

#[test]
fn g163_the_ag_ui_client_takes_every_recorded_stream_without_a_warning() {
    let records = RecordedStreams::write();
    let mut cases = Command::new("node");
    cases.arg(beside("ag_ui/recorded.cjs"));
    cases.arg(records.folder.path());
    check(cases.arg(installed(PACKAGES)), records.count);
}

#[test]
fn the_program_of_the_documentation_prints_the_answer() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```js\n").skip(1);
    let block = blocks.find(|block| block.contains("HttpAgent")).unwrap();
    let program = block.split("```").next().unwrap();
    assert!(program.contains(ADDRESS), "{program}");
    let server = Server::with_key(&beside("ag_ui/app"));
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval"]);
    node.arg(program.replace(ADDRESS, &server.url));
    node.current_dir(installed(PACKAGES));
    let ran = node.env("AMBIT_KEY", &server.key).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(err, "");
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), "echo: hello");
}
