//! An app in a folder of its own, over stores of a test's choice.

use ambit_runtime::runtime::{Runtime, Settings, Started};
use ambit_runtime::tool::NoTools;
use ambit_runtime::{Authorized, Frame, Request};
use ambit_storage::Stores;
use ambit_storage::driver::Options;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A runtime and its app's folder.
pub struct Place {
    pub runtime: Runtime,
    pub app: TempDir,
}

/// The connector of most tests: it answers with what it was asked.
pub const ECHO: (&str, &str) = (
    "connectors/echo.conn.yao",
    r#"{"type": "scripted", "label": "Echo", "options": {"model": "echo", "rules": []}}"#,
);

/// An app of these files, on top of `app.yao` and the connector `echo`.
pub fn files(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let base = [("app.yao", r#"{"name": "Test", "version": "1.0.0"}"#), ECHO];
    for (file, text) in base.iter().chain(files) {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Settings of a runtime over these stores.
pub fn settings(app: &Path, stores: Stores) -> Settings {
    Settings {
        app: app.to_owned(),
        stores: Arc::new(stores),
        storage: ambit_storage::Settings::default(),
        environment: BTreeMap::new(),
        is_development: false,
        tools: Arc::new(NoTools),
        listeners: None,
    }
}

/// A runtime over the process's memory.
pub async fn place(list: &[(&str, &str)]) -> Place {
    let app = files(list);
    let stores = Stores::builder(Options::default()).build().unwrap();
    let runtime = Runtime::open(settings(app.path(), stores)).await.unwrap();
    Place { runtime, app }
}

/// A request of Ann's to this agent.
pub fn request(agent: &str, text: &str) -> Request {
    Request {
        authorized: ann(),
        agent: agent.to_owned(),
        chat: Some("chat-1".to_owned()),
        messages: vec![json!({"role": "user", "content": text})],
        ..Request::default()
    }
}

pub fn ann() -> Authorized {
    Authorized {
        user_id: Some("ann".to_owned()),
        ..Authorized::default()
    }
}

/// All frames of a turn, to its end.
pub async fn frames(mut started: Started) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some(entries) = started.stream.next().await.unwrap() {
        for entry in entries {
            assert_eq!(entry.number, frames.len() as u64 + 1);
            frames.push(serde_json::from_str(&entry.text).unwrap());
        }
    }
    ambit_runtime::frame::invariants::check(&frames).unwrap();
    frames
}

/// The messages that a client shows after all frames: `(type, content)`.
pub fn shown(frames: &[Frame]) -> Vec<(String, Value)> {
    let mut state = ambit_runtime::frame::State::default();
    for frame in frames {
        ambit_runtime::frame::apply(&mut state, frame).unwrap();
    }
    let content =
        |props: &serde_json::Map<String, Value>| props.get("content").cloned().unwrap_or_default();
    state
        .messages()
        .iter()
        .map(|shown| (shown.kind.clone(), content(&shown.props)))
        .collect()
}

/// The data of the stream's end.
pub fn end(frames: &[Frame]) -> Value {
    let last = frames.last().unwrap();
    assert_eq!(last.event_name(), Some("stream_end"));
    last.props.get("data").cloned().unwrap()
}

/// Runs a request to its end.
pub async fn ask(place: &Place, request: Request) -> Vec<Frame> {
    frames(place.runtime.start(request).await.unwrap()).await
}
