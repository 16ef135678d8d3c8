//! What holds for every stream of Anthropic's messages: blocks never overlap, there is one end, and the answer that does not stream
//! says the same.

use crate::log::{Completion, frames};
use crate::random::{Habits, random_log};
use crate::recorded_logs::{entries, events, every_log, options};
use ambit::format::{FormatEvent, find};
use ambit::runtime::stream::StreamEntry;
use serde_json::{Value, json};

/// What a client holds that put all events together.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    blocks: Vec<Value>,
    stop_reason: Value,
    usage: Value,
    error: Value,
}

impl Answer {
    /// Reads a stream as strictly as clients do.
    fn of_events(events: &[FormatEvent]) -> Self {
        let mut answer = Self::default();
        let (mut open, mut arguments) = (false, String::new());
        let (mut has_begun, mut has_ended) = (false, false);
        for event in events {
            let data: Value = serde_json::from_str(&event.data).unwrap();
            let kind = data["type"].as_str().unwrap();
            assert_eq!(event.name, Some(kind), "the event is what its data is");
            assert!(!has_ended, "{kind} behind the end");
            assert_eq!(has_begun, kind != "message_start", "{kind}");
            if let Some(index) = data.get("index") {
                let is_next = kind == "content_block_start";
                let count = answer.blocks.len();
                let expected = if is_next { count } else { count - 1 };
                assert_eq!(*index, expected, "{kind}");
                assert_eq!(open, !is_next, "{kind}");
            }
            match kind {
                "message_start" => {
                    has_begun = true;
                    assert_eq!(data["message"]["content"], json!([]));
                    assert_eq!(data["message"]["id"], "msg_r1");
                    assert_eq!(data["message"]["usage"]["output_tokens"], 0);
                }
                "content_block_start" => {
                    open = true;
                    answer.blocks.push(data["content_block"].clone());
                }
                "content_block_delta" => {
                    take(
                        answer.blocks.last_mut().unwrap(),
                        &data["delta"],
                        &mut arguments,
                    );
                }
                "content_block_stop" => {
                    open = false;
                    let block = answer.blocks.last_mut().unwrap();
                    if block["type"] == "tool_use" {
                        block["input"] = parsed(std::mem::take(&mut arguments));
                    }
                }
                "message_delta" => {
                    assert!(!open, "a block is open at the end");
                    answer.stop_reason = data["delta"]["stop_reason"].clone();
                    answer.usage = data["usage"].clone();
                }
                "message_stop" => has_ended = true,
                "error" => {
                    has_ended = true;
                    answer.error = data["error"].clone();
                }
                other => panic!("{other} is no event of this protocol"),
            }
        }
        assert!(has_ended && !open, "the stream is not whole");
        answer
    }

    /// The same of an answer that did not stream.
    fn of_body(body: &Value) -> Self {
        if body["type"] == "error" {
            return Self {
                error: body["error"].clone(),
                ..Self::default()
            };
        }
        assert_eq!(body["type"], "message");
        assert_eq!(body["role"], "assistant");
        assert_eq!(body["stop_sequence"], Value::Null);
        Self {
            blocks: body["content"].as_array().unwrap().clone(),
            stop_reason: body["stop_reason"].clone(),
            usage: body["usage"].clone(),
            error: Value::Null,
        }
    }

    /// The texts of the blocks of a kind.
    fn texts(&self, kind: &str, field: &str) -> Vec<&str> {
        let blocks = self.blocks.iter().filter(|block| block["type"] == kind);
        blocks.map(|block| block[field].as_str().unwrap()).collect()
    }

    /// Checks that the texts of the blocks, in order, are this one. A block that begins keeps texts apart as a break does, which it
    /// may stand for; nothing else may be missing.
    fn check_says(&self, content: &str) {
        let texts = self.texts("text", "text");
        assert!(is_split_into(content, &texts), "{content:?} {texts:?}");
    }

