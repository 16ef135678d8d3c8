//! A person's messages: from the parts that a client sends to what is asked and stored, and back.

use super::body::SentMessage;
use crate::format::ai_sdk::{self, UiRole};
use ambit_runtime::chat::{
    ChatContent, ChatMessage, ClientMessageFields, ContentPart, FileContent, Role,
};
use ambit_runtime::public_id;
use ambit_runtime::{Error, Result, chats};
use ambit_storage::storage::Message;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A part that models are told of.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum ModelPart {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    File {
        media_type: String,
        url: String,
        filename: Option<String>,
    },
}

/// What a client's message asks; `place` names it in errors.
pub fn read(sent: &SentMessage, place: &str) -> Result<ChatMessage> {
    let mut content = Vec::new();
    for (at, part) in sent.parts.iter().enumerate() {
        let kind = part["type"].as_str().unwrap_or_default();
        if kind != "text" && kind != "file" {
            continue;
        }
        let place = format!("{place}.parts[{at}]");
        let part = ModelPart::deserialize(part).map_err(|error| {
            let message = format!("{place} is no {kind} part: {error}");
            Error::invalid(&place, message)
        })?;
        content.push(part.content(&place)?);
    }
    let role = match sent.role {
        UiRole::System => Role::System,
        UiRole::User | UiRole::Assistant => Role::User,
    };
    let mut message = match content.as_slice() {
        [] => ChatMessage::new(role, ""),
        [ContentPart::Text { text, .. }] => ChatMessage::new(role, text.as_str()),
        _ => ChatMessage::new(role, ChatContent::Parts(content)),
    };
    message.client = Some(Box::new(ClientMessageFields {
        id: sent.id.as_ref().map(|id| id.0.clone()),
        parts: (!is_derived(&sent.parts)).then(|| sent.parts.clone().into()),
        metadata: sent.metadata.clone().filter(|metadata| !metadata.is_null()),
        ..ClientMessageFields::default()
    }));
    Ok(message)
}

/// Whether parts follow from what the message says.
fn is_derived(parts: &[Value]) -> bool {
    let is_plain = |part: &Value| {
        let keys = part.as_object().map_or(0, Map::len);
        keys == 2 && part["type"] == "text" && part["text"].is_string()
    };
    matches!(parts, [one] if is_plain(one))
}

impl ModelPart {
    fn content(self, place: &str) -> Result<ContentPart> {
        let (media_type, url, filename) = match self {
            Self::Text { text } => return Ok(ContentPart::of_text(text)),
            Self::File {
                media_type,
                url,
                filename,
            } => (media_type, url, filename),
        };
        let is_data = url.starts_with("data:");
        if !is_data && !url.starts_with("https://") {
            let place = format!("{place}.url");
            let message = format!("{place} must be an https or a data URL");
            return Err(Error::invalid(place, message));
        }
        let kind = media_type.split('/').next().unwrap_or_default();
        Ok(match (kind, url.split_once(";base64,")) {
            ("image", _) => ContentPart::image(url),
            ("video", _) => ContentPart::video(&url),
            ("audio", Some((_, bytes))) if is_data => ContentPart::audio(bytes, &media_type),
            _ => ContentPart::file(FileContent {
                filename,
                ..FileContent::at(url)
            }),
        })
    }
}

/// The id by which clients know a stored message.
pub fn id(stored: &Message) -> String {
    if let Some(id) = chats::client_id(stored) {
        return id.to_owned();
    }
    let message_id = stored.extras.get("message_id").and_then(Value::as_str);
    match (&stored.turn_id, message_id) {
        (Some(turn), Some(message_id)) => public_id::message_id(turn, message_id),
        _ => stored.id.clone(),
    }
}

/// The parts of a stored message: as they were sent, or what they would have been.
pub fn parts(stored: &Message) -> Vec<Value> {
    let client = stored.extras.get("client");
    match client.and_then(|client| client.get("parts")) {
        Some(Value::Array(parts)) => parts.clone(),
        _ => ai_sdk::user_parts(&stored.parts),
    }
}
