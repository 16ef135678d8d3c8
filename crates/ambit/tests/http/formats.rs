//! One turn, followed in every format while it runs.

use crate::site::Site;
use ambit::format::FORMATS;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A model that thinks, says something and calls the client's tool, slowly.
const MODEL: (&str, &str) = (
    "connectors/script.conn.yao",
    r#"{"label": "Script", "type": "scripted", "options": {"rules": [
        {"reasoning": "Which of the cities do they mean?", "reply": "Let me look at the weather in Oslo for you.",
            "tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}], "delay": "30ms"}]}}"#,
);

/// What a client holds of a turn.
#[derive(Debug, Default, PartialEq)]
struct Held {
    thought: String,
    text: String,
    /// Tools and their arguments.
    calls: Vec<(String, Value)>,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn arguments(value: &Value) -> Value {
    serde_json::from_str(text(value)).unwrap()
}

/// Folds the events of a format as its clients do.
fn fold(format: &str, events: &[Value]) -> Held {
    match format {
        "standard" => of_chunks(events),
        "messages" => of_blocks(events),
        "ai-sdk" => of_ui_chunks(events),
        "ag-ui" => of_run(events),
        "responses" => of_response(events),
        "cui-web" | "cui-native" | "cui-desktop" => of_frames(events),
        other => panic!("nobody knows how a client reads {other}"),
    }
}

fn of_chunks(events: &[Value]) -> Held {
    let mut held = Held::default();
    let mut calls: BTreeMap<u64, (String, String)> = BTreeMap::new();
    for delta in events.iter().map(|event| &event["choices"][0]["delta"]) {
        held.thought += text(&delta["reasoning_content"]);
        held.text += text(&delta["content"]);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let known = calls.entry(call["index"].as_u64().unwrap()).or_default();
            known.0 += text(&call["function"]["name"]);
            known.1 += text(&call["function"]["arguments"]);
        }
    }
    let whole = |(name, text): (String, String)| (name, serde_json::from_str(&text).unwrap());
    held.calls = calls.into_values().map(whole).collect();
    held
}

fn of_blocks(events: &[Value]) -> Held {
    let mut held = Held::default();
    let mut call = None;
    for event in events {
        let (block, delta) = (&event["content_block"], &event["delta"]);
        held.thought += text(&delta["thinking"]);
        held.text += text(&delta["text"]);
        match (text(&event["type"]), &mut call) {
            ("content_block_start", _) if block["type"] == "tool_use" => {
                call = Some((text(&block["name"]).to_owned(), String::new()));
            }
            ("content_block_delta", Some((_, text_so_far))) => {
                *text_so_far += text(&delta["partial_json"]);
            }
            ("content_block_stop", _) => {
                let whole =
                    |(name, text): (String, String)| (name, serde_json::from_str(&text).unwrap());
                held.calls.extend(call.take().map(whole));
            }
            _ => {}
        }
    }
    held
}

fn of_ui_chunks(events: &[Value]) -> Held {
    let mut held = Held::default();
    for event in events {
        match text(&event["type"]) {
            "reasoning-delta" => held.thought += text(&event["delta"]),
            "text-delta" => held.text += text(&event["delta"]),
            "tool-input-available" => {
                let name = text(&event["toolName"]).to_owned();
                held.calls.push((name, event["input"].clone()));
            }
            _ => {}
        }
    }
    held
}

fn of_run(events: &[Value]) -> Held {
    let mut held = Held::default();
    let (mut name, mut written) = (String::new(), String::new());
    for event in events {
        match text(&event["type"]) {
            "REASONING_MESSAGE_CONTENT" => held.thought += text(&event["delta"]),
            "TEXT_MESSAGE_CONTENT" => held.text += text(&event["delta"]),
            "TOOL_CALL_START" => text(&event["toolCallName"]).clone_into(&mut name),
            "TOOL_CALL_ARGS" => written += text(&event["delta"]),
            "TOOL_CALL_END" => {
                let arguments = serde_json::from_str(&std::mem::take(&mut written)).unwrap();
                held.calls.push((std::mem::take(&mut name), arguments));
            }
            _ => {}
        }
    }
    held
}

fn of_response(events: &[Value]) -> Held {
    let mut held = Held::default();
    let last = events.iter().rfind(|event| event["response"].is_object());
    let output = &last.unwrap()["response"]["output"];
    for item in output.as_array().unwrap() {
        match text(&item["type"]) {
            "reasoning" => held.thought += text(&item["summary"][0]["text"]),
            "message" => held.text += text(&item["content"][0]["text"]),
            _ => {
                let name = text(&item["name"]).to_owned();
                held.calls.push((name, arguments(&item["arguments"])));
            }
        }
    }
    held
}

fn of_frames(events: &[Value]) -> Held {
    let mut state = ambit_runtime::frame::OutputMessages::default();
    for event in events {
        let frame = serde_json::from_value(event.clone()).unwrap();
        ambit_runtime::frame::apply(&mut state, &frame).unwrap();
    }
    let messages = state
        .messages()
        .iter()
        .map(|message| (message.kind.clone(), json!(message.props)));
    of_messages(messages)
}

/// What messages show, each by its kind and props.
fn of_messages(messages: impl Iterator<Item = (String, Value)>) -> Held {
    let mut held = Held::default();
    for (kind, props) in messages {
        match kind.as_str() {
            "thinking" => held.thought += text(&props["content"]),
            "text" => held.text += text(&props["content"]),
            "tool_call" => {
                let name = text(&props["name"]).to_owned();
                held.calls.push((name, arguments(&props["arguments"])));
            }
            _ => {}
        }
    }
    held
}

/// The stream of a turn in a format, as it goes over the wire behind an entry.
async fn stream_behind(site: &Site, request_id: &str, format: &str, entry: u64) -> String {
    let path = format!("/v1/chat/requests/{request_id}/stream?accept={format}&after={entry}");
    let response = site.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(response.status(), 200, "{format}");
    response.text().await.unwrap()
}

/// What a client that follows the turn in a format holds when it has ended.
async fn followed(site: &Site, request_id: &str, format: &str) -> Held {
    let stream = stream_behind(site, request_id, format, 0).await;
    let data = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    fold(format, &events)
}

#[tokio::test]
async fn g164_whoever_follows_a_turn_in_any_format_holds_what_is_stored() {
    let site = Site::of(&[MODEL]).await;
    let other = site.beside().await;
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let function = json!({"name": "get_weather", "parameters": parameters});
    let mut stream = site
        .stream(
            &json!({"model": "hello", "chat_id": "c1", "accept": "cui-web",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": function}]}),
        )
        .await;
    let id = stream.request_id();
    let from_all = |node| join_all(FORMATS.iter().map(|row| followed(node, &id, row.name)));
    let late = async {
        stream.until(|data| data["type"] == "text").await;
        // The turn still speaks; another node reads what is stored of it.
        let held = from_all(&other).await;
        stream.rest().await;
        held
    };
    let (early, late) = futures::future::join(from_all(&site), late).await;

    let rows = site.get("/v1/chat/sessions/c1/messages").await.json();
    let rows = rows["items"].as_array().unwrap().clone();
    let said = rows.into_iter().filter(|row| row["role"] == "assistant");
    let stored = of_messages(said.map(|row| (text(&row["type"]).to_owned(), row["props"].clone())));
    let expected = Held {
        thought: "Which of the cities do they mean?".to_owned(),
        text: "Let me look at the weather in Oslo for you.".to_owned(),
        calls: vec![("get_weather".to_owned(), json!({"city": "Oslo"}))],
    };
    assert_eq!(stored, expected);
    for (row, held) in FORMATS.iter().zip(early).chain(FORMATS.iter().zip(late)) {
        assert_eq!(held, expected, "{}", row.name);
    }
}

/// What is left of a stream behind the last event with the number of an entry up to this one.
fn behind(whole: &str, entry: u64) -> &str {
    let is_known = |event: &str| {
        let id = event.lines().find_map(|line| line.strip_prefix("id: "));
        id.is_some_and(|id| id.parse::<u64>().unwrap() <= entry)
    };
    let (mut at, mut start) = (0, 0);
    for event in whole.split_inclusive("\n\n") {
        at += event.len();
        if is_known(event) {
            start = at;
        }
    }
    &whole[start..]
}

#[tokio::test]
async fn g106_who_comes_back_anywhere_gets_what_is_missing_in_the_format_of_before() {
    let site = Site::of(&[MODEL]).await;
    let body = json!({"model": "hello", "chat_id": "c1", "accept": "cui-web", "stream": true,
        "messages": [{"role": "user", "content": "hi"}]});
    let mut stream = site.stream(&body).await;
    let id = stream.request_id();
    let last = stream.rest().await.last().unwrap().id.unwrap();
    for row in FORMATS.iter().filter(|row| row.has_entry_ids) {
        let whole = stream_behind(&site, &id, row.name, 0).await;
        for entry in 1..last {
            let rest = stream_behind(&site, &id, row.name, entry).await;
            assert_eq!(rest, behind(&whole, entry), "{} {entry}", row.name);
        }
    }
}