    fn calls(&self) -> Vec<Value> {
        let calls = self.blocks.iter();
        calls
            .filter(|block| block["type"] == "tool_use")
            .cloned()
            .collect()
    }
}

fn take(block: &mut Value, delta: &Value, arguments: &mut String) {
    let (field, kind) = match delta["type"].as_str().unwrap() {
        "text_delta" => ("text", "text"),
        "thinking_delta" => ("thinking", "thinking"),
        "signature_delta" => ("signature", "thinking"),
        "input_json_delta" => {
            assert_eq!(block["type"], "tool_use");
            arguments.push_str(delta["partial_json"].as_str().unwrap());
            return;
        }
        other => panic!("{other} is no delta of this protocol"),
    };
    assert_eq!(block["type"], kind);
    assert_eq!(
        block["signature"].as_str().unwrap_or_default(),
        "",
        "a thought goes on"
    );
    let text = format!(
        "{}{}",
        block[field].as_str().unwrap(),
        delta[field].as_str().unwrap()
    );
    block[field] = text.into();
}

/// Whether a text is these, each behind the one before it or behind a break.
fn is_split_into(content: &str, texts: &[&str]) -> bool {
    let Some((first, further)) = texts.split_first() else {
        return content.is_empty();
    };
    let Some(rest) = content.strip_prefix(first) else {
        return false;
    };
    let breaks = if further.is_empty() {
        &[""][..]
    } else {
        &["", "\n", "\n\n"]
    };
    let mut behind = breaks.iter().filter_map(|text| rest.strip_prefix(text));
    behind.any(|rest| is_split_into(rest, further))
}

/// What a client makes of the arguments of a call; its own text where they are no object.
fn parsed(arguments: String) -> Value {
    let object = serde_json::from_str(&arguments).map(Value::Object);
    object.unwrap_or(Value::String(arguments))
}

/// The calls of a random log as an answer has them that does not stream: what tools are called with there are words.
fn with_objects(mut calls: Vec<Value>) -> Vec<Value> {
    for call in &mut calls {
        let words = call["input"].as_str().unwrap();
        call["input"] = match words.trim() {
            "" => json!({}),
            _ => json!({"arguments": words}),
        };
    }
    calls
}

fn both(log: &[StreamEntry]) -> (Answer, Answer) {
    let row = find("messages").unwrap();
    let (events, end) = events(row, log);
    assert!(end.is_empty());
    let body = json!((row.body)(log, &options()));
    (Answer::of_events(&events.concat()), Answer::of_body(&body))
}

#[test]
fn g041_blocks_never_overlap_and_streamed_and_whole_answers_are_the_same() {
    for seed in 1..=2_000 {
        let log = random_log(seed, Habits::KeepText);
        let (streamed, whole) = both(&log);
        let body = json!((find("standard").unwrap().body)(&log, &options()));
        let content = Completion::of_body(&body).content;
        streamed.check_says(&content);
        whole.check_says(&content);
        assert_eq!(with_objects(streamed.calls()), whole.calls(), "seed {seed}");
        assert_eq!(streamed.stop_reason, whole.stop_reason, "seed {seed}");
        assert_eq!(streamed.usage, whole.usage, "seed {seed}");
    }
}

#[test]
fn blocks_never_overlap_whatever_a_stream_does() {
    let random = (1..=2_000).map(|seed| random_log(seed, Habits::Any));
    for log in random.chain(every_log().into_iter().map(|(_, log)| log)) {
        let (streamed, whole) = both(&log);
        assert_eq!(streamed.error, whole.error);
        assert_eq!(streamed.stop_reason, whole.stop_reason);
    }
}

