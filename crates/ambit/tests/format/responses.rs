//! Streams of OpenAI's Responses, as a strict client reads them.

use crate::random::{Habits, random_log};
use crate::recorded_logs::{entries, every_log, options};
use ambit::format::responses::{ClientTool, ResponseRecord, event_count};
use ambit::format::{FormatEvent, FormatOptions, find};
use ambit::runtime::stream::StreamEntry;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Recorded logs, and random ones.
fn all() -> Vec<Vec<StreamEntry>> {
    let random = (1..=300).map(|seed| random_log(seed, Habits::Any));
    every_log()
        .into_iter()
        .map(|(_, log)| log)
        .chain(random)
        .collect()
}

/// The events that come of a log.
fn events(log: &[StreamEntry], options: &FormatOptions) -> Vec<FormatEvent> {
    let mut format = (find("responses").unwrap().open)(options);
    let mut events: Vec<FormatEvent> = log.iter().flat_map(|entry| format.events(entry)).collect();
    events.extend(format.end());
    events
}

/// What a client holds of a stream.
#[derive(Default)]
struct Held {
    items: Vec<Value>,
    is_done: Vec<bool>,
    last: Option<Value>,
}

impl Held {
    /// Reads a stream; anything that a strict client would stumble over fails the test.
    fn of(events: &[FormatEvent]) -> Self {
        let mut held = Self::default();
        let (end, events) = events.split_last().unwrap();
        assert_eq!((end.name, end.data.as_str()), (None, "[DONE]"));
        for (number, event) in events.iter().enumerate() {
            let data: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(event.name, data["type"].as_str());
            assert_eq!(data["sequence_number"], number);
            assert!(held.last.is_none(), "an event behind the last: {data}");
            held.take(&data);
        }
        held
    }

    fn take(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        if let Some(response) = event.get("response") {
            assert_eq!(response["id"], "resp_r1");
            match kind {
                "response.created" | "response.in_progress" => {
                    assert_eq!(response["output"], json!([]));
                    assert_eq!(response["status"], "in_progress");
                }
                _ => self.last = Some(response.clone()),
            }
            return;
        }
        let index = usize::try_from(event["output_index"].as_u64().unwrap()).unwrap();
        if kind == "response.output_item.added" {
            assert_eq!(index, self.items.len());
            let item = event["item"].clone();
            assert!(item["type"] == "custom_tool_call" || item["status"] == "in_progress");
            assert!(
                !is_text(&item) || !self.has_open_text(),
                "two texts are open"
            );
            self.items.push(item);
            self.is_done.push(false);
            return;
        }
        assert!(!self.is_done[index], "an event behind the end: {event}");
        if kind == "response.output_item.done" {
            assert_eq!(event["item"]["id"], self.items[index]["id"]);
            let grown = &self.items[index];
            for field in [
                "content",
                "summary",
                "arguments",
                "input",
                "call_id",
                "name",
            ] {
                assert_eq!(event["item"].get(field), grown.get(field), "{event}");
            }
            self.items[index] = event["item"].clone();
            self.is_done[index] = true;
            return;
        }
        assert_eq!(event["item_id"], self.items[index]["id"]);
        self.grow(index, kind, event);
    }

    fn has_open_text(&self) -> bool {
        let mut items = self.items.iter().zip(&self.is_done);
        items.any(|(item, is_done)| is_text(item) && !is_done)
    }

    fn grow(&mut self, index: usize, kind: &str, event: &Value) {
        let item = &mut self.items[index];
        match kind {
            "response.content_part.added" => push(&mut item["content"], &event["part"]),
            "response.reasoning_summary_part.added" => push(&mut item["summary"], &event["part"]),
            "response.output_text.delta" => append(&mut item["content"][0]["text"], event),
            "response.reasoning_summary_text.delta" => {
                append(&mut item["summary"][0]["text"], event);
            }
            "response.function_call_arguments.delta" | "response.mcp_call_arguments.delta" => {
                append(&mut item["arguments"], event);
            }
            "response.custom_tool_call_input.delta" => append(&mut item["input"], event),
            "response.output_text.done" => assert_eq!(event["text"], item["content"][0]["text"]),
            "response.content_part.done" => assert_eq!(event["part"], item["content"][0]),
            "response.reasoning_summary_text.done" => {
                assert_eq!(event["text"], item["summary"][0]["text"]);
            }
            "response.reasoning_summary_part.done" => {
                assert_eq!(event["part"], item["summary"][0]);
            }
            "response.function_call_arguments.done" | "response.mcp_call_arguments.done" => {
                assert_eq!(event["arguments"], item["arguments"]);
            }
            "response.custom_tool_call_input.done" => assert_eq!(event["input"], item["input"]),
            "response.mcp_call.in_progress"
            | "response.mcp_call.completed"
            | "response.mcp_call.failed" => assert_eq!(item["type"], "mcp_call"),
            other => panic!("{other}"),
        }
    }
}

