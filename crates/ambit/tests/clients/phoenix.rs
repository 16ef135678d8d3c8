//! Turns in Phoenix, a collector that others make: its sessions, tokens and trees, as its own API has them.

use crate::server::Server;
use crate::{beside, check, installed};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Names the Python that has Phoenix.
const PHOENIX: &str = "TEST_CLIENTS_PHOENIX";

/// A Phoenix of its own; it ends with the test.
struct Phoenix {
    child: Child,
    url: String,
    _data: TempDir,
}

impl Phoenix {
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let [http, grpc] = free_ports();
        let mut serve = Command::new(installed(PHOENIX));
        serve.args(["-u", "-m", "phoenix.server.main", "serve"]);
        serve.env("PHOENIX_WORKING_DIR", data.path());
        serve.env("PHOENIX_HOST", "127.0.0.1");
        serve.env("PHOENIX_PORT", &http);
        serve.env("PHOENIX_GRPC_PORT", &grpc);
        // It asks nobody outside for anything then.
        serve.env("PHOENIX_ALLOW_EXTERNAL_RESOURCES", "false");
        serve.env("PHOENIX_DISABLE_AGENT_ASSISTANT", "true");
        let log = data.path().join("log");
        serve.stderr(File::create(&log).unwrap());
        let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let is_ready = lines.any(|line| line.contains("Phoenix is up and running"));
        assert!(is_ready, "{}", std::fs::read_to_string(log).unwrap());
        // The rest of the output is read too, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            url: format!("http://127.0.0.1:{http}"),
            _data: data,
        }
    }
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two ports that nobody listens on, of those that systems give to nobody who has not asked for them.
fn free_ports() -> [String; 2] {
    let held = [held_port(), held_port()];
    held.map(|held| held.local_addr().unwrap().port().to_string())
}

fn held_port() -> TcpListener {
    loop {
        let port = 20_000 + rand::random::<u16>() % 12_000;
        if let Ok(held) = TcpListener::bind(("127.0.0.1", port)) {
            return held;
        }
    }
}

/// A node over what is kept in this folder, whose traces go to Phoenix.
fn node(phoenix: &Phoenix, data: &Path) -> Server {
    Server::with_environment(
        &beside("phoenix/app"),
        &["--data", data.to_str().unwrap()],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &phoenix.url),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
    )
}

fn cases(arguments: &[&str]) -> Command {
    let mut program = Command::new(installed(PHOENIX));
    program.arg(beside("phoenix/cases.py")).args(arguments);
    program
}

#[test]
fn g174_phoenix_shows_a_turn_that_was_taken_up_as_one_tree_of_its_chats_session() {
    let phoenix = Phoenix::start();
    let data = tempfile::tempdir().unwrap();
    let mut first = node(&phoenix, data.path());
    let mut begin = cases(&["begin", &first.url]);
    let begun = begin.output().unwrap();
    assert!(begun.status.success(), "{begun:?}");
    let turn = String::from_utf8(begun.stdout).unwrap();
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let second = node(&phoenix, data.path());
    let mut checks = cases(&["check", &second.url, &phoenix.url, turn.trim()]);
    check(&mut checks, 3);
}
