//! A node is killed at each point of a turn, and another one goes on.

use crate::app::{peer, request};
use crate::store::{self, Fresh};
use crate::tools::marks;
use crate::turns::{
    ask, asked, driver, end, frames, history, history_with, open_turns, rest, results,
};
use crate::worker::{self, Job, Order};
use ambit_runtime::Runtime;
use ambit_runtime::TurnRequest;
use ambit_runtime::frame::{Frame, OutputMessages};
use ambit_runtime::stream::{StreamEntry, StreamReader};
use ambit_storage::driver::FaultPoints;
use ambit_storage::lease::LEASE_LIFE;
use serde_json::{Map, Value};
use std::time::Duration;

crate::cases![
    g016_killed_while_the_conversation_is_held,
    g016_killed_when_the_turn_has_begun,
    g016_killed_after_create,
    g016_killed_with_open_tool_calls,
    g016_killed_with_a_result_that_is_not_stored,
    g016_killed_with_one_result_of_two,
    g016_killed_with_all_results,
    g016_killed_before_the_last_commit,
    g016_killed_after_the_last_commit,
    g016_killed_in_the_delegates_part,
];

/// Longer than a lease lives.
pub const LATER: Duration = LEASE_LIFE.saturating_add(Duration::from_secs(1));

/// A node whose clock says that all leases of the others have expired.
pub async fn later(fresh: &Fresh) -> Runtime {
    peer(fresh, LATER).await.runtime
}

/// What a worker had got of its turn when it was killed at the point: the request and its entries.
pub async fn killed(
    fresh: &Fresh,
    agent: &str,
    point: &str,
    times: u64,
) -> (Option<String>, Vec<StreamEntry>) {
    let order = Order::new(fresh, Job::ask_agent(agent, "count")).dying_at(point, times);
    let mut said = worker::killed(order).await.into_iter();
    let request_id = said.next();
    (request_id, said.filter_map(|line| entry(&line)).collect())
}

/// The entry that a worker has told of.
pub fn entry(line: &str) -> Option<StreamEntry> {
    let (number, text) = line.split_once(' ')?;
    Some(StreamEntry {
        number: number.parse().unwrap(),
        text: text.into(),
    })
}

/// Kills a turn of this agent at the point, has another node go on, and gives the whole stream and the marks.
async fn survived(
    fresh: &Fresh,
    agent: &str,
    point: &str,
    times: u64,
) -> (Vec<StreamEntry>, Vec<String>) {
    let (request_id, got) = killed(fresh, agent, point, times).await;
    let stores = store::open(&fresh.url, Duration::ZERO, FaultPoints::default()).await;
    let store = stores.index().unwrap().driver().clone();
    let open = open_turns(&store).await;
    let [open] = open.as_slice() else {
        panic!("{open:?} is not one turn");
    };
    if let Some(request_id) = request_id {
        assert_eq!(open.request_id, request_id);
    }
    let log = open.space.log(format!("turn/{}/events", open.request_id));
    let node = later(fresh).await;
    let mut reader = StreamReader::awaited(store.clone(), log);
    let entries = rest(&mut reader).await;
    assert_eq!(entries[..got.len()], got, "what was sent is what is stored");
    frames(&entries);
    let again = crate::turns::stream(&node, &open.request_id, 0).await;
    assert_eq!(again, entries);
    let info = node
        .turn(&crate::app::ann(), &open.request_id)
        .await
        .unwrap();
    assert_eq!(info.last_event, entries.len() as u64);
    assert_eq!(open_turns(&store).await.len(), 0);
    goes_on(&node, agent).await;
    (entries, marks(&fresh.marks()))
}

/// The next turn of the conversation works and sees what was before it, once.
pub async fn goes_on(node: &Runtime, agent: &str) {
    let before = history_with(node, agent, "chat").await;
    assert_eq!(asked(&before), ["count"]);
    let expected = ["marked one", "marked two"];
    let told = results(&before);
    let told: Vec<&str> = told.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(told, expected);
    let asking = TurnRequest {
        agent: agent.to_owned(),
        ..request("chat", "recall")
    };
    let entries = ask(node, asking).await;
    assert_eq!(end(&entries)["status"], "completed");
    let text = said(&entries);
    for told in ["count", "marked one", "marked two", "I have counted."] {
        assert!(text.contains(told), "{told} is missing in {text}");
    }
    let after = history_with(node, agent, "chat").await;
    assert_eq!(asked(&after), ["count", "recall"]);
    assert_eq!(after[..before.len()], before);
    assert_eq!(open_turns(&driver(node)).await.len(), 0);
}

/// What a client has that applied all of it.
fn state(entries: &[StreamEntry]) -> OutputMessages {
    let mut state = OutputMessages::default();
    for frame in frames(entries) {
        ambit_runtime::frame::apply(&mut state, &frame).unwrap();
    }
    state
}

