//! What turns leave: their streams, their histories, the notes of those that are open.

use crate::app::ann;
use ambit_runtime::Runtime;
use ambit_runtime::frame::{Frame, invariants};
use ambit_runtime::stream::{StreamEntry, StreamReader};
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::{Message, Role, for_model};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A turn that has not ended.
#[derive(Debug, Deserialize)]
pub struct Open {
    pub space: Space,
    pub request_id: String,
}

/// The store that all of a node's conversations are in.
pub fn driver(node: &Runtime) -> Arc<dyn Driver> {
    node.stores().index().unwrap().driver().clone()
}

/// Every turn that has not ended.
pub async fn open_turns(driver: &Arc<dyn Driver>) -> Vec<Open> {
    let scan = ValueScan::first(Pattern::all(), 1_000, ValuePart::Whole);
    let found = driver.scan(&Space::turns(), &scan).await.unwrap();
    found
        .into_iter()
        .map(|(_, entry)| entry.value.to().unwrap())
        .collect()
}

/// All entries to the stream's end.
pub async fn rest(reader: &mut StreamReader) -> Vec<StreamEntry> {
    let mut entries = Vec::new();
    while let Some(more) = reader.next().await.unwrap() {
        entries.extend(more);
    }
    entries
}

/// Reads on until a frame is such; the answer is all entries up to there and some behind it.
pub async fn until(reader: &mut StreamReader, is_it: impl Fn(&Frame) -> bool) -> Vec<StreamEntry> {
    let mut entries: Vec<StreamEntry> = Vec::new();
    while !entries.iter().any(|entry| is_it(&frame(entry))) {
        let more = reader.next().await.unwrap();
        entries.extend(more.expect("the stream goes on"));
    }
    entries
}

pub fn frame(entry: &StreamEntry) -> Frame {
    serde_json::from_str(&entry.text).unwrap()
}

/// The frames of a whole stream, whose invariants hold.
pub fn frames(entries: &[StreamEntry]) -> Vec<Frame> {
    invariants::check_numbers(entries.iter().map(|entry| entry.number)).unwrap();
    let frames: Vec<Frame> = entries.iter().map(frame).collect();
    invariants::check(&frames).unwrap();
    frames
}

/// The data of the stream's end.
pub fn end(entries: &[StreamEntry]) -> Value {
    let frames = frames(entries);
    frames.last().unwrap().props["data"].clone()
}

/// The stream of a turn from this number on, to its end.
pub async fn stream(node: &Runtime, request_id: &str, after: u64) -> Vec<StreamEntry> {
    rest(&mut node.stream(&ann(), request_id, after).await.unwrap()).await
}

/// A request that runs to its end on this node; the answer is its stream.
pub async fn ask(node: &Runtime, request: ambit_runtime::TurnRequest) -> Vec<StreamEntry> {
    let mut started = node.start(request).await.unwrap();
    rest(&mut started.stream).await
}

/// All that a chat with the agent `hello` has stored.
pub async fn history(node: &Runtime, chat: &str) -> Vec<Message> {
    history_with(node, "hello", chat).await
}

/// All that a chat with this agent has stored.
pub async fn history_with(node: &Runtime, agent: &str, chat: &str) -> Vec<Message> {
    let ambit = node.contexts(&ann());
    let agent = ambit.agent(agent).unwrap();
    let session = agent.for_user_id("ann").chat(chat).await.unwrap();
    session.history().messages().await.unwrap()
}

/// What the user has said, in order.
pub fn asked(messages: &[Message]) -> Vec<String> {
    let of_user = messages.iter().filter(|message| message.role == Role::User);
    of_user.map(Message::text).collect()
}

/// What models are told of these messages' calls: `(call, result, failed)`, each call with one.
pub fn results(messages: &[Message]) -> Vec<(String, String, bool)> {
    let view = for_model(messages);
    let calls: usize = view.iter().map(|message| message.tool_calls.len()).sum();
    let results = view
        .iter()
        .filter_map(|message| message.tool_result.as_ref());
    let results: Vec<_> = results
        .map(|result| {
            let text = result.content.as_str().unwrap().to_owned();
            (result.call_id.clone(), text, result.is_error)
        })
        .collect();
    assert_eq!(calls, results.len());
    results
}

/// How often is looked for what nothing announces.
const LOOK: Duration = Duration::from_millis(5);

/// Looks until it is so.
pub async fn wait_until(is_so: impl AsyncFn() -> bool) {
    while !is_so().await {
        tokio::time::sleep(LOOK).await;
    }
}

/// Every log of the chat's space, by name, with its entries.
pub async fn everything(node: &Runtime, chat: &str) -> Vec<(String, Vec<String>)> {
    let ambit = node.contexts(&ann());
    let agent = ambit.agent("hello").unwrap();
    let session = agent.for_user_id("ann").chat(chat).await.unwrap();
    let (space, driver) = session.context().place();
    let mut all = Vec::new();
    for name in driver.logs(&space).await.unwrap() {
        let page = driver
            .read(&space.log(name.clone()), LogRange::from(1, 1_000))
            .await
            .unwrap();
        let entries = page
            .entries
            .iter()
            .map(|entry| entry.body.as_str().to_owned());
        all.push((name, entries.collect()));
    }
    all
}
