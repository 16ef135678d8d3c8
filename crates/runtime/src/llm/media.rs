//! Pictures and files in messages, from OpenAI's shape to others'.

use serde_json::{Value, json};

/// What an address of a picture or file holds.
pub enum Source<'a> {
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

impl<'a> Source<'a> {
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
    match Source::of(address) {
        Source::Data { media_type, data } => {
            json!({"type": "base64", "media_type": media_type, "data": data})
        }
        Source::Url(url) => json!({"type": "url", "url": url}),
    }
}