fn is_text(item: &Value) -> bool {
    item["type"] == "message" || item["type"] == "reasoning"
}

fn push(to: &mut Value, part: &Value) {
    to.as_array_mut().unwrap().push(part.clone());
}

fn append(to: &mut Value, event: &Value) {
    let delta = event["delta"].as_str().unwrap();
    assert_ne!(delta, "", "{event}");
    *to = format!("{}{delta}", to.as_str().unwrap()).into();
}

#[test]
fn g165_the_last_event_holds_every_item_that_was_announced() {
    for log in all() {
        let held = Held::of(&events(&log, &options()));
        let last = held.last.unwrap();
        assert_eq!(last["output"], Value::Array(held.items));
        assert!(held.is_done.into_iter().all(|is_done| is_done));
        assert_ne!(last["status"], "in_progress");
    }
}

#[test]
fn g165_a_replay_behind_any_event_is_the_rest_of_the_stream() {
    // Each is read again from behind each of its events: all that are recorded, and some random ones.
    let count = every_log().len() + 40;
    for log in all().iter().take(count) {
        let whole = events(log, &options());
        assert_eq!(event_count(log, &options()), whole.len() as u64 - 1);
        for after in 0..whole.len() - 1 {
            let behind = FormatOptions {
                after_sequence: Some(after as u64),
                ..options()
            };
            assert_eq!(events(log, &behind), whole[after + 1..]);
        }
    }
}

#[test]
fn an_answer_that_is_not_streamed_says_what_the_stream_has_said() {
    for seed in 1..=500 {
        let log = random_log(seed, Habits::KeepText);
        let streamed = Held::of(&events(&log, &options())).last.unwrap();
        let whole = json!((find("responses").unwrap().body)(&log, &options()));
        let texts = |response: &Value| -> Vec<Value> {
            let items = response["output"].as_array().unwrap().iter();
            // A line of progress that was replaced later has been streamed, and is not part of the final state.
            items
                .filter(|item| item["type"] != "reasoning")
                .cloned()
                .collect()
        };
        assert_eq!(texts(&streamed), texts(&whole), "seed {seed}");
        assert_eq!(streamed["usage"], whole["usage"]);
        assert_eq!(streamed["status"], whole["status"]);
    }
}

#[test]
fn tools_of_the_client_come_back_as_the_client_named_them() {
    let call = |id: &str, name: &str, arguments: &str| {
        let start = json!({"message_id": id, "type": "tool_call"});
        let props = json!({"id": id, "name": name, "arguments": arguments, "status": "pending"});
        let message = json!({"type": "tool_call", "message_id": id, "props": props});
        let end = json!({"message_id": id, "type": "tool_call", "status": "completed"});
        [
            event("message_start", &start),
            message,
            event("message_end", &end),
        ]
    };
    let mut frames = vec![event("stream_start", &json!({}))];
    frames.extend(call("M1", "apply_patch", r#"{"input": "*** Begin\n"}"#));
    frames.extend(call("M2", "files__read", "{}"));
    frames.extend(call("M3", "apply_patch", "not JSON"));
    frames.push(event("stream_end", &json!({"status": "completed"})));
    let lines: Vec<String> = frames.iter().map(Value::to_string).collect();
    let log = entries(lines.iter().map(String::as_str));
    let namespaced = ClientTool::Namespaced {
        namespace: "files".to_owned(),
        name: "read".to_owned(),
    };
    let client_tools = BTreeMap::from([
        ("apply_patch".to_owned(), ClientTool::Custom),
        ("files__read".to_owned(), namespaced),
    ]);
    let options = FormatOptions {
        response: ResponseRecord {
            client_tools,
            ..ResponseRecord::default()
        },
        ..options()
    };
    let held = Held::of(&events(&log, &options));
    let expected = json!([
        {"type": "custom_tool_call", "id": "ctc_r1_M1", "call_id": "call_r1_M1", "name": "apply_patch", "input": "*** Begin\n"},
        {"type": "function_call", "id": "fc_r1_M2", "call_id": "call_r1_M2", "name": "read", "namespace": "files",
            "arguments": "{}", "status": "completed"},
        {"type": "custom_tool_call", "id": "ctc_r1_M3", "call_id": "call_r1_M3", "name": "apply_patch", "input": "not JSON"},
    ]);
    assert_eq!(held.last.unwrap()["output"], expected);
}

#[test]
fn a_failure_is_told_in_the_words_of_responses_beside_its_own_code() {
    let own = [
        ("llm_rate_limited", "rate_limit_exceeded"),
        ("limit_exceeded", "context_length_exceeded"),
        ("invalid_argument", "invalid_prompt"),
        ("unsupported", "invalid_prompt"),
        ("config_error", "invalid_prompt"),
        ("hook_error", "invalid_prompt"),
        ("vetoed", "invalid_prompt"),
        ("permission_denied", "invalid_prompt"),
        ("llm_content_filter", "invalid_prompt"),
        ("llm_error", "server_error"),
        ("timeout", "server_error"),
        ("a_hook_s_own", "server_error"),
    ];
    for (code, expected) in own {
        let end = json!({"status": "error", "error": "it failed", "code": code});
        let frames = [event("stream_start", &json!({})), event("stream_end", &end)];
        let lines = frames.map(|frame| frame.to_string());
        let log = entries(lines.iter().map(String::as_str));
        let last = Held::of(&events(&log, &options())).last.unwrap();
        let told = (
            &last["status"],
            &last["error"],
            &last["metadata"]["ambit_code"],
        );
        let error = json!({"code": expected, "message": "it failed"});
        assert_eq!(told, (&json!("failed"), &error, &json!(code)));
    }
}

#[test]
fn what_was_spent_is_told_with_its_parts() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 3, "cache_creation_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 4}});
    let end = json!({"status": "completed", "usage": usage});
    let frames = [event("stream_start", &json!({})), event("stream_end", &end)];
    let lines = frames.map(|frame| frame.to_string());
    let log = entries(lines.iter().map(String::as_str));
    let last = Held::of(&events(&log, &options())).last.unwrap();
    let expected = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 15});
    assert_eq!(last["usage"], expected);
}

