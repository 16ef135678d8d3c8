//! Messages as they are sent: without what is ours, and with what a server wants back.

use super::super::capabilities::VisionFormat;
use super::super::{media, tool_call_pairing::pair_calls};
use serde_json::{Map, Value};

/// Keys that the protocol has.
const KEYS: &[&str] = &[
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
];

/// How a server differs from others.
#[derive(Clone, Copy)]
pub struct OpenAiDialect {
    /// It is OpenAI itself, which refuses what others need and knows what others do not.
    pub is_original: bool,
    /// How it wants pictures.
    pub vision: VisionFormat,
}

/// The messages for the server.
pub fn encode(messages: &[Value], dialect: OpenAiDialect) -> Vec<Value> {
    let messages = pair_calls(messages);
    let last_user = messages
        .iter()
        .rposition(|message| message["role"] == "user");
    let numbered = messages.iter().enumerate();
    let sent = numbered.map(|(at, message)| {
        let is_this_turn = last_user.is_none_or(|last| at > last);
        one(message, is_this_turn, dialect)
    });
    sent.collect()
}

fn one(message: &Value, is_this_turn: bool, dialect: OpenAiDialect) -> Value {
    let mut sent = Map::new();
    for key in KEYS {
        let value = message.get(*key).filter(|value| !value.is_null());
        sent.extend(value.map(|value| ((*key).to_owned(), value.clone())));
    }
    // Many servers refuse an assistant's message without this key.
    if !sent.contains_key("content") {
        sent.insert("content".to_owned(), Value::Null);
    }
    if let (VisionFormat::Claude, Some(Value::Array(parts))) =
        (dialect.vision, sent.get_mut("content"))
    {
        for part in parts {
            if let Some(image) = media::claude_image(part) {
                *part = image;
            }
        }
    }
    // OpenAI's newer word for instructions.
    if !dialect.is_original && message["role"] == "developer" {
        sent.insert("role".to_owned(), "system".into());
    }
    if is_this_turn {
        reasoning(message, &mut sent);
    }
    Value::Object(sent)
}

/// A server that thinks between calls of tools wants its own thoughts back while the turn lasts, under its own names.
fn reasoning(message: &Value, sent: &mut Map<String, Value>) {
    let parts = message["reasoning_parts"].as_array();
    let mut details = Vec::new();
    for part in parts.into_iter().flatten() {
        match part["type"].as_str() {
            Some(field @ ("reasoning_content" | "reasoning")) => {
                sent.insert(field.to_owned(), message["reasoning_content"].clone());
            }
            Some("reasoning_details") => details.push(part["detail"].clone()),
            _ => {}
        }
    }
    if !details.is_empty() {
        sent.insert("reasoning_details".to_owned(), details.into());
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenAiDialect, encode};
    use crate::llm::capabilities::VisionFormat;
    use serde_json::json;

    const FOLLOWER: OpenAiDialect = OpenAiDialect {
        is_original: false,
        vision: VisionFormat::OpenAi,
    };

    #[test]
    fn what_is_ours_is_not_sent() {
        let message = json!({"role": "assistant", "content": "hi", "reasoning_content": "hm",
            "reasoning_parts": [{"type": "thinking", "thinking": "hm", "signature": "s"}], "extras": 1});
        let messages = [json!({"role": "user", "content": "a"}), message];
        assert_eq!(
            encode(&messages, FOLLOWER),
            [
                json!({"role": "user", "content": "a"}),
                json!({"role": "assistant", "content": "hi"})
            ]
        );
    }

    #[test]
    fn thoughts_go_back_in_the_turn_they_belong_to() {
        let thought = json!({"role": "assistant", "content": null, "reasoning_content": "hm",
            "reasoning_parts": [{"type": "reasoning_content"}, {"type": "reasoning_details", "detail": {"id": 1}}]});
        let user = json!({"role": "user", "content": "a"});
        let plain = json!({"role": "assistant", "content": null});
        let whole = json!({"role": "assistant", "content": null, "reasoning_content": "hm",
            "reasoning_details": [{"id": 1}]});
        let messages = [user.clone(), thought.clone(), user.clone(), thought];
        assert_eq!(
            encode(&messages, FOLLOWER),
            [user.clone(), plain, user, whole]
        );
    }

    #[test]
    fn only_openai_itself_knows_developers() {
        let messages = [json!({"role": "developer", "content": "be brief"})];
        let original = OpenAiDialect {
            is_original: true,
            ..FOLLOWER
        };
        assert_eq!(encode(&messages, original), messages);
        let system = json!({"role": "system", "content": "be brief"});
        assert_eq!(encode(&messages, FOLLOWER), [system]);
    }
}
