//! What a client that knows only text is shown of a message.

use ambit_runtime::frame::OutputMessage;
use serde_json::Value;

/// Where a message's text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerField {
    /// `content`
    Content,
    /// `reasoning_content`
    Reasoning,
}

/// A message as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageText {
    pub place: AnswerField,
    pub text: String,
    /// A line of its own instead of a paragraph.
    pub is_line: bool,
}

/// The message as text, where it has any.
pub fn text_of(message: &OutputMessage) -> Option<MessageText> {
    let prop = |name: &str| message.props.get(name).and_then(Value::as_str);
    let (place, text) = match message.kind.as_str() {
        "text" => (AnswerField::Content, prop("content")?.to_owned()),
        "thinking" => (AnswerField::Reasoning, prop("content")?.to_owned()),
        "loading" => (AnswerField::Reasoning, prop("message")?.to_owned()),
        "error" => (AnswerField::Content, format!("Error: {}", prop("message")?)),
        "image" => (
            AnswerField::Content,
            image(prop("alt").unwrap_or_default(), prop("url")),
        ),
        "audio" | "video" => (AnswerField::Content, link(message, prop("url")?)),
        "tool_call" | "retrieval" | "action" | "user_input" | "event" => return None,
        _ => match prop("url") {
            Some(url) => (AnswerField::Content, link(message, url)),
            None => (AnswerField::Content, prop("content")?.to_owned()),
        },
    };
    let is_line = message.kind == "loading";
    (!text.is_empty()).then_some(MessageText {
        place,
        text,
        is_line,
    })
}

fn image(alt: &str, url: Option<&str>) -> String {
    match url {
        Some(url) => format!("![{}]({})", label(alt), target(url)),
        None => alt.to_owned(),
    }
}

fn link(message: &OutputMessage, url: &str) -> String {
    let names = ["title", "name", "alt"].iter();
    let name = names
        .filter_map(|name| message.props.get(*name).and_then(Value::as_str))
        .find(|name| !name.is_empty());
    format!(
        "[{}]({})",
        label(name.unwrap_or(&message.kind)),
        target(url)
    )
}

/// Text that cannot end the brackets around it.
fn label(text: &str) -> String {
    let mut label = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '[' | ']' | '\\' => label.extend(['\\', letter]),
            '\n' | '\r' => label.push(' '),
            other => label.push(other),
        }
    }
    label
}

/// An address that cannot end the parentheses around it.
fn target(url: &str) -> String {
    let mut target = String::with_capacity(url.len());
    for letter in url.chars() {
        match letter {
            ' ' | '(' | ')' | '<' | '>' | '\n' | '\r' | '\t' => {
                target.push_str(&format!("%{:02X}", u32::from(letter)));
            }
            other => target.push(other),
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::{AnswerField, text_of};
    use ambit_runtime::frame::OutputMessage;
    use serde_json::{Value, json};

    fn message(kind: &str, props: &Value) -> OutputMessage {
        OutputMessage {
            kind: kind.to_owned(),
            props: props.as_object().cloned().unwrap_or_default(),
            ..OutputMessage::default()
        }
    }

    fn text(kind: &str, props: &Value) -> Option<String> {
        text_of(&message(kind, props)).map(|shown| shown.text)
    }

    #[test]
    fn media_are_markdown() {
        let image = text(
            "image",
            &json!({"url": "https://a/b (1).png", "alt": "a [b]"}),
        );
        assert_eq!(
            image.as_deref(),
            Some(r"![a \[b\]](https://a/b%20%281%29.png)")
        );
        let audio = text("audio", &json!({"url": "https://a/b.mp3"}));
        assert_eq!(audio.as_deref(), Some("[audio](https://a/b.mp3)"));
        let own = text("download", &json!({"url": "/f", "title": "The file"}));
        assert_eq!(own.as_deref(), Some("[The file](/f)"));
    }

    #[test]
    fn an_image_without_an_address_is_its_description() {
        assert_eq!(
            text("image", &json!({"alt": "a cat"})).as_deref(),
            Some("a cat")
        );
        assert_eq!(text("image", &json!({})), None);
        assert_eq!(text("video", &json!({})), None);
    }

    #[test]
    fn own_types_show_their_content_if_it_is_text() {
        assert_eq!(text("note", &json!({"content": "x"})).as_deref(), Some("x"));
        assert_eq!(text("note", &json!({"content": {"a": 1}})), None);
        assert_eq!(text("table", &json!({"rows": []})), None);
    }

    #[test]
    fn thoughts_and_progress_are_reasoning() {
        for kind in ["thinking", "loading"] {
            let message = message(kind, &json!({"content": "x", "message": "x"}));
            let found = text_of(&message).map(|shown| (shown.place, shown.is_line));
            assert_eq!(found, Some((AnswerField::Reasoning, kind == "loading")));
        }
    }
}
