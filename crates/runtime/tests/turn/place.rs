//! An app in a folder of its own, over stores of a test's choice.

use crate::toolbox::Tools;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::inspect::memory::MemorySelector;
use ambit_runtime::trace::{TraceTree, fold_texts};
use ambit_runtime::{Authorized, Frame, TurnRequest};
use ambit_runtime::{Runtime, RuntimeSettings, StartedTurn};
use ambit_storage::driver::{Driver, DriverOptions};
use ambit_storage::storage::Message;
use ambit_storage::{LiveAgent, Stores};
use serde_json::{Value, json};
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
pub fn settings(app: &Path, stores: Stores) -> RuntimeSettings {
    RuntimeSettings::new(app, stores)
}

/// A runtime over the process's memory.
pub async fn place(list: &[(&str, &str)]) -> Place {
    place_with(list, |_| {}).await
}

/// The same with other settings.
pub async fn place_with(list: &[(&str, &str)], set: impl FnOnce(&mut RuntimeSettings)) -> Place {
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    opened(list, stores, set).await
}

/// A runtime over these stores.
pub async fn place_over(list: &[(&str, &str)], stores: Stores) -> Place {
    opened(list, stores, |_| {}).await
}

/// A node over a store that others have too, whose agents have these tools.
pub async fn node(list: &[(&str, &str)], store: &Arc<dyn Driver>, tools: Tools) -> Place {
    node_with(list, store, |settings| {
        settings.tools = Some(Arc::new(tools));
    })
    .await
}

/// The same with other settings.
pub async fn node_with(
    list: &[(&str, &str)],
    store: &Arc<dyn Driver>,
    set: impl FnOnce(&mut RuntimeSettings),
) -> Place {
    let stores = Stores::builder(DriverOptions::default()).driver("shared", store.clone());
    opened(list, stores.build().unwrap(), set).await
}

async fn opened(
    list: &[(&str, &str)],
    stores: Stores,
    set: impl FnOnce(&mut RuntimeSettings),
) -> Place {
    let app = files(list);
    let mut settings = settings(app.path(), stores);
    set(&mut settings);
    let runtime = Runtime::open(settings).await.unwrap();
    Place { runtime, app }
}

/// A runtime whose agents have these tools.
pub async fn place_of_tools(list: &[(&str, &str)], tools: Tools) -> Place {
    place_with(list, |settings| settings.tools = Some(Arc::new(tools))).await
}

/// An agent of one package, one prompt and these hooks.
pub fn agent(package: &Value, hooks: &str) -> Vec<(String, String)> {
    named("hello", package, hooks)
}

/// The same under another name.
pub fn named(name: &str, package: &Value, hooks: &str) -> Vec<(String, String)> {
    let mut whole = json!({"name": name, "connector": "echo"});
    for (key, value) in package.as_object().unwrap() {
        whole[key] = value.clone();
    }
    let mut files = vec![
        (format!("assistants/{name}/package.yao"), whole.to_string()),
        (
            format!("assistants/{name}/prompts.yml"),
            "- role: system\n  content: Be kind.\n".to_owned(),
        ),
    ];
    if !hooks.is_empty() {
        files.push((format!("assistants/{name}/src/index.ts"), hooks.to_owned()));
    }
    files
}

/// A connector that follows these rules.
pub fn model(name: &str, rules: &Value) -> (String, String) {
    let text =
        json!({"type": "scripted", "label": name, "options": {"model": name, "rules": rules}});
    (format!("connectors/{name}.conn.yao"), text.to_string())
}

/// A connector that answers with the request it got.
pub fn mirror() -> (String, String) {
    model("mirror", &json!([{"reply": "{{request}}"}]))
}

/// As the helpers above give them.
pub fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let files = files.iter();
    files
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

/// As the helpers above take it.
pub fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    let files = files.iter();
    files
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect()
}

/// A request as the mirror saw it: the last text that was shown.
pub fn mirrored(frames: &[Frame]) -> Value {
    let shown = shown(frames);
    let text = shown.iter().rev().find(|(kind, _)| kind == "text").unwrap();
    serde_json::from_str(text.1.as_str().unwrap()).unwrap()
}

