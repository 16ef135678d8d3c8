//! The page of `examples/web` in Chromium, with the packages of the versions that it names.

use crate::ai_sdk::node_program;
use crate::server::Server;
use crate::{beside, check, installed};
use std::path::Path;
use std::process::Command;

/// Names the folder that has the packages of the page.
const PAGE: &str = "TEST_CLIENTS_WEB_PAGE";
/// Names the folder that has what drives the browser.
const DRIVER: &str = "TEST_CLIENTS_WEB";
/// Names the browser.
const CHROMIUM: &str = "TEST_CHROMIUM";

#[test]
fn every_case_of_the_page_holds_in_chromium() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/web");
    let server = Server::open(&example);
    let folder = tempfile::tempdir().unwrap();
    let mut cases = Command::new(node_program());
    cases.arg(beside("web/cases.mjs")).arg(&server.url);
    cases.args([installed(CHROMIUM), example.join("page")]);
    cases.args([installed(PAGE), installed(DRIVER)]);
    check(cases.arg(folder.path().join("page")), 14);
}