/// A log in which a model wants parts back: of a thought, behind a text, behind a thought whose text was over, and behind a call.
fn log_with_parts() -> Vec<StreamEntry> {
    let said = |kind: &str, id: &str, text: &str| json!({"type": kind, "props": {"content": text}, "message_id": id, "delta": true});
    let part = |text: &str| {
        let part = json!({"type": "thinking", "thinking": text, "connector": "claude"});
        event("reasoning_part", &json!({"part": part}))
    };
    let call = json!({"type": "tool_call", "message_id": "M4",
        "props": {"id": "t1", "name": "get_time", "arguments": "{}"}});
    let end = |id: &str| {
        event(
            "message_end",
            &json!({"message_id": id, "status": "completed"}),
        )
    };
    let frames = [
        event("stream_start", &json!({})),
        said("thinking", "M1", "hm"),
        part("hm"),
        end("M1"),
        said("text", "M2", "so"),
        part("behind a text"),
        end("M2"),
        said("thinking", "M3", "more"),
        end("M3"),
        part("when its text was over"),
        call,
        end("M4"),
        part("behind a call"),
        event("stream_end", &json!({"status": "completed"})),
    ];
    let lines: Vec<String> = frames.iter().map(Value::to_string).collect();
    entries(lines.iter().map(String::as_str))
}

#[test]
fn a_thought_holds_what_the_provider_wants_back_where_the_request_asks_for_it() {
    let log = log_with_parts();
    let told = |has_encrypted_reasoning: bool| {
        let response = ResponseRecord {
            has_encrypted_reasoning,
            ..ResponseRecord::default()
        };
        let options = FormatOptions {
            response,
            ..options()
        };
        let held = Held::of(&events(&log, &options));
        assert!(held.is_done.iter().all(|is_done| *is_done));
        let output = held.last.unwrap()["output"].take();
        let whole = json!((find("responses").unwrap().body)(&log, &options));
        assert_eq!(whole["output"], output);
        let items = output.as_array().unwrap().iter().map(|item| {
            let encrypted = item.get("encrypted_content").and_then(Value::as_str);
            (item["id"].as_str().unwrap().to_owned(), encrypted.is_some())
        });
        items.collect::<Vec<_>>()
    };
    let item = |id: &str, is_told: bool| (id.to_owned(), is_told);
    let expected = [
        item("rs_r1_M1", true),
        item("msg_r1_M2", false),
        item("rs_r1_P1", true),
        item("rs_r1_M3", true),
        item("fc_r1_M4", false),
        item("rs_r1_P2", true),
    ];
    assert_eq!(told(true), expected);
    let ids = ["rs_r1_M1", "msg_r1_M2", "rs_r1_M3", "fc_r1_M4"];
    assert_eq!(told(false), ids.map(|id| item(id, false)));
}

fn event(name: &str, data: &Value) -> Value {
    json!({"type": "event", "props": {"event": name, "message": name, "data": data}})
}