#[test]
fn blocks_say_what_chat_completions_say() {
    let random = (1..=2_000).map(|seed| random_log(seed, Habits::KeepText));
    let recorded = every_log().into_iter().map(|(_, log)| log);
    for log in random.chain(recorded) {
        let (streamed, _) = both(&log);
        let (chunks, _) = frames(find("standard").unwrap(), &log);
        let standard = Completion::of_chunks(&chunks.concat());
        if !standard.errors.is_empty() {
            continue;
        }
        streamed.check_says(&standard.content);
        let names = |calls: &[Value], path: &str| -> Vec<Value> {
            let named = calls.iter().map(|call| call.pointer(path).unwrap().clone());
            named.collect()
        };
        assert_eq!(
            names(&streamed.calls(), "/name"),
            names(&standard.calls, "/function/name")
        );
    }
}

/// A log of these frames between a start and an end.
fn log(frames: &[Value]) -> Vec<StreamEntry> {
    let event =
        |name: &str, data: Value| json!({"type": "event", "props": {"event": name, "data": data}});
    let start = event("stream_start", json!({}));
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 3, "cache_creation_tokens": 4}});
    let end = event("stream_end", json!({"status": "completed", "usage": usage}));
    let lines = [&start].into_iter().chain(frames).chain([&end]);
    let lines: Vec<String> = lines.map(Value::to_string).collect();
    entries(lines.iter().map(String::as_str))
}

fn said(kind: &str, id: &str, text: &str) -> Value {
    json!({"type": kind, "props": {"content": text}, "message_id": id, "delta": true})
}

#[expect(clippy::needless_pass_by_value, reason = "calls of it read better")]
fn part(fields: Value) -> Value {
    json!({"type": "event", "props": {"event": "reasoning_part", "data": {"part": fields}}})
}

#[test]
fn a_thought_ends_with_its_signature_and_is_told_in_one_block() {
    let signed =
        json!({"type": "thinking", "thinking": "hm", "signature": "s", "connector": "claude"});
    let hidden = json!({"type": "redacted_thinking", "data": "d", "connector": "claude"});
    let call = json!({"type": "tool_call", "props": {"id": "t1", "name": "get_time", "arguments": "{\"a\":1}"},
        "message_id": "M4"});
    let log = log(&[
        said("thinking", "M1", "hm"),
        part(signed),
        said("text", "M2", "so"),
        part(hidden),
        said("thinking", "M3", "more"),
        call,
    ]);
    let (streamed, whole) = both(&log);
    assert_eq!(streamed.blocks, whole.blocks);
    let kinds: Vec<&str> = streamed
        .blocks
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["thinking", "text", "thinking", "tool_use"]);
    assert_eq!(streamed.texts("thinking", "thinking"), ["hm", "more"]);
    assert!(
        streamed
            .texts("thinking", "signature")
            .iter()
            .all(|text| !text.is_empty())
    );
    assert_eq!(
        streamed.blocks[3],
        json!({"type": "tool_use", "id": "call_r1_M4", "name": "get_time", "input": {"a": 1}})
    );
    assert_eq!(streamed.stop_reason, "tool_use");
    let usage = json!({"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 2});
    assert_eq!(streamed.usage, usage);
}

#[test]
fn thoughts_are_left_out_where_the_client_wants_none() {
    let signed =
        json!({"type": "thinking", "thinking": "hm", "signature": "s", "connector": "claude"});
    let log = log(&[
        said("thinking", "M1", "hm"),
        part(signed),
        said("text", "M2", "so"),
    ]);
    let mut options = options();
    options.omits_thinking = true;
    let row = find("messages").unwrap();
    let mut format = (row.open)(&options);
    let events: Vec<FormatEvent> = log.iter().flat_map(|entry| format.events(entry)).collect();
    let text = json!({"type": "text", "text": "so"});
    assert_eq!(
        Answer::of_events(&events).blocks,
        std::slice::from_ref(&text)
    );
    let body = json!((row.body)(&log, &options));
    assert_eq!(body["content"], json!([text]));
}

#[test]
fn a_silent_stream_pings_with_an_event() {
    let ping = find("messages").unwrap().ping;
    assert_eq!(ping, "event: ping\ndata: {\"type\": \"ping\"}\n\n");
    assert_eq!(find("standard").unwrap().ping, ": ping\n\n");
}
