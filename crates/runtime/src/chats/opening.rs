//! What a chat begins with, in words.

use crate::chat::{ChatMessage, ContentPart, Role};

/// What a part is called of which no text is said, by its kind.
const KINDS: [(&str, &str); 4] = [
    ("image_url", "Image"),
    ("input_audio", "Audio"),
    ("video_url", "Video"),
    ("file", "File"),
];

/// The first text that a person says, else what kind of thing was sent.
pub(crate) fn opening(messages: &[ChatMessage]) -> String {
    let asked = || messages.iter().filter(|chat| chat.role == Role::User);
    let mut texts = asked().map(|chat| chat.content.texts(""));
    let text = texts.find(|text| !text.trim().is_empty());
    let mut parts = asked().flat_map(|chat| chat.content.parts());
    text.or_else(|| parts.find_map(kind)).unwrap_or_default()
}

fn kind(part: &ContentPart) -> Option<String> {
    let named = KINDS.iter().find(|(kind, _)| *kind == part.kind());
    named.map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::opening;
    use crate::chat::ChatMessage;
    use serde_json::{Value, json};

    fn opened(contents: &[Value]) -> String {
        let messages = contents.iter().map(|content| {
            let message = json!({"role": "user", "content": content});
            ChatMessage::read("messages[0]", message).unwrap()
        });
        opening(&messages.collect::<Vec<_>>())
    }

    #[test]
    fn a_chat_begins_with_a_text_and_not_with_a_picture() {
        let picture =
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        let text = json!({"type": "text", "text": "What is this?"});
        let said = "What is this?";
        assert_eq!(opened(&[json!(said)]), said);
        assert_eq!(opened(&[json!([picture, text])]), said);
        assert_eq!(opened(&[json!([picture]), json!(said)]), said);
        assert_eq!(opened(&[json!([picture])]), "Image");
    }

    #[test]
    fn what_has_neither_text_nor_a_known_part_is_called_nothing() {
        assert_eq!(opened(&[]), "");
        assert_eq!(
            opened(&[json!(" "), json!([{"type": "other", "data": "AAAA"}])]),
            ""
        );
        assert_eq!(
            opened(&[json!([{"type": "video_url", "video_url": {"url": "x"}}])]),
            "Video"
        );
    }
}
