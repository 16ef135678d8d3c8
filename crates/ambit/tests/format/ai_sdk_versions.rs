//! What clients of the AI SDK are told by their version.

use crate::log::{event, log_of};
use crate::recorded_logs::options;
use ambit::format::ai_sdk::{AiSdkVersion, open};
use ambit::format::{FormatOptions, find};
use serde_json::{Value, json};

/// A text that a step shows as a whole.
fn text(id: &str, content: &str) -> [Value; 3] {
    let told = json!({"message_id": id, "type": "text", "status": "completed"});
    [
        event("message_start", &told),
        json!({"type": "text", "message_id": id, "props": {"content": content}}),
        event("message_end", &told),
    ]
}

fn of_version(version: &str) -> FormatOptions {
    FormatOptions {
        ai_sdk: AiSdkVersion::read(version),
        ..options()
    }
}

/// The chunks between the beginning and the end.
fn told(middle: &[Value], version: &str) -> Vec<Value> {
    let mut format = open(&of_version(version));
    let events = log_of(middle)
        .iter()
        .flat_map(|entry| format.events(entry))
        .map(|event| serde_json::from_str(&event.data).unwrap())
        .collect::<Vec<Value>>();
    events[1..events.len() - 1].to_vec()
}

fn kinds(chunks: &[Value]) -> Vec<&str> {
    chunks
        .iter()
        .map(|chunk| chunk["type"].as_str().unwrap())
        .collect()
}

/// The types of the parts that a client holds in the end.
fn held(middle: &[Value], version: &str) -> Value {
    let body = find("ai-sdk").unwrap().body;
    let body = json!(body(&log_of(middle), &of_version(version)));
    let parts = body["parts"].as_array().unwrap().iter();
    parts.map(|part| part["type"].clone()).collect()
}

/// A step that goes on with another model.
fn retried() -> Vec<Value> {
    let failed = json!({"index": 0, "finish_reason": "", "retried": true});
    let mut middle = vec![
        event("step_start", &json!({"index": 0})),
        event("step_end", &failed),
        event("step_start", &json!({"index": 1})),
    ];
    middle.extend(text("M1", "hi"));
    middle.push(event(
        "step_end",
        &json!({"index": 1, "finish_reason": "stop"}),
    ));
    middle
}

#[test]
fn a_model_that_is_asked_in_the_place_of_another_begins_its_step_anew() {
    let step = |begin: &[&'static str]| {
        let text = ["text-start", "text-delta", "text-end"];
        [begin, &text, &["finish-step"]].concat()
    };
    let anew = step(&["start-step", "reset-step"]);
    let other = step(&["start-step", "finish-step", "start-step"]);
    let retried = retried();
    for (version, expected) in [
        ("7", &anew),
        ("7.0.91", &anew),
        ("7.0.90", &other),
        ("6", &other),
    ] {
        assert_eq!(kinds(&told(&retried, version)), *expected, "{version}");
    }
    assert_eq!(held(&retried, "7"), json!(["step-start", "text"]));
    assert_eq!(
        held(&retried, "6"),
        json!(["step-start", "step-start", "text"])
    );
}

#[test]
fn a_step_that_no_other_model_takes_up_ends_with_the_turn() {
    let retried = &retried()[..2];
    assert_eq!(kinds(&told(retried, "7")), ["start-step", "finish-step"]);
}

/// An interrupt with a text and a picture.
fn interrupt() -> Value {
    let picture = json!({"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}});
    let content = json!([{"type": "text", "text": "and this?"}, picture]);
    let messages = [
        json!({"message_id": "i1", "content": "more", "role": "user"}),
        json!({"message_id": "i1-1", "content": content, "role": "user", "name": "Ann"}),
    ];
    event(
        "interrupt",
        &json!({"type": "graceful", "message_count": 2, "messages": messages}),
    )
}

#[test]
fn messages_of_an_interrupt_are_steering_messages_or_data() {
    let parts = json!([
        {"type": "text", "text": "and this?"},
        {"type": "file", "mediaType": "image/png", "url": "https://example.com/cat.png"},
    ]);
    let expected = [
        json!({"type": "steering-message", "id": "r1.i1", "parts": [{"type": "text", "text": "more"}]}),
        json!({"type": "steering-message", "id": "r1.i1-1", "parts": parts}),
    ];
    assert_eq!(told(&[interrupt()], "7"), expected);
    assert_eq!(
        held(&[interrupt()], "7.0.163"),
        json!(["steering-message", "steering-message"])
    );
    for version in ["6", "7.0.162"] {
        let told = told(&[interrupt()], version);
        assert_eq!(kinds(&told), ["data-user_input", "data-user_input"]);
        assert_eq!(told[0]["id"], "r1.i1");
        assert_eq!(told[0]["data"], json!({"content": "more", "role": "user"}));
        assert_eq!(told[1]["data"]["name"], "Ann");
    }
}

#[test]
fn an_interrupt_stands_between_two_steps_and_is_told_once() {
    let mut middle = vec![event("step_start", &json!({"index": 0}))];
    middle.extend(text("M1", "one"));
    middle.extend([interrupt(), interrupt()]);
    middle.push(event("step_start", &json!({"index": 1})));
    let told = told(&middle, "7");
    let after_text = [
        "finish-step",
        "steering-message",
        "steering-message",
        "start-step",
        "finish-step",
    ];
    assert_eq!(kinds(&told)[4..], after_text);
}

#[test]
fn logs_of_earlier_versions_say_nothing_of_what_came_in() {
    let interrupt = event(
        "interrupt",
        &json!({"type": "graceful", "message_count": 1}),
    );
    for version in ["6", "7"] {
        assert_eq!(
            told(std::slice::from_ref(&interrupt), version),
            Vec::<Value>::new()
        );
    }
}
