//! Messages as Google has them: instructions apart, parts of a user and of a model.

use super::super::ModelFailure;
use super::super::media::{self, MediaSource};
use super::super::tool_call_pairing::{arguments, pair_calls};
use crate::chat::{ChatContent, ChatMessage, ContentPart, Role};
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
pub fn encode(messages: &[ChatMessage], signed: bool) -> Result<GeminiConversation, ModelFailure> {
    let messages = pair_calls(messages);
    let is_user = |message: &ChatMessage| message.role == Role::User;
    let last_user = messages.iter().rposition(is_user);
    let mut system = Vec::new();
    let mut contents = Vec::new();
    let mut calls = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::System | Role::Developer => system.push(message.content.texts("\n")),
            Role::Assistant => {
                let is_this_turn = last_user.is_none_or(|last| at > last);
                let parts = model(message, signed && is_this_turn, &mut calls);
                add(&mut contents, "model", parts);
            }
            Role::Tool => {
                let call = message.tool_call_id.as_ref().and_then(|id| calls.get(id));
                add(&mut contents, "user", vec![response(message, call)]);
            }
            Role::User => add(&mut contents, "user", parts(&message.content)?),
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
    name: String,
    id: Option<String>,
}

fn model(
    message: &ChatMessage,
    signed: bool,
    made: &mut BTreeMap<String, GeminiFunctionCall>,
) -> Vec<Value> {
    let own = |kind: &'static str| {
        let own = message.reasoning_parts.iter();
        own.filter(move |part| part.kind() == Some(kind))
    };
    let text = message.content.texts("\n");
    let mut parts = Vec::new();
    let signature = own("thought_signature").next();
    if !text.is_empty() || signature.is_some() {
        let mut part = json!({"text": text});
        if let Some(signature) = signature {
            part["thoughtSignature"] = json!(signature.fields.get("signature"));
        }
        parts.push(part);
    }
    for (index, call) in message.tool_calls.iter().enumerate() {
        let is_of_call = |of: Option<&Value>| of.is_some_and(|of| *of == index);
        let known = own("function_call").find(|part| is_of_call(part.fields.get("call")));
        let given = |key: &str| known?.fields.get(key)?.as_str();
        let mut function = json!({"name": call.name, "args": arguments(call)});
        if let Some(id) = given("id") {
            function["id"] = id.into();
        }
        let mut part = json!({"functionCall": function});
        let unsigned = || (signed && index == 0).then_some(UNSIGNED);
        if let Some(signature) = given("signature").or_else(unsigned) {
            part["thoughtSignature"] = signature.into();
        }
        parts.push(part);
        let function = GeminiFunctionCall {
            name: call.name.clone(),
            id: given("id").map(str::to_owned),
        };
        made.insert(call.id.clone(), function);
    }
    parts
}

fn response(message: &ChatMessage, call: Option<&GeminiFunctionCall>) -> Value {
    let text = message.content.texts("\n");
    let result = match serde_json::from_str(&text) {
        Ok(Value::Object(result)) => Value::Object(result),
        _ => json!({"result": text}),
    };
    let name = call.map(|call| &call.name).or(message.name.as_ref());
    let mut response = json!({"name": name, "response": result});
    if let Some(id) = call.and_then(|call| call.id.as_ref()) {
        response["id"] = id.as_str().into();
    }
    json!({"functionResponse": response})
}

fn parts(content: &ChatContent) -> Result<Vec<Value>, ModelFailure> {
    match content {
        ChatContent::Parts(parts) => parts.iter().map(part).collect(),
        text => Ok(vec![json!({"text": text.texts("\n")})]),
    }
}

fn part(part: &ContentPart) -> Result<Value, ModelFailure> {
    if let Some(text) = part.text() {
        return Ok(json!({"text": text}));
    }
    if let Some((data, format)) = part.sound() {
        let data = json!({"mimeType": format!("audio/{format}"), "data": data});
        return Ok(json!({"inlineData": data}));
    }
    let address = part.image_address().or_else(|| part.file_address());
    match address.map(MediaSource::of) {
        Some(MediaSource::Data { media_type, data }) => {
            Ok(json!({"inlineData": {"mimeType": media_type, "data": data}}))
        }
        Some(MediaSource::Url(url)) => Ok(json!({"fileData": {"fileUri": url}})),
        None => Err(media::not_taken(part)),
    }
}