/// The states of the calls that a client shows.
fn states(entries: &[StreamEntry]) -> Vec<String> {
    let state = state(entries);
    let calls = state.messages().iter();
    let calls = calls.filter(|shown| shown.kind == "tool_call");
    let status = |props: &Map<String, Value>| props.get("status")?.as_str().map(str::to_owned);
    calls
        .map(|call| status(&call.props).unwrap_or_default())
        .collect()
}

/// All text that a client shows.
pub fn said(entries: &[StreamEntry]) -> String {
    let state = state(entries);
    let texts = state.messages().iter().filter(|shown| shown.kind == "text");
    let texts = texts.filter_map(|shown| shown.props.get("content")?.as_str().map(str::to_owned));
    texts.collect::<Vec<String>>().join("|")
}

fn names(entries: &[StreamEntry]) -> Vec<String> {
    let names = frames(entries);
    names
        .iter()
        .filter_map(Frame::event_name)
        .map(str::to_owned)
        .collect()
}

/// The turn is finished as if nothing had happened, apart from what was not durable.
pub async fn finished(fresh: Fresh, agent: &str, point: &str, times: u64) -> Vec<String> {
    let (entries, mut marks) = survived(&fresh, agent, point, times).await;
    let end = end(&entries);
    assert_eq!(end["status"], "completed", "{end}");
    assert!(said(&entries).ends_with("I have counted."));
    // What was not stored of the stream when the node died is not shown again.
    let unfinished = states(&entries);
    let unfinished = unfinished.iter().filter(|state| *state != "completed");
    assert_eq!(unfinished.collect::<Vec<_>>(), Vec::<&String>::new());
    let ends = names(&entries)
        .iter()
        .filter(|name| *name == "stream_end")
        .count();
    assert_eq!(ends, 1);
    marks.sort();
    marks
}

/// Each mark once.
pub const ONCE: [&str; 2] = ["marked one", "marked two"];

async fn g016_killed_while_the_conversation_is_held(fresh: Fresh) {
    let (request_id, got) = killed(&fresh, "hello", "turn.held", 1).await;
    assert_eq!((request_id, got), (None, Vec::new()));
    let node = later(&fresh).await;
    assert_eq!(open_turns(&driver(&node)).await.len(), 0);
    assert_eq!(history(&node, "chat").await, []);
    let entries = ask(&node, request("chat", "count")).await;
    assert_eq!(end(&entries)["status"], "completed");
    goes_on(&node, "hello").await;
}

async fn g016_killed_when_the_turn_has_begun(fresh: Fresh) {
    assert_eq!(finished(fresh, "hello", "turn.begun", 1).await, ONCE);
}

async fn g016_killed_after_create(fresh: Fresh) {
    assert_eq!(finished(fresh, "hello", "turn.created", 1).await, ONCE);
}

async fn g016_killed_with_open_tool_calls(fresh: Fresh) {
    assert_eq!(finished(fresh, "hello", "turn.answered", 1).await, ONCE);
}

async fn g016_killed_with_a_result_that_is_not_stored(fresh: Fresh) {
    // Nobody can know that a tool had its effect whose result was not stored.
    let marks = finished(fresh, "hello", "turn.tool_done", 1).await;
    assert_eq!(marks[..1], ["marked one"]);
    let mut distinct = marks.clone();
    distinct.dedup();
    assert_eq!(distinct, ONCE);
    assert!(
        marks.len() > 2,
        "{marks:?}: a call was killed before its result was stored"
    );
}

async fn g016_killed_with_one_result_of_two(fresh: Fresh) {
    // The call whose result is stored does not run again; the other one may have run already.
    let marks = finished(fresh, "hello", "turn.settled", 1).await;
    let ones = marks.iter().filter(|mark| *mark == "marked one").count();
    assert_eq!(ones, 1, "{marks:?}");
}

async fn g016_killed_with_all_results(fresh: Fresh) {
    assert_eq!(finished(fresh, "hello", "turn.settled", 2).await, ONCE);
}

async fn g016_killed_before_the_last_commit(fresh: Fresh) {
    assert_eq!(finished(fresh, "hello", "turn.before_close", 1).await, ONCE);
}

async fn g016_killed_after_the_last_commit(fresh: Fresh) {
    let (request_id, got) = killed(&fresh, "hello", "turn.closed", 1).await;
    let request_id = request_id.unwrap();
    let node = later(&fresh).await;
    assert_eq!(open_turns(&driver(&node)).await.len(), 0);
    let entries = crate::turns::stream(&node, &request_id, 0).await;
    assert_eq!(entries[..got.len()], got);
    assert_eq!(end(&entries)["status"], "completed");
    assert_eq!(marks(&fresh.marks()), ONCE);
    goes_on(&node, "hello").await;
}

async fn g016_killed_in_the_delegates_part(fresh: Fresh) {
    let marks = finished(fresh, "first", "turn.settled", 2).await;
    assert_eq!(marks, ONCE);
}
