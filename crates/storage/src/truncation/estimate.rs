//! How many tokens a message has, about: nobody but the provider knows, and its report is used where there is one.

use super::STANDS_FOR;
use crate::copies::COPIED_FROM;
use crate::message::Message;
use serde_json::Value;

/// What a picture, a sound or a document counts. An encoded one would count hundreds of times that by its length.
pub const MEDIA: u64 = 1_600;
/// What a message costs beside its content.
const FRAME: u64 = 4;
/// A longer text without a space, in a part that is not text, is taken for encoded media.
const LONGEST_WORD: usize = 1_024;

/// Tokens of a message, about. Four ASCII letters of text are a token, three of JSON (which has more signs), and each
/// other letter is one: right for Chinese, too much for Cyrillic. What only Ambit reads is free.
pub fn estimate(message: &Message) -> u64 {
    let parts = message.parts.iter().map(part);
    let calls = message.tool_calls.iter().map(|call| {
        let said = text(&call.name, 4) + json(&call.arguments, false);
        said + FRAME
            + call
                .extras
                .values()
                .map(|value| json(value, true))
                .sum::<u64>()
    });
    let result = message.tool_result.iter().map(|result| {
        let said = json(&result.content, false) + FRAME;
        said + result
            .extras
            .values()
            .map(|value| json(value, true))
            .sum::<u64>()
    });
    let extras = message.extras.iter();
    let extras = extras.filter(|(name, _)| *name != STANDS_FOR && *name != COPIED_FROM);
    let extras = extras.map(|(_, value)| json(value, true));
    FRAME + parts.chain(calls).chain(result).chain(extras).sum::<u64>()
}

/// Tokens of a message that is this text and nothing else, about: what `estimate` tells of it.
pub fn estimate_text_message(text: &str) -> u64 {
    FRAME + estimate_text(text)
}

/// Tokens of a plain text, about.
pub fn estimate_text(said: &str) -> u64 {
    text(said, 4)
}

fn part(part: &Value) -> u64 {
    match part.get("text").and_then(Value::as_str) {
        Some(said) => estimate_text(said),
        None => json(part, true),
    }
}

/// The depth is bounded by the parser that the value came through.
fn json(value: &Value, may_be_media: bool) -> u64 {
    match value {
        Value::String(said) if may_be_media && is_encoded(said) => MEDIA,
        Value::String(said) => text(said, 3),
        Value::Array(items) => {
            1 + items
                .iter()
                .map(|item| json(item, may_be_media))
                .sum::<u64>()
        }
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| text(name, 3) + json(value, may_be_media);
            1 + fields.iter().map(field).sum::<u64>()
        }
        Value::Number(number) => text(&number.to_string(), 3),
        Value::Null | Value::Bool(_) => 1,
    }
}

fn is_encoded(text: &str) -> bool {
    text.len() > LONGEST_WORD
        && text.is_ascii()
        && !text.contains(|sign: char| sign.is_whitespace())
}

fn text(text: &str, letters: u64) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let others = text.chars().filter(|sign| !sign.is_ascii()).count() as u64;
    ascii.div_ceil(letters) + others
}

#[cfg(test)]
mod tests {
    use super::{MEDIA, estimate};
    use crate::storage::{Message, ToolCall};
    use serde_json::json;

    #[test]
    fn text_json_and_media_count_by_their_kind() {
        let mut picture = Message::user("");
        picture.parts = vec![json!({"image": "x".repeat(100_000)})];
        let mut silent = Message::user("12345678");
        silent.usage = Some(json!({"total_tokens": 1_000_000}));
        silent.metadata = Some(json!("x".repeat(1_000)));
        let cases = [
            (Message::user(""), 4),
            (silent, 4 + 2),
            (Message::user("日本語"), 4 + 3),
            (
                Message::calling([ToolCall::new("c", "find", "123456")]),
                4 + 1 + 2 + 4,
            ),
            (Message::result("c", "x".repeat(3_000)), 4 + 1_000 + 4),
            (picture, 4 + 1 + 2 + MEDIA),
        ];
        for (message, expected) in cases {
            assert_eq!(estimate(&message), expected, "{message:?}");
        }
    }
}
