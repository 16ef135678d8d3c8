//! What a case stands on: an app and a fresh store, and nodes that serve the one over the other.

use crate::feed::Feed;
use crate::server::{self, Server};
use crate::site::{self, Answer, Event, HELLO, Stream};
use crate::stores::{POSTGRES, REDIS, SQLITE, Store};
use ambit_runtime::Frame;
use ambit_runtime::frame::invariants;
use ambit_storage::driver::{self, Driver, DriverOptions};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::fs::File;
use std::net::TcpStream;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use tempfile::TempDir;

pub const STORES: &[Store] = &[SQLITE, POSTGRES, REDIS];

/// A server with the tool `notes__add`; what it does is the app's `scripts/notes.ts`.
pub const NOTES: [(&str, &str); 2] = [
    (
        "mcps/notes.mcp.yao",
        r#"{"transport": "process", "tools": {"add": "scripts.notes.Add"}}"#,
    ),
    (
        "mcps/mapping/notes/schemes/add.in.yao",
        r#"{"type": "object", "description": "Counts."}"#,
    ),
];

/// How long the model of `HELLO` waits between words that it says slowly.
const PACE: &str = "150ms";

/// What is answered slowly by slow nodes, and at once by others.
pub const SLOWLY: &str = "go on slowly";

/// An app and a store.
pub struct Place {
    store: String,
    app: TempDir,
    _data: Option<TempDir>,
}

impl Place {
    pub fn over(store: &Store) -> Self {
        let (store, data) = (store.place)().unwrap();
        let app = tempfile::tempdir().unwrap();
        let paced = HELLO.iter().filter(|(_, text)| text.contains(PACE));
        assert_eq!(paced.count(), 1, "`HELLO` has another pace than {PACE}");
        for (name, text) in HELLO {
            site::write(&app.path().join(name), &text.replace(PACE, "$ENV.PACE"));
        }
        Self {
            store,
            app,
            _data: data,
        }
    }

    /// Puts a file into the app, in the place of the one of this name.
    pub fn write(&self, name: &str, text: &str) {
        site::write(&self.app.path().join(name), text);
    }

    /// Another node.
    pub fn node(&self) -> Node {
        self.node_with(&[])
    }

    /// Another node, started with these options too.
    pub fn node_with(&self, options: &[&str]) -> Node {
        self.node_of(options, &[])
    }

    /// Another node, started with these options too, which ends in the middle of what it says slowly, on a busy machine too.
    pub fn slow_node(&self, options: &[&str]) -> Node {
        self.node_of(options, &[("PACE", "2s")])
    }

    /// Another node, started with these variables.
    pub fn node_with_environment(&self, variables: &[(&str, &str)]) -> Node {
        self.node_of(&[], variables)
    }

    fn node_of(&self, options: &[&str], variables: &[(&str, &str)]) -> Node {
        let all = [&["--store", &self.store], options].concat();
        Node {
            server: Server::with_environment(self.app.path(), &all, variables),
            client: site::client(),
        }
    }

    /// Another node, whose log is this file and has everything that a log can tell.
    pub fn logging_node(&self, log: File) -> Node {
        let mut serve = self.serve();
        serve.args(["--log", "trace"]).stderr(log);
        Node::of(serve)
    }

    /// Another node, whose log is this file, one JSON object a line, and tells what was refused too.
    pub fn json_logging_node(&self, log: File) -> Node {
        let mut serve = self.serve();
        let told = ["--log", "debug", "--log-format", "json"];
        serve.args(told).stderr(log);
        Node::of(serve)
    }

    /// A key of ann's, where the app takes keys.
    pub fn new_key(&self) -> String {
        let mut make = Command::new(env!("CARGO_BIN_EXE_ambit"));
        make.args(["key", "new", "--user", "ann", "--store", &self.store]);
        let made = make.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    /// Another node, which may have so many files open.
    pub fn node_with_open_files(&self, files: u32) -> Node {
        let serve = self.serve();
        let mut limited = Command::new("/bin/sh");
        limited.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]);
        limited.arg(serve.get_program()).args(serve.get_args());
        limited.args(["--log", "error"]);
        Node::of(limited)
    }

    fn serve(&self) -> Command {
        server::serve(self.app.path(), &["--store", &self.store])
    }

    /// The store, as nodes see it.
    pub async fn driver(&self) -> Arc<dyn Driver> {
        let opened = driver::open(&self.store, DriverOptions::default());
        opened.await.unwrap()
    }

    pub fn is_sqlite(&self) -> bool {
        self.store.starts_with("sqlite:")
    }
}

