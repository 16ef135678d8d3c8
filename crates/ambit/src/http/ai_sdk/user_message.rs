//! A person's messages: from the parts that a client sends to what is asked and stored, and back.

use super::body::SentMessage;
use crate::format::ai_sdk::{self, UiRole};
use ambit_runtime::chat::{
    ChatContent, ChatMessage, ClientMessageFields, ContentPart, FileContent, ImageUrl, InputAudio,
    Role,
};
use ambit_runtime::public_id;
use ambit_runtime::{Error, Result, chats};
use ambit_storage::storage::Message;
use serde::Deserialize;
use serde_json::{Map, Value, json};

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
        let extra = Map::new();
        let (kind, format) = media_type
            .split_once('/')
            .unwrap_or((media_type.as_str(), ""));
        Ok(match (kind, url.split_once(";base64,")) {
            ("image", _) => ContentPart::ImageUrl {
                image_url: ImageUrl::Object { url, extra },
                extra: Map::new(),
            },
            ("video", _) => {
                ContentPart::Other(json!({"type": "video_url", "video_url": {"url": url}}))
            }
            ("audio", Some((_, bytes))) if is_data => ContentPart::InputAudio {
                input_audio: InputAudio {
                    data: bytes.to_owned(),
                    format: Some(audio_format(format).to_owned()),
                    extra,
                },
                extra: Map::new(),
            },
            _ => ContentPart::File {
                file: FileContent {
                    filename,
                    file_data: is_data.then(|| url.clone()),
                    url: (!is_data).then_some(url),
                    extra,
                },
                extra: Map::new(),
            },
        })
    }
}

/// What models call the format of a sound of this media type.
fn audio_format(subtype: &str) -> &str {
    match subtype {
        "mpeg" => "mp3",
        "wave" | "x-wav" | "vnd.wave" => "wav",
        other => other,
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
