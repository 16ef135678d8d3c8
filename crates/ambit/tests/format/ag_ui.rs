//! What clients of AG-UI 1.0 make of streams: the rules of the protocol's order, and what a client holds at the end.

mod client;
mod patch;

use crate::log::{entries, frames, options};
use crate::random::{Habits, random_log};
use crate::recorded::logs;
use ambit::format::find;
use ambit::runtime::Frame;
use ambit::runtime::frame::{OutputMessage, OutputMessages, apply};
use ambit::runtime::stream::StreamEntry;
use client::AgUiClient;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The events of a log.
fn events(log: &[StreamEntry]) -> Vec<Value> {
    let (frames, end) = frames(find("ag-ui").unwrap(), log);
    assert_eq!(end, Vec::<String>::new());
    let frames = frames.concat();
    let events = frames
        .iter()
        .map(|text| serde_json::from_str(text).unwrap());
    events.collect()
}

fn client(log: &[StreamEntry]) -> AgUiClient {
    AgUiClient::of(&events(log))
}

/// The messages that are left when all frames were applied, and all arguments that calls have had on the way there.
fn messages(log: &[StreamEntry]) -> (OutputMessages, BTreeSet<(String, String)>) {
    let mut state = OutputMessages::default();
    let mut arguments = BTreeSet::new();
    for entry in log {
        let frame: Frame = serde_json::from_str(&entry.text).unwrap();
        apply(&mut state, &frame).unwrap();
        let calls = state.messages().iter().filter(|it| it.kind == "tool_call");
        arguments.extend(calls.map(|call| (call.message_id.clone(), prop(call, "arguments"))));
    }
    (state, arguments)
}

