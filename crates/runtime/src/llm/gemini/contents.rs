//! Messages as Google has them: instructions apart, parts of a user and of a model.

use super::super::ModelFailure;
use super::super::media::{self, MediaSource};
use super::super::tool_call_pairing::{arguments, pair_calls};
use crate::chat::{ChatContent, ChatMessage, ContentPart, ReasoningPart, Role};
use serde::Serialize;
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
    pub contents: Vec<GeminiContent>,
}

/// What one of the two says in a row.
#[derive(Debug, PartialEq, Serialize)]
pub struct GeminiContent {
    /// `user` or `model`.
    role: &'static str,
    parts: Vec<GeminiPart>,
}

/// A part of a message, as it is sent.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart {
    #[serde(flatten)]
    data: GeminiPartData,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum GeminiPartData {
    Text(String),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: String,
        data: String,
    },
    #[serde(rename_all = "camelCase")]
    FileData {
        file_uri: String,
    },
    FunctionCall {
        name: String,
        args: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    FunctionResponse {
        name: Option<String>,
        response: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
}

impl From<GeminiPartData> for GeminiPart {
    fn from(data: GeminiPartData) -> Self {
        Self {
            data,
            thought_signature: None,
        }
    }
}

/// The conversation for the provider; with `signed` the calls of this turn carry a signature each round.
pub fn encode(messages: &[ChatMessage], signed: bool) -> Result<GeminiConversation, ModelFailure> {
    let messages = pair_calls(messages);
    let is_user = |message: &ChatMessage| message.role == Role::User;
    let last_user = messages.iter().rposition(is_user);
    let mut system = Vec::new();
    let mut contents: Vec<GeminiContent> = Vec::new();
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
    if contents.first().is_none_or(|first| first.role != "user") {
        let text = GeminiPartData::Text("…".to_owned());
        let first = GeminiContent {
            role: "user",
            parts: vec![text.into()],
        };
        contents.insert(0, first);
    }
    Ok(GeminiConversation {
        system: system.join("\n\n"),
        contents,
    })
}

fn add(contents: &mut Vec<GeminiContent>, role: &'static str, parts: Vec<GeminiPart>) {
    match contents.last_mut() {
        _ if parts.is_empty() => {}
        Some(last) if last.role == role => last.parts.extend(parts),
        _ => contents.push(GeminiContent { role, parts }),
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
) -> Vec<GeminiPart> {
    let own = |kind: &'static str| {
        let own = message.reasoning_parts.iter();
        own.filter(move |part| part.kind() == Some(kind))
    };
    let field = |part: Option<&ReasoningPart>, name: &str| {
        let value = part?.fields.get(name)?.as_str();
        value.map(str::to_owned)
    };
    let text = message.content.texts("\n");
    let mut parts = Vec::new();
    let signature = own("thought_signature").next();
    if !text.is_empty() || signature.is_some() {
        parts.push(GeminiPart {
            data: GeminiPartData::Text(text),
            thought_signature: field(signature, "signature"),
        });
    }
    for (index, call) in message.tool_calls.iter().enumerate() {
        let is_of_call = |of: Option<&Value>| of.is_some_and(|of| *of == index);
        let known = own("function_call").find(|part| is_of_call(part.fields.get("call")));
        let id = field(known, "id");
        let unsigned = || (signed && index == 0).then(|| UNSIGNED.to_owned());
        parts.push(GeminiPart {
            thought_signature: field(known, "signature").or_else(unsigned),
            data: GeminiPartData::FunctionCall {
                name: call.name.clone(),
                args: arguments(call),
                id: id.clone(),
            },
        });
        let function = GeminiFunctionCall {
            name: call.name.clone(),
            id,
        };
        made.insert(call.id.clone(), function);
    }
    parts
}

fn response(message: &ChatMessage, call: Option<&GeminiFunctionCall>) -> GeminiPart {
    let text = message.content.texts("\n");
    let response = match serde_json::from_str(&text) {
        Ok(Value::Object(result)) => Value::Object(result),
        _ => json!({"result": text}),
    };
    let name = call.map(|call| &call.name).or(message.name.as_ref());
    let part = GeminiPartData::FunctionResponse {
        name: name.cloned(),
        response,
        id: call.and_then(|call| call.id.clone()),
    };
    part.into()
}

fn parts(content: &ChatContent) -> Result<Vec<GeminiPart>, ModelFailure> {
    match content {
        ChatContent::Parts(parts) => parts.iter().map(part).collect(),
        text => Ok(vec![GeminiPartData::Text(text.texts("\n")).into()]),
    }
}

fn part(part: &ContentPart) -> Result<GeminiPart, ModelFailure> {
    if let Some(text) = part.text() {
        return Ok(GeminiPartData::Text(text.to_owned()).into());
    }
    if let Some((data, format)) = part.sound() {
        let data = GeminiPartData::InlineData {
            mime_type: format!("audio/{format}"),
            data: data.to_owned(),
        };
        return Ok(data.into());
    }
    let address = part.image_address().or_else(|| part.file_address());
    let data = match address.map(MediaSource::of) {
        Some(MediaSource::Data { media_type, data }) => GeminiPartData::InlineData {
            mime_type: media_type.to_owned(),
            data: data.to_owned(),
        },
        Some(MediaSource::Url(url)) => GeminiPartData::FileData {
            file_uri: url.to_owned(),
        },
        None => return Err(media::not_taken(part)),
    };
    Ok(data.into())
}
