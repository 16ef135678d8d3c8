//! Pictures and files in messages, from OpenAI's shape to others'.

use super::ModelFailure;
use crate::chat::ContentPart;
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

/// A picture as Anthropic writes it.
pub fn claude_image(part: &ContentPart) -> Option<Value> {
    let source = claude_source(part.image_address()?);
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

/// A part that this provider has no place for.
pub fn not_taken(part: &ContentPart) -> ModelFailure {
    let kind = part.kind();
    ModelFailure::permanent(format!("a content part of type \"{kind}\" cannot be sent"))
}