/// Roles and texts of messages as models know them.
pub fn said(messages: &Value) -> Vec<String> {
    let one = |message: &Value| {
        let content = match &message["content"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        format!("{}: {content}", message["role"].as_str().unwrap())
    };
    messages.as_array().unwrap().iter().map(one).collect()
}

/// The stored conversation of Ann's with this agent, opened anew.
pub async fn session(place: &Place, agent: &str) -> LiveAgent {
    let ambit = place.runtime.contexts(&ann());
    let agent = ambit.agent(agent).unwrap();
    agent.for_user_id("ann").chat("chat-1").await.unwrap()
}

/// What is stored of it.
pub async fn history(place: &Place, agent: &str) -> Vec<Message> {
    session(place, agent)
        .await
        .history()
        .messages()
        .await
        .unwrap()
}

/// Roles and texts of what is stored.
pub async fn remembered(place: &Place, agent: &str) -> Vec<String> {
    let stored = history(place, agent).await;
    let one = |message: &Message| {
        let text = match &message.tool_result {
            Some(result) => result.content.as_str().unwrap_or_default().to_owned(),
            None => message.text(),
        };
        format!("{:?}: {text}", message.role).to_lowercase()
    };
    stored.iter().map(one).collect()
}

/// The whole trace of a turn, as text.
pub async fn traced(place: &Place, frames: &[Frame]) -> String {
    let id = end(frames)["request_id"].as_str().unwrap().to_owned();
    let ambit = place.runtime.contexts(&ann());
    let log = ambit_runtime::inspect::traces::open(&ambit, &ann(), &id)
        .await
        .unwrap();
    let entries = log.all().await.unwrap();
    entries
        .iter()
        .map(|entry| entry.body.as_str().to_owned())
        .collect()
}

/// What agents have left in Ann's memory under this name.
pub async fn left(place: &Place, key: &str) -> Value {
    let which = MemorySelector {
        space: "user",
        owner: None,
        assistant_id: None,
        context: None,
    };
    let open = place.runtime.memory(&ann(), which).await.unwrap();
    let value = open.memory.get(key).await.unwrap();
    value.map_or(Value::Null, |value| value.to().unwrap())
}

/// The same trace, put together.
pub async fn tree(place: &Place, frames: &[Frame]) -> TraceTree {
    let text = traced(place, frames).await;
    let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let values = values.map(Result::unwrap).flat_map(|value| match value {
        Value::Array(values) => values,
        value => vec![value],
    });
    let texts: Vec<String> = values.map(|value| value.to_string()).collect();
    fold_texts(texts.iter().map(String::as_str))
}

/// A request of Ann's to this agent.
pub fn request(agent: &str, text: &str) -> TurnRequest {
    TurnRequest {
        authorized: ann(),
        agent: agent.to_owned(),
        chat: Some("chat-1".to_owned()),
        messages: vec![ChatMessage::user(text)],
        ..TurnRequest::default()
    }
}

pub fn ann() -> Authorized {
    Authorized {
        user_id: Some("ann".to_owned()),
        ..Authorized::default()
    }
}

/// All frames of a turn, to its end.
pub async fn frames(mut started: StartedTurn) -> Vec<Frame> {
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
    let mut state = ambit_runtime::frame::OutputMessages::default();
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
pub async fn ask(place: &Place, request: TurnRequest) -> Vec<Frame> {
    frames(place.runtime.start(request).await.unwrap()).await
}

/// Reads a stream until there is such an event.
pub async fn until(started: &mut StartedTurn, is_it: impl Fn(&Frame) -> bool) {
    let mut is_there = false;
    while !is_there {
        let entries = started.stream.next().await.unwrap().unwrap();
        let mut frames = entries
            .iter()
            .map(|entry| serde_json::from_str(&entry.text).unwrap());
        is_there = frames.any(|frame| is_it(&frame));
    }
}
