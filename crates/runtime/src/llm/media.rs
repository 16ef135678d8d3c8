//! Pictures and files in messages, from OpenAI's shape to others'.

use super::ModelFailure;
use serde_json::{Value, json};

/// What an address of a picture or file holds.
pub enum MediaSource<'a> {
    /// A `data:` address: the media type and the bytes in base64.
    Data {
        /// `image/png` …
        media_type: &'a str,
        /// Base64.
        data: &'a str,
    },
    /// Somewhere else.
    Url(&'a str),
}

impl<'a> MediaSource<'a> {
    /// Reads an address.
    pub fn of(address: &'a str) -> Self {
        let data = address.strip_prefix("data:").and_then(|rest| {
            let (head, data) = rest.split_once(',')?;
            let media_type = head.strip_suffix(";base64")?;
            let media_type = media_type.split(';').next().unwrap_or_default();
            Some(Self::Data { media_type, data })
        });
        data.unwrap_or(Self::Url(address))
    }
}

/// The address in an `image_url` part.
pub fn image_address(part: &Value) -> Option<&str> {
    if part.get("type")?.as_str()? != "image_url" {
        return None;
    }
    let image = part.get("image_url")?;
    image.as_str().or_else(|| image.get("url")?.as_str())
}

/// An `image_url` part as Anthropic writes it.
pub fn claude_image(part: &Value) -> Option<Value> {
    let source = claude_source(image_address(part)?);
    Some(json!({"type": "image", "source": source}))
}

/// An address as Anthropic writes sources.
pub fn claude_source(address: &str) -> Value {
    match MediaSource::of(address) {
        MediaSource::Data { media_type, data } => {
            json!({"type": "base64", "media_type": media_type, "data": data})
        }
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
    }
}

/// The address of a `file` part's bytes.
pub fn file_address(part: &Value) -> Option<&str> {
    if part.get("type")?.as_str()? != "file" {
        return None;
    }
    let file = part.get("file")?;
    let address = file.get("file_data").or_else(|| file.get("url"));
    address?.as_str()
}

/// The text of a content, its parts joined by lines.
pub fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A part that this provider has no place for.
pub fn not_taken(part: &Value) -> ModelFailure {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("");
    ModelFailure::permanent(format!("a content part of type \"{kind}\" cannot be sent"))
}
