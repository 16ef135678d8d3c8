//! Frameworks that keep their state here: LangGraph for Python and Node, and Google's ADK, with Ambit's own packages.

use crate::server::{Server, make_store};
use crate::{beside, installed};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Names the Python that has LangGraph and ADK.
const PYTHON: &str = "TEST_CLIENTS_STORE_PYTHON";
/// Names the folder that has LangGraph.js.
const NODE: &str = "TEST_CLIENTS_STORE_NODE";

/// Nodes of one installation, and a key of an administrator.
struct Nodes {
    servers: Vec<Server>,
    key: String,
    data: TempDir,
}

impl Nodes {
    fn open(count: usize) -> Self {
        let data = tempfile::tempdir().unwrap();
        let key = admin_key(data.path());
        let mut nodes = Self {
            servers: Vec::new(),
            key,
            data,
        };
        nodes.servers = (0..count).map(|_| nodes.serve()).collect();
        nodes
    }

    fn serve(&self) -> Server {
        let folder = self.data.path().to_str().unwrap();
        Server::over(&beside("app"), &["--data", folder])
    }

    fn urls(&self) -> Vec<&str> {
        let urls = self.servers.iter();
        urls.map(|server| server.url.as_str()).collect()
    }
}

/// A key of somebody who may use the store.
fn admin_key(data: &Path) -> String {
    let app = beside("app");
    make_store(&app, data);
    let mut make = Command::new(env!("CARGO_BIN_EXE_ambit"));
    make.args(["key", "new", "--user", "ann", "--role", "admin"]);
    make.arg("--data").arg(data).arg("--app").arg(app);
    let made = make.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A program in Python that has Ambit's package, and what cases of several folders share.
fn python(name: &str) -> Command {
    let mut program = Command::new(installed(PYTHON));
    program.arg(beside(&format!("store/python/{name}.py")));
    let path = std::env::join_paths([python_package(), beside("python")]);
    program.env("PYTHONPATH", path.unwrap());
    program
}

fn python_package() -> PathBuf {
    repository().join("adapters/python/ambit-store/src")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a program prints that has to succeed.
fn printed(program: &mut Command) -> String {
    let ran = program.output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{out}{err}");
    out
}

/// Runs a program that prints `ok NAME` for each of so many cases; all that it prints.
fn check(program: &mut Command, cases: usize) -> String {
    let out = printed(program);
    let is_ok = |line: &&str| line.starts_with("ok ");
    let ends = out.lines().filter(|line| !line.starts_with('#'));
    assert!(ends.clone().all(|line| is_ok(&line)), "{out}");
    assert_eq!(ends.count(), cases, "{out}");
    out
}

/// Runs cases in Python over two nodes; all that they print.
fn check_on_two_nodes(name: &str, cases: usize) -> String {
    let nodes = Nodes::open(2);
    check(python(name).arg(&nodes.key).args(nodes.urls()), cases)
}

#[test]
fn the_checkpointer_passes_all_of_langgraphs_conformance_suite() {
    let nodes = Nodes::open(2);
    let out = printed(python("conformance").arg(&nodes.key).args(nodes.urls()));
    assert_eq!(out.lines().last(), Some("passed 81"), "{out}");
}

#[test]
fn every_case_of_the_checkpointer_holds() {
    check_on_two_nodes("saver", 14);
}

#[test]
fn g179_no_stored_turn_of_sixteen_writers_is_lost() {
    let out = check_on_two_nodes("race", 3);
    let messages = |saver: &str| {
        let start = format!("# {saver}: ");
        let mut lines = out.lines();
        let report = lines.find_map(|line| line.strip_prefix(start.as_str()));
        let (messages, _) = report.unwrap().split_once(" of 384 messages").unwrap();
        messages.parse::<usize>().unwrap()
    };
    // What LangGraph's own saver keeps is told, whatever it is.
    let (with, without) = (messages("AmbitSaver"), messages("SqliteSaver"));
    println!("of 384 messages AmbitSaver keeps {with}, SqliteSaver {without}");
    assert_eq!(with, 384, "{out}");
}

#[test]
fn every_case_of_the_item_store_holds() {
    check_on_two_nodes("store", 6);
}

#[test]
fn every_case_of_adks_sessions_holds() {
    let data = tempfile::tempdir().unwrap();
    let key = admin_key(data.path());
    let mut cases = python("adk");
    cases.arg(env!("CARGO_BIN_EXE_ambit")).arg(beside("app"));
    check(cases.arg(data.path()).arg(key), 7);
}

/// A folder in which Ambit's package for Node stands among those that are installed.
fn node_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let modules = folder.path().join("node_modules");
    let package = modules.join("@ambit/store/src");
    std::fs::create_dir_all(&package).unwrap();
    let source = repository().join("adapters/js");
    let copy = |from: &Path, to: &Path| {
        std::fs::copy(from, to).unwrap();
    };
    copy(
        &source.join("package.json"),
        &modules.join("@ambit/store/package.json"),
    );
    for file in std::fs::read_dir(source.join("src")).unwrap() {
        let file = file.unwrap();
        copy(&file.path(), &package.join(file.file_name()));
    }
    for file in ["cases.mjs", "retries.mjs", "validation.test.mjs"] {
        copy(
            &beside(&format!("store/node/{file}")),
            &folder.path().join(file),
        );
    }
    let others = installed(NODE).join("node_modules");
    std::os::unix::fs::symlink(others.join("@langchain"), modules.join("@langchain")).unwrap();
    folder
}

#[test]
fn every_case_of_the_package_for_node_holds_on_one_node_and_two() {
    for count in [1, 2] {
        let (nodes, folder) = (Nodes::open(count), node_folder());
        let mut cases = Command::new("node");
        cases.arg(folder.path().join("cases.mjs"));
        check(cases.arg(&nodes.key).args(nodes.urls()), 8);
    }
}

#[test]
fn a_request_is_sent_again_only_where_nothing_of_it_can_have_been_done() {
    check(&mut python("retries"), 3);
    let folder = node_folder();
    let cases = folder.path().join("retries.mjs");
    check(Command::new("node").arg(cases), 3);
}

#[test]
fn the_checkpointer_passes_all_of_langgraph_jss_validation() {
    let (nodes, folder) = (Nodes::open(2), node_folder());
    let runner = installed(NODE).join("node_modules/vitest/vitest.mjs");
    let mut validate = Command::new("node");
    validate.arg(runner).args(["run", "--globals", "--root"]);
    validate.arg(folder.path());
    validate.env("AMBIT_URLS", nodes.urls().join(" "));
    let out = printed(validate.env("AMBIT_KEY", &nodes.key).env("NO_COLOR", "1"));
    let tests = out.lines().find(|line| line.trim().starts_with("Tests "));
    let tests = tests.unwrap_or_else(|| panic!("{out}"));
    let is_whole = ["failed", "skipped", "todo"]
        .iter()
        .all(|word| !tests.contains(word));
    assert!(is_whole && tests.contains("passed"), "{out}");
}

/// The blocks of a page in one language that use a package of Ambit's, each with what is printed below it.
fn own_blocks(page: &str, language: &str, package: &str) -> Vec<(String, String)> {
    let page = std::fs::read_to_string(repository().join(page)).unwrap();
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    let blocks = blocks.map(|rest| {
        let (block, rest) = rest.split_once("```\n").unwrap();
        let text = rest.strip_prefix("\n```text\n").unwrap_or_default();
        let text = text.split("```").next().unwrap_or_default();
        (block.to_owned(), text.to_owned())
    });
    blocks
        .filter(|(block, _)| block.contains(package))
        .collect()
}

fn welcome() -> Server {
    Server::open(&repository().join("examples/welcome"))
}

/// A block at this server instead of the one that it names.
fn at(block: &str, server: &Server) -> String {
    let address = "http://127.0.0.1:8080/v1";
    assert!(block.contains(address), "{block}");
    block.replace(address, &server.url)
}

#[test]
fn the_pages_python_programs_print_what_is_printed() {
    let server = welcome();
    let guide = own_blocks("docs/clients.md", "python", "ambit_store");
    assert_eq!(guide.len(), 2);
    let readme = own_blocks("README.md", "python", "ambit_store").into_iter();
    let readme = readme.map(|(block, _)| {
        let expected = "That is message 1.\nThat is message 3.\n";
        (block, expected.to_owned())
    });
    for (block, expected) in readme.chain(guide) {
        let mut python = Command::new(installed(PYTHON));
        python.env("PYTHONPATH", python_package());
        let out = printed(python.arg("-c").arg(at(&block, &server)));
        assert_eq!(out, expected, "{block}");
    }
}

#[test]
fn the_pages_program_for_node_prints_what_is_printed() {
    let (server, folder) = (welcome(), node_folder());
    let (block, expected) = own_blocks("docs/clients.md", "js", "@ambit/store").remove(0);
    let program = folder.path().join("page.mjs");
    std::fs::write(&program, at(&block, &server)).unwrap();
    assert_eq!(printed(Command::new("node").arg(program)), expected);
}

/// The results of a batch; nothing where the server does not answer.
fn send(url: &str, key: &str, ops: &Value) -> Option<Value> {
    let body = json!({"space": "kill", "owner": "user", "ops": ops});
    // A program has one provider of cryptography; that there is one already is no failure.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    runtime.block_on(async {
        let request = reqwest::Client::new().post(format!("{url}/store/batch"));
        let sent = request.bearer_auth(key).json(&body).send().await.ok()?;
        let answer: Value = sent.json().await.ok()?;
        Some(answer["results"].clone())
    })
}