/// A server process, and a client of it.
pub struct Node {
    server: Server,
    client: Client,
}

impl Node {
    fn of(serve: Command) -> Self {
        Self {
            server: Server::spawn(serve),
            client: site::client(),
        }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.server.url))
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// The answer to this body of a chat request, read whole.
    pub async fn chat(&self, body: &Value) -> Answer {
        Answer::of(self.asked(body)).await
    }

    /// The stream that answers this text.
    pub async fn stream(&self, text: &str) -> Stream {
        let mut body = said(text);
        body["accept"] = json!("cui-web");
        Stream::of(self.asked(&body)).await
    }

    pub fn asked(&self, body: &Value) -> RequestBuilder {
        self.request(Method::POST, "/chat/completions").json(body)
    }

    /// The stream of a turn behind an entry.
    pub async fn resume(&self, request_id: &str, after: u64) -> Stream {
        let path = format!("/chat/requests/{request_id}/stream?accept=cui-web");
        let request = self.request(Method::GET, &path);
        Stream::of(request.header("last-event-id", after)).await
    }

    /// The feed of events that match.
    pub async fn follow(&self, filter: &str) -> Feed {
        Feed::of(self.request(Method::GET, &format!("/events{filter}"))).await
    }

    /// The shown messages of the conversation: role, text, status.
    pub async fn messages(&self) -> Vec<(String, String, String)> {
        let answer = self.get("/chat/sessions/c1/messages").await.json();
        let rows = answer["data"].as_array().or(answer["items"].as_array());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| {
            let content = text(&row["props"]["content"]);
            (text(&row["role"]), content, text(&row["status"]))
        };
        rows.unwrap_or_else(|| panic!("{answer}"))
            .iter()
            .map(row)
            .collect()
    }

    /// What the node has counted, as Prometheus reads it.
    pub async fn metrics(&self) -> String {
        self.operation("/metrics").await.text
    }

    /// The answer of one of the routes that look after the server.
    pub async fn operation(&self, path: &str) -> Answer {
        Answer::of(self.operation_request(path)).await
    }

    pub fn operation_request(&self, path: &str) -> RequestBuilder {
        let url = self.server.url.replace("/v1", path);
        self.client.get(url)
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.server.child.id()
    }

    /// Ends the process as a power cut does.
    pub fn kill(mut self) {
        self.server.child.kill().unwrap();
        self.server.child.wait().unwrap();
    }

    /// A connection that nothing has been sent over yet.
    pub fn connect(&self) -> TcpStream {
        let url = reqwest::Url::parse(&self.server.url).unwrap();
        TcpStream::connect(url.socket_addrs(|| None).unwrap().remove(0)).unwrap()
    }

    /// Asks the process to end, as a supervisor does.
    pub fn terminate(&self) {
        let id = self.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    }

    /// Ends the process when it has said all that it has to say.
    pub fn end(self) {
        self.terminate();
        assert!(self.wait().success());
    }

    /// How the process has ended.
    pub fn wait(mut self) -> ExitStatus {
        self.server.child.wait().unwrap()
    }
}

/// A request with this text.
pub fn said(text: &str) -> Value {
    json!({"model": "hello", "chat_id": "c1", "messages": [{"role": "user", "content": text}]})
}

pub fn is_text(data: &Value) -> bool {
    data["type"] == "text"
}

/// What a stream still gives until it ends or breaks off.
pub async fn last_words(stream: &mut Stream) -> Vec<Event> {
    let mut events = Vec::new();
    while let Ok(Some(event)) = stream.next().await {
        events.push(event);
    }
    events
}

/// Refuses a stream that is not whole: numbers without gaps, every start ended, one end. The answer is how the turn ended.
pub fn whole(events: &[Event]) -> String {
    let numbers: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    let frames = events
        .iter()
        .map(|event| serde_json::from_value(event.data.clone()).unwrap());
    let frames: Vec<Frame> = frames.collect();
    invariants::check(&frames).unwrap();
    let end = &events.last().unwrap().data["props"];
    assert_eq!(end["event"], "stream_end");
    end["data"]["status"].as_str().unwrap().to_owned()
}
