//! Messages as Google has them: instructions apart, parts of a user and of a model.

use super::super::ModelFailure;
use super::super::media::{self, MediaSource};
use super::super::tool_call_pairing::{arguments, pair_calls};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Google's word for a call that has no signature because another model made it.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// A conversation to be sent.
#[derive(Debug, PartialEq)]
pub struct GeminiConversation {
    /// All instructions.
    pub system: String,
    /// What was said.
    pub contents: Vec<Value>,
}

/// The conversation for the provider; with `signed` the calls of this turn carry a signature each round.
pub fn encode(messages: &[Value], signed: bool) -> Result<GeminiConversation, ModelFailure> {
    let messages = pair_calls(messages);
    let last_user = messages
        .iter()
        .rposition(|message| message["role"] == "user");
    let mut system = Vec::new();
    let mut contents = Vec::new();
    let mut calls = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        match message["role"].as_str().unwrap_or_default() {
            "system" | "developer" => system.push(media::text(&message["content"])),
            "assistant" => {
                let is_this_turn = last_user.is_none_or(|last| at > last);
                let parts = model(message, signed && is_this_turn, &mut calls);
                add(&mut contents, "model", parts);
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                add(
                    &mut contents,
                    "user",
                    vec![response(message, calls.get(id))],
                );
            }
            _ => add(&mut contents, "user", parts(&message["content"])?),
        }
    }
    system.retain(|text| !text.trim().is_empty());
    if contents
        .first()
        .is_none_or(|first: &Value| first["role"] != "user")
    {
        contents.insert(0, json!({"role": "user", "parts": [{"text": "…"}]}));
    }
    Ok(GeminiConversation {
        system: system.join("\n\n"),
        contents,
    })
}

fn add(contents: &mut Vec<Value>, role: &str, parts: Vec<Value>) {
    if parts.is_empty() {
        return;
    }
    let last = contents.last_mut().filter(|last| last["role"] == role);
    match last.and_then(|last| last["parts"].as_array_mut()) {
        Some(before) => before.extend(parts),
        None => contents.push(json!({"role": role, "parts": parts})),
    }
}

/// A call as its response names it.
struct GeminiFunctionCall {
    name: Value,
    id: Option<Value>,
}

fn model(
    message: &Value,
    signed: bool,
    made: &mut BTreeMap<String, GeminiFunctionCall>,
) -> Vec<Value> {
    let own = message["reasoning_parts"].as_array();
    let own = || own.into_iter().flatten();
    let text = media::text(&message["content"]);
    let mut parts = Vec::new();
    let signature = own().find(|part| part["type"] == "thought_signature");
    if !text.is_empty() || signature.is_some() {
        let mut part = json!({"text": text});
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature["signature"].clone();
        }
        parts.push(part);
    }
    let calls = message["tool_calls"].as_array();
    for (index, call) in calls.into_iter().flatten().enumerate() {
        let known = own().find(|part| part["type"] == "function_call" && part["call"] == index);
        let given = |key: &str| known?.get(key).cloned();
        let name = call["function"]["name"].clone();
        let mut function = json!({"name": name, "args": arguments(call)});
        if let Some(id) = given("id") {
            function["id"] = id;
        }
        let mut part = json!({"functionCall": function});
        let unsigned = || (signed && index == 0).then(|| UNSIGNED.into());
        if let Some(signature) = given("signature").or_else(unsigned) {
            part["thoughtSignature"] = signature;
        }
        parts.push(part);
        let ours = call["id"].as_str().unwrap_or_default().to_owned();
        let id = given("id");
        made.insert(ours, GeminiFunctionCall { name, id });
    }
    parts
}

fn response(message: &Value, call: Option<&GeminiFunctionCall>) -> Value {
    let text = media::text(&message["content"]);
    let result = match serde_json::from_str(&text) {
        Ok(Value::Object(result)) => Value::Object(result),
        _ => json!({"result": text}),
    };
    let name = call.map(|call| &call.name).or_else(|| message.get("name"));
    let mut response = json!({"name": name, "response": result});
    if let Some(id) = call.and_then(|call| call.id.as_ref()) {
        response["id"] = id.clone();
    }
    json!({"functionResponse": response})
}

fn parts(content: &Value) -> Result<Vec<Value>, ModelFailure> {
    match content {
        Value::Array(parts) => parts.iter().map(part).collect(),
        other => Ok(vec![json!({"text": media::text(other)})]),
    }
}

fn part(part: &Value) -> Result<Value, ModelFailure> {
    if let Some(text) = part["text"].as_str() {
        return Ok(json!({"text": text}));
    }
    if let Some(data) = part["input_audio"]["data"].as_str() {
        let format = part["input_audio"]["format"].as_str().unwrap_or("wav");
        let data = json!({"mimeType": format!("audio/{format}"), "data": data});
        return Ok(json!({"inlineData": data}));
    }
    let address = media::image_address(part).or_else(|| media::file_address(part));
    match address.map(MediaSource::of) {
        Some(MediaSource::Data { media_type, data }) => {
            Ok(json!({"inlineData": {"mimeType": media_type, "data": data}}))
        }
        Some(MediaSource::Url(url)) => Ok(json!({"fileData": {"fileUri": url}})),
        None => Err(media::not_taken(part)),
    }
}
