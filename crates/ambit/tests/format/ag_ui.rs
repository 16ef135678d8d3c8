//! What clients of AG-UI 1.0 make of streams: the rules of the protocol's order, and what a client holds at the end.

mod client;
mod patch;

use crate::log::{frames, log_of};
use crate::random::{Habits, random_log};
use crate::recorded_logs::{entries, every_log, options};
use ambit::format::find;
use ambit::runtime::Frame;
use ambit::runtime::frame::{OutputMessage, OutputMessages, apply};
use ambit::runtime::stream::StreamEntry;
use client::AgUiClient;
use serde_json::{Value, json};
use std::collections::BTreeMap;

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

/// What a client is told of a call.
#[derive(Default)]
struct ToldCall {
    arguments: String,
    /// A model makes it, and its arguments are told as they come.
    is_streamed: bool,
    is_whole: bool,
}

impl ToldCall {
    /// The arguments are these now. Of a call that is streamed only what goes on from the former can be told, of others all at their
    /// end, and nothing once it is whole: the call may have been made by then.
    fn take(&mut self, arguments: String, is_end: bool) {
        let is_told = match self.is_streamed {
            true => arguments.starts_with(&self.arguments),
            false => is_end,
        };
        if is_told && !self.is_whole {
            self.arguments = arguments;
        }
        self.is_whole |= is_end;
    }
}

/// The messages that are left when all frames were applied, and what is told of calls on the way there.
fn messages(log: &[StreamEntry]) -> (OutputMessages, BTreeMap<String, ToldCall>) {
    let mut state = OutputMessages::default();
    let mut told: BTreeMap<String, ToldCall> = BTreeMap::new();
    for entry in log {
        let frame: Frame = serde_json::from_str(&entry.text).unwrap();
        apply(&mut state, &frame).unwrap();
        let event = json!(frame.event_data());
        let about = event["message_id"].as_str().unwrap_or_default();
        if frame.event_name() == Some("message_start") && event["tool_call"]["name"].is_string() {
            told.entry(about.to_owned()).or_default().is_streamed = true;
        }
        let is_end = frame.event_name() == Some("message_end");
        for message in state.messages() {
            let id = &message.message_id;
            if message.kind == "tool_call" {
                let call = told.entry(id.clone()).or_default();
                call.take(prop(message, "arguments"), is_end && id == about);
            } else {
                told.remove(id);
            }
        }
    }
    (state, told)
}

fn prop(message: &OutputMessage, name: &str) -> String {
    let text = message.props.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Checks that the client holds what the log leaves.
fn check(log: &[StreamEntry], name: &str) {
    let client = client(log);
    let (state, told) = messages(log);
    for message in state.messages() {
        let id = &message.message_id;
        let held = client.held(&format!("r1.{id}"));
        let expected = match message.kind.as_str() {
            "text" | "thinking" => json!(prop(message, "content")),
            "tool_call" => {
                let call = &told[id];
                if !call.is_streamed && !call.is_whole {
                    assert_eq!(held, None, "{name}: {id}");
                    continue;
                }
                json!(call.arguments)
            }
            "action" => continue,
            _ => json!(message.props),
        };
        assert_eq!(held, Some(&expected), "{name}: {id} of {}", message.kind);
    }
}

#[test]
fn g163_every_recorded_stream_keeps_the_rules_and_says_all_there_is() {
    for (name, log) in every_log() {
        check(&log, &name);
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

#[expect(clippy::needless_pass_by_value, reason = "calls of it read better")]
fn event(name: &str, data: Value) -> Value {
    json!({"type": "event", "props": {"event": name, "data": data}})
}

#[test]
fn steps_of_a_thread_are_told_once_it_shows_something() {
    let step = |thread: &str| json!({"index": 0, "thread_id": thread});
    let events = events(&log_of(&[
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
fn a_subagent_names_the_call_whose_tool_has_asked_it() {
    let call = json!({"message_id": "M1", "type": "tool_call", "status": "completed",
        "tool_call": {"id": "c1", "name": "shop__ask", "index": 0}});
    let thread = json!({"thread_id": "T1", "assistant_id": "tests.other", "status": "completed", "call_message_id": "M1"});
    let events = events(&log_of(&[
        event("message_start", call.clone()),
        event("message_end", call),
        event("thread_start", thread.clone()),
        event("thread_end", thread),
    ]));
    let started = events.iter().find(|it| it["type"] == "SUBAGENT_STARTED");
    let expected = json!({"type": "SUBAGENT_STARTED", "name": "tests.other",
        "parentToolCallId": "call_r1_M1", "subagentRunId": "r1.T1"});
    assert_eq!(started, Some(&expected));
    AgUiClient::of(&events);
}

#[test]
fn a_thread_that_begins_again_is_another_subagent() {
    let thread = |name: &str| {
        let data = json!({"thread_id": "T1", "status": "partial"});
        event(name, data)
    };
    let again = [thread("thread_start"), thread("thread_end")];
    let events = events(&log_of(&[again.clone(), again].concat()));
    let ids: Vec<&Value> = events.iter().map(|event| &event["subagentRunId"]).collect();
    let expected = json!([null, "r1.T1", "r1.T1", "r1.T1.c1", "r1.T1.c1", null]);
    assert_eq!(json!(ids), expected);
    assert_eq!(events[2]["type"], "SUBAGENT_ERROR");
    AgUiClient::of(&events);
}

#[test]
fn the_shared_state_is_told_as_it_is_logged() {
    let delta = json!([{"op": "add", "path": "/a", "value": 1}]);
    let events = events(&log_of(&[
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
    for (name, log) in every_log() {
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