/// Writes one number after the other to two keys, until the server is gone; the last one that was acknowledged.
fn write_until_killed(url: &str, key: &str, name: usize) -> u64 {
    let put = |part: &str, number: u64| json!({"op": "put", "key": format!("{name}/{part}"), "value": number});
    let mut numbers = 1..;
    let first_lost = numbers.find(|number| {
        let ops = json!([put("a", *number), put("b", *number)]);
        send(url, key, &ops).is_none()
    });
    first_lost.unwrap() - 1
}

/// Reads both keys of a writer.
fn pair(url: &str, key: &str, name: usize) -> Value {
    let get = |part: &str| json!({"op": "get", "key": format!("{name}/{part}")});
    send(url, key, &json!([get("a"), get("b")])).unwrap()
}

#[test]
fn g177_a_batch_is_there_whole_or_not_at_all_when_the_server_was_killed() {
    const WRITERS: usize = 4;
    let mut nodes = Nodes::open(1);
    for _ in 0..3 {
        let (url, key) = (nodes.servers[0].url.clone(), nodes.key.clone());
        let (url, key) = (url.as_str(), key.as_str());
        let before: Vec<Value> = (0..WRITERS).map(|name| pair(url, key, name)).collect();
        let written: Vec<u64> = std::thread::scope(|scope| {
            let write = |name| scope.spawn(move || write_until_killed(url, key, name));
            let writers: Vec<_> = (0..WRITERS).map(write).collect();
            // Each writer has written before the server goes.
            for (name, before) in before.iter().enumerate() {
                while pair(url, key, name)[0]["version"] == before[0]["version"] {}
            }
            nodes.servers.clear();
            let ended = writers.into_iter().map(|writer| writer.join().unwrap());
            ended.collect()
        });
        let server = nodes.serve();
        for (name, acknowledged) in written.into_iter().enumerate() {
            let found = pair(&server.url, key, name);
            let (a, b) = (&found[0]["value"], &found[1]["value"]);
            assert_eq!(a, b, "half of a batch was written");
            assert!(
                a.as_u64().unwrap() >= acknowledged,
                "{a}, not {acknowledged}"
            );
        }
        nodes.servers.push(server);
    }
}
