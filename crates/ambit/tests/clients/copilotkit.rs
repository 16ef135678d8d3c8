//! CopilotKit: its own client over the agents that docs/clients.md gives its runtime.

use crate::server::Server;
use crate::{beside, check, guide, installed};
use std::process::Command;

/// Names the folder that has the packages of CopilotKit.
const PACKAGES: &str = "TEST_CLIENTS_COPILOTKIT";
/// Where the documentation looks for the server.
const ADDRESS: &str = "http://127.0.0.1:8080/v1";

#[test]
fn every_case_of_copilotkits_client_holds_with_the_pages_agents() {
    let server = Server::with_key(&beside("ag_ui/app"));
    let mut programs = guide("AG-UI", "js").into_iter();
    let program = programs.find(|program| program.contains("export const agents"));
    let program = program.unwrap();
    assert!(program.contains(ADDRESS), "{program}");
    let folder = tempfile::tempdir().unwrap();
    let packages = installed(PACKAGES).join("node_modules");
    std::os::unix::fs::symlink(packages, folder.path().join("node_modules")).unwrap();
    let file = folder.path().join("agents.mjs");
    std::fs::write(&file, program.replace(ADDRESS, &server.url)).unwrap();
    let mut cases = Command::new("node");
    cases.arg(beside("copilotkit/cases.mjs"));
    cases.args([&server.url, &server.key]);
    cases.arg(installed(PACKAGES)).arg(file);
    check(cases.env("AMBIT_KEY", &server.key), 6);
}
