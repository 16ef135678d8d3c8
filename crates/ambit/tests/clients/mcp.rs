//! Clients of the tool server, and the public conformance suite for such servers.

mod conformance;
mod scenarios;

use crate::server::Server;
use crate::{beside, check, installed, python_cases};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Names the Python that has the `mcp` package.
const PYTHON: &str = "TEST_CLIENTS_MCP_PYTHON";
/// Names the folder that has the packages for Node.
const NODE: &str = "TEST_CLIENTS_MCP_NODE";

fn server() -> Server {
    Server::with_key(&beside("mcp/app"))
}

fn two_nodes() -> Vec<Server> {
    Server::nodes(&beside("mcp/app"), 2)
}

fn check_python(nodes: &[Server]) {
    check(&mut python_cases(PYTHON, "mcp/python/cases.py", nodes), 16);
}

#[test]
fn every_case_of_the_mcp_package_for_python_holds() {
    check_python(&[server()]);
}

#[test]
fn every_case_of_the_mcp_package_for_python_holds_on_two_nodes() {
    check_python(&two_nodes());
}

/// Runs the cases for Node with one node or several.
fn check_node(nodes: &[Server]) {
    let urls: Vec<&str> = nodes.iter().map(|node| node.url.as_str()).collect();
    let mut cases = Command::new("node");
    cases.arg(beside("mcp/node/cases.mjs"));
    cases.args([&urls.join(","), &nodes[0].key]);
    check(cases.arg(installed(NODE)), 16);
}

#[test]
fn every_case_of_the_mcp_packages_for_node_holds() {
    check_node(&[server()]);
}

#[test]
fn every_case_of_the_mcp_packages_for_node_holds_on_two_nodes() {
    check_node(&two_nodes());
}

/// The first block of this language in the page for clients that holds `with`.
fn block(language: &str, with: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```").filter_map(|block| {
        let (first, text) = block.split_once('\n')?;
        (first == language).then(|| text.to_owned())
    });
    let mut blocks = blocks.filter(|text| text.contains(with));
    blocks
        .next()
        .unwrap_or_else(|| panic!("there is no such block"))
}

#[test]
fn the_pages_program_for_a_host_prints_what_is_printed() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tool-server");
    let server = Server::open(&example);
    let program = block("python", "Client(");
    let address = "http://127.0.0.1:8080/v1";
    assert!(program.contains(address), "{program}");
    let mut python = Command::new(installed(PYTHON));
    let ran = python.arg("-c").arg(program.replace(address, &server.url));
    let ran = ran.output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{err}");
    let out = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(out, block("text", "agent_opening-hours"));
}

#[test]
fn the_pages_function_for_a_server_that_takes_keys_lists_its_tools() {
    let server = server();
    let url = format!("{}/mcp", server.url);
    let function = block("python", "async def tools_of(url)");
    let call =
        "import asyncio, sys\nfor tool in asyncio.run(tools_of(sys.argv[1])):\n  print(tool.name)";
    let mut python = Command::new(installed(PYTHON));
    python.arg("-c").arg(format!("{function}\n{call}")).arg(url);
    let ran = python.env("AMBIT_KEY", &server.key).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{err}");
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(out.lines().any(|tool| tool == "agent_plain"), "{out}");
}

#[test]
fn the_page_s_setting_makes_an_app_a_tool_server() {
    let setting: Value = serde_json::from_str(&block("json", "mcp_server")).unwrap();
    let host: Value = serde_json::from_str(&block("json", "mcpServers")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.yao"), setting.to_string()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = Server::over(folder.path(), &["--data", data.path().to_str().unwrap()]);
    let url = host["mcpServers"]["shop"]["url"].as_str().unwrap();
    let url = url.replace("http://127.0.0.1:8080/v1", &server.url);
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--data",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        &url,
    ]);
    let answer: Value = serde_json::from_slice(&curl.output().unwrap().stdout).unwrap();
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}