fn prop(message: &OutputMessage, name: &str) -> String {
    let text = message.props.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Checks that the client holds what the log leaves.
fn check(log: &[StreamEntry], name: &str) {
    let client = client(log);
    let (state, arguments) = messages(log);
    for message in state.messages() {
        let id = &message.message_id;
        let held = client.held(&format!("r1.{id}"));
        let expected = match message.kind.as_str() {
            "text" | "thinking" => json!(prop(message, "content")),
            // What changes of a call once it is whole is told to nobody: it may have been made by then.
            "tool_call" => {
                let held = held.and_then(Value::as_str).unwrap_or_default();
                let is_one = arguments.contains(&(id.clone(), held.to_owned()));
                assert!(is_one, "{name}: {id} has {held:?}");
                continue;
            }
            "action" => continue,
            _ => json!(message.props),
        };
        assert_eq!(held, Some(&expected), "{name}: {id} of {}", message.kind);
    }
}

#[test]
fn g163_every_recorded_stream_keeps_the_rules_and_says_all_there_is() {
    for (path, log) in logs() {
        check(&log, &path.display().to_string());
    }
}

#[test]
fn g163_every_random_stream_keeps_the_rules_and_says_all_there_is() {
    for seed in 1..=2_000 {
        for habits in [Habits::KeepText, Habits::Any] {
            check(&random_log(seed, habits), &format!("seed {seed}"));
        }
    }
}

#[test]
fn random_streams_replace_and_patch() {
    let all: Vec<Value> = (1..=200)
        .flat_map(|seed| events(&random_log(seed, Habits::Any)))
        .collect();
    let count = |kind: &str| all.iter().filter(|event| event["type"] == kind).count();
    assert!(count("CUSTOM") > 100);
    assert!(count("ACTIVITY_DELTA") > 20);
    assert!(count("SUBAGENT_STARTED") > 100);
    assert!(count("TOOL_CALL_ARGS") > 100);
}

/// A log of these entries between a start and an end.
fn log(middle: &[Value]) -> Vec<StreamEntry> {
    let event =
        |name: &str, data: Value| json!({"type": "event", "props": {"event": name, "data": data}});
    let start = event("stream_start", json!({"chat_id": "chat-1"}));
    let end = event("stream_end", json!({"status": "completed"}));
    let lines = [start]
        .into_iter()
        .chain(middle.iter().cloned())
        .chain([end]);
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    entries(lines.iter().map(String::as_str))
}

#[expect(clippy::needless_pass_by_value, reason = "calls of it read better")]
fn event(name: &str, data: Value) -> Value {
    json!({"type": "event", "props": {"event": name, "data": data}})
}

#[test]
fn steps_of_a_thread_are_told_once_it_shows_something() {
    let step = |thread: &str| json!({"index": 0, "thread_id": thread});
    let events = events(&log(&[
        event("step_start", step("T1")),
        event("step_start", step("T2")),
        event("step_end", step("T2")),
        event(
            "thread_start",
            json!({"thread_id": "T1", "assistant_id": "tests.other"}),
        ),
        event("step_end", step("T1")),
        event(
            "thread_end",
            json!({"thread_id": "T1", "status": "completed"}),
        ),
    ]));
    let told: Vec<Value> = events[1..events.len() - 1].to_vec();
    let expected = json!([
        {"type": "SUBAGENT_STARTED", "name": "tests.other", "subagentRunId": "r1.T1"},
        {"type": "STEP_STARTED", "stepName": "llm:0", "subagentRunId": "r1.T1"},
        {"type": "STEP_FINISHED", "stepName": "llm:0", "subagentRunId": "r1.T1"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "r1.T1"},
    ]);
    assert_eq!(Value::from(told), expected);
}

#[test]
fn a_thread_that_begins_again_is_another_subagent() {
    let thread = |name: &str| {
        let data = json!({"thread_id": "T1", "status": "partial"});
        event(name, data)
    };
    let again = [thread("thread_start"), thread("thread_end")];
    let events = events(&log(&[again.clone(), again].concat()));
    let ids: Vec<&Value> = events.iter().map(|event| &event["subagentRunId"]).collect();
    let expected = json!([null, "r1.T1", "r1.T1", "r1.T1.c1", "r1.T1.c1", null]);
    assert_eq!(json!(ids), expected);
    assert_eq!(events[2]["type"], "SUBAGENT_ERROR");
    AgUiClient::of(&events);
}

#[test]
fn the_shared_state_is_told_as_it_is_logged() {
    let delta = json!([{"op": "add", "path": "/a", "value": 1}]);
    let events = events(&log(&[
        event("state", json!({"snapshot": {}})),
        event("state", json!({"delta": delta})),
    ]));
    assert_eq!(events[1], json!({"type": "STATE_SNAPSHOT", "snapshot": {}}));
    assert_eq!(events[2], json!({"type": "STATE_DELTA", "delta": delta}));
}

#[test]
fn usage_is_told_model_by_model() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 3, "cache_creation_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 4}});
    let end = event(
        "stream_end",
        json!({"status": "error", "error": "no", "code": "llm_error",
        "usage": usage, "usage_by_model": [{"provider": "openai", "model": "m", "usage": usage}]}),
    );
    let start = event("stream_start", json!({"chat_id": "chat-1"}));
    let lines = [start, end].map(|line| line.to_string());
    let events = events(&entries(lines.iter().map(String::as_str)));
    let expected = json!({"type": "RUN_ERROR", "message": "no", "code": "llm_error", "usage": [{
        "provider": "openai", "model": "m", "inputTokens": 10, "outputTokens": 5, "totalTokens": 15,
        "reasoningTokens": 4, "cachedInputTokens": 3, "cacheWriteInputTokens": 2}]});
    assert_eq!(events[1], expected);
}

#[test]
fn g164_ag_ui_says_the_same_text_calls_and_outcome_as_the_other_formats() {
    for (path, log) in logs() {
        let name = path.display();
        let client = client(&log);
        let standard = json!((find("standard").unwrap().body)(&log, &options()));
        let events = events(&log);
        let last = events.last().unwrap();
        assert_eq!(standard["error"]["message"], last["message"], "{name}");
        assert_eq!(standard["error"]["code"], last["code"], "{name}");
        let calls = standard["choices"][0]["message"]["tool_calls"].as_array();
        for call in calls.into_iter().flatten() {
            let function = &call["function"];
            let told = client.calls().find(|(tool, arguments)| {
                function["name"] == **tool && function["arguments"] == **arguments
            });
            assert!(told.is_some(), "{name}: {call}");
        }
        let cui = json!((find("cui-web").unwrap().body)(&log, &options()));
        let outcome = match cui["status"].as_str() {
            Some("completed") => "success",
            Some(other) => other,
            None => "",
        };
        let told = last["outcome"]["type"].as_str().unwrap_or("error");
        assert_eq!(told, outcome, "{name}");
    }
}
