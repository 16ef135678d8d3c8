//! What a person says, as parts of UI messages.

use super::media_type;
use serde_json::{Value, json};

/// The text and file parts of content in OpenAI's shape; what is neither is left out.
pub fn user_parts(content: &[Value]) -> Vec<Value> {
    content.iter().filter_map(part).collect()
}

fn part(content: &Value) -> Option<Value> {
    let file = |media_type: String, url: &str| {
        (!url.is_empty()).then(|| json!({"type": "file", "mediaType": media_type, "url": url}))
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = content["type"].as_str().unwrap_or_default();
    let inner = &content[kind];
    let url = match inner {
        Value::String(url) => url.clone(),
        inner => text(&inner["url"]),
    };
    match kind {
        "text" => Some(json!({"type": "text", "text": inner})),
        "image_url" => file(media_type::of_url("image", &url), &url),
        "video_url" => file(media_type::of_url("video", &url), &url),
        "input_audio" => {
            let format = text(&inner["format"]);
            let media_type = format!("audio/{}", if format == "mp3" { "mpeg" } else { &format });
            let url = format!("data:{media_type};base64,{}", text(&inner["data"]));
            file(media_type, &url)
        }
        "file" => {
            let data = text(&inner["file_data"]);
            let url = if data.is_empty() { url } else { data };
            let mut part = file(media_type::of_url("application", &url), &url)?;
            if let Some(name) = inner["filename"].as_str() {
                part["filename"] = name.into();
            }
            Some(part)
        }
        _ => None,
    }
}
