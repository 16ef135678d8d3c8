//! The content of items, in OpenAI's two shapes: that of Responses, and that of chat messages.

use ambit_runtime::chat::{ChatContent, ContentPart, FileContent, ImageUrl, InputAudio};
use ambit_runtime::{Error, Result};
use ambit_storage::suggestion;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The kinds of parts that a message may have.
const KINDS: [&str; 7] = [
    "input_text",
    "output_text",
    "text",
    "refusal",
    "input_image",
    "input_file",
    "input_audio",
];

/// A part of an item's content.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ItemPart {
    #[serde(alias = "output_text", alias = "text")]
    InputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    InputImage {
        image_url: Option<String>,
        file_id: Option<String>,
        detail: Option<String>,
    },
    InputFile {
        file_data: Option<String>,
        file_url: Option<String>,
        file_id: Option<String>,
        filename: Option<String>,
    },
    InputAudio {
        input_audio: InputAudio,
    },
}

/// What an item says.
pub struct ItemContent {
    /// As models know it.
    pub chat: ChatContent,
    /// What was refused.
    pub refusal: Option<String>,
}

/// Reads a content, which is a text or a list of parts; `place` names it in errors.
pub fn read(place: &str, content: &Value) -> Result<ItemContent> {
    let parts = match content {
        Value::String(text) => {
            return Ok(ItemContent {
                chat: text.as_str().into(),
                refusal: None,
            });
        }
        Value::Array(parts) => parts,
        _ => {
            let message = format!("{place} must be a string or a list of parts");
            return Err(Error::invalid(place, message));
        }
    };
    let (mut said, mut refusal) = (Vec::new(), None);
    for (at, part) in parts.iter().enumerate() {
        match part_of(&format!("{place}[{at}]"), part)? {
            ItemPart::Refusal { refusal: text } => refusal = Some(text),
            part => said.push(chat_part(&format!("{place}[{at}]"), part)?),
        }
    }
    let only = match said.as_slice() {
        [part] => text(part).map(ChatContent::from),
        _ => None,
    };
    let chat = match only {
        Some(text) => text,
        None if said.is_empty() => ChatContent::Null,
        None => ChatContent::Parts(said),
    };
    Ok(ItemContent { chat, refusal })
}

fn text(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text { text, .. } => Some(text),
        _ => None,
    }
}

fn part_of(place: &str, part: &Value) -> Result<ItemPart> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    if !KINDS.contains(&kind) {
        let hint = suggestion::hint(kind, KINDS);
        let message = format!("{place}.type must be one of {}{hint}", KINDS.join(", "));
        return Err(Error::invalid(format!("{place}.type"), message));
    }
    ItemPart::deserialize(part)
        .map_err(|error| Error::invalid(place, format!("{place} is no {kind}: {error}")))
}

/// The part as chat messages have it.
fn chat_part(place: &str, part: ItemPart) -> Result<ContentPart> {
    Ok(match part {
        ItemPart::InputText { text } | ItemPart::Refusal { refusal: text } => {
            ContentPart::of_text(text)
        }
        ItemPart::InputImage {
            image_url: Some(url),
            detail,
            ..
        } => {
            let detail = detail.map(|detail| ("detail".to_owned(), detail.into()));
            ContentPart::image(ImageUrl::Object {
                url,
                extra: detail.into_iter().collect(),
            })
        }
        ItemPart::InputFile {
            file_data,
            file_url,
            file_id: None,
            filename,
        } if file_data.is_some() || file_url.is_some() => ContentPart::file(FileContent {
            filename,
            file_data,
            url: file_url,
            ..FileContent::default()
        }),
        ItemPart::InputAudio { input_audio } => ContentPart::InputAudio {
            input_audio,
            extra: Map::new(),
        },
        ItemPart::InputImage { file_id: None, .. } | ItemPart::InputFile { file_id: None, .. } => {
            let message = format!("{place} names no content; give its address or its bytes");
            return Err(Error::invalid(place, message));
        }
        ItemPart::InputImage { .. } | ItemPart::InputFile { .. } => {
            let param = format!("{place}.file_id");
            let message = format!(
                "{param} is not supported: there are no uploaded files; give the content as a data URL or an address"
            );
            return Err(Error::unsupported(param, message));
        }
    })
}

/// A stored message's parts as an item has them.
pub fn listed(parts: &[Value], is_answer: bool) -> Vec<Value> {
    let text_kind = if is_answer {
        "output_text"
    } else {
        "input_text"
    };
    let parts = parts
        .iter()
        .map(|part| match ContentPart::from(part.clone()) {
            ContentPart::Text { text, .. } => text_part(text_kind, &text),
            ContentPart::ImageUrl { image_url, .. } => {
                let (url, detail) = match image_url {
                    ImageUrl::Address(url) => (url, None),
                    ImageUrl::Object { url, extra } => (url, extra.get("detail").cloned()),
                };
                let detail = detail.unwrap_or_else(|| "auto".into());
                serde_json::json!({"type": "input_image", "image_url": url, "detail": detail})
            }
            ContentPart::File { file, .. } => {
                serde_json::json!({"type": "input_file", "filename": file.filename,
            "file_data": file.file_data, "file_url": file.url})
            }
            ContentPart::InputAudio { input_audio, .. } => {
                serde_json::json!({"type": "input_audio", "input_audio": input_audio})
            }
            ContentPart::Other(part) => part,
        });
    parts.collect()
}

/// A text as a part of an item.
pub fn text_part(kind: &str, text: &str) -> Value {
    match kind {
        "output_text" => {
            serde_json::json!({"type": kind, "text": text, "annotations": [], "logprobs": []})
        }
        _ => serde_json::json!({"type": kind, "text": text}),
    }
}
