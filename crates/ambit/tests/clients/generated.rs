//! Clients that public generators make of the OpenAPI document, in Python and TypeScript, each through one whole story.

use crate::server::Server;
use crate::{beside, check, installed};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Names the Python that has the validator and `openapi-python-client`.
const PYTHON: &str = "TEST_CLIENTS_GENERATED_PYTHON";
/// Names the folder that has `openapi-typescript`, `openapi-fetch` and `typescript`.
const NODE: &str = "TEST_CLIENTS_GENERATED_NODE";

/// A server, and a folder with its document.
struct Document {
    server: Server,
    folder: TempDir,
}

impl Document {
    fn of_server() -> Self {
        let server = Server::with_key(&beside("app"));
        let folder = tempfile::tempdir().unwrap();
        let document = Self { server, folder };
        let fetch = "import sys, urllib.request as web
request = web.Request(sys.argv[1] + '/openapi.json', headers={'authorization': 'Bearer ' + sys.argv[2]})
open(sys.argv[3], 'wb').write(web.urlopen(request).read())";
        let mut python = Command::new(installed(PYTHON));
        python.args(["-c", fetch, document.address(), &document.server.key]);
        succeed(python.arg(document.file("openapi.json")));
        document
    }

    /// The server's address without its base path, which the paths of the document have.
    fn address(&self) -> &str {
        self.server.url.strip_suffix("/v1").unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a story with the server's address and key.
    fn tell(&self, story: &mut Command) {
        check(story.args([self.address(), &self.server.key]), 1);
    }
}

/// Runs a program that has to succeed; all that it prints.
fn succeed(program: &mut Command) -> String {
    let ran = program.output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program:?}\n{out}{err}");
    format!("{out}{err}")
}

/// A program of the Python's packages, which find each other beside it.
fn tool(name: &str) -> Command {
    let python = installed(PYTHON);
    let programs = python.parent().unwrap();
    let mut tool = Command::new(programs.join(name));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&others);
    let path = std::iter::once(programs.to_owned()).chain(path);
    tool.env("PATH", std::env::join_paths(path).unwrap());
    tool
}

#[test]
fn the_public_validator_takes_the_openapi_document() {
    let document = Document::of_server();
    let mut validate = tool("openapi-spec-validator");
    let said = succeed(validate.arg(document.file("openapi.json")));
    assert!(said.trim_end().ends_with(": OK"), "{said}");
}

#[test]
fn a_generated_client_for_python_goes_through_a_whole_story() {
    let document = Document::of_server();
    let mut generate = tool("openapi-python-client");
    generate.args(["generate", "--meta", "none", "--fail-on-warning", "--path"]);
    generate.arg(document.file("openapi.json"));
    generate.arg("--output-path");
    succeed(generate.arg(document.file("ambit_client")));
    let mut story = Command::new(installed(PYTHON));
    story.arg(beside("generated/python/story.py"));
    story.env("PYTHONPATH", document.folder.path());
    document.tell(&mut story);
}

/// A program of the packages for Node, run in the document's folder.
fn node(document: &Document, program: &str) -> Command {
    let mut node = Command::new("node");
    node.arg(Path::new("node_modules").join(program));
    node.current_dir(document.folder.path());
    node
}

#[test]
fn a_generated_client_for_typescript_goes_through_a_whole_story() {
    let document = Document::of_server();
    let modules = installed(NODE).join("node_modules");
    std::os::unix::fs::symlink(modules, document.file("node_modules")).unwrap();
    for name in ["package.json", "tsconfig.json", "story.ts"] {
        let source = beside(&format!("generated/node/{name}"));
        std::fs::copy(source, document.file(name)).unwrap();
    }
    let mut generate = node(&document, "openapi-typescript/bin/cli.js");
    succeed(generate.args(["openapi.json", "--output", "ambit.d.ts"]));
    let mut compile = node(&document, "typescript/bin/tsc");
    succeed(compile.args(["--project", "."]));
    let mut story = Command::new("node");
    document.tell(story.arg(document.file("out/story.js")));
}
