//! Messages as they are sent: without what is ours, and with what a server wants back.

use super::super::capabilities::VisionFormat;
use super::super::{media, tool_call_pairing::pair_calls};
use crate::chat::{ChatContent, ChatMessage, ContentPart, ReasoningPart, Role};
use serde_json::Value;

/// Keys that the protocol has. Those that a message has a field for are here for values of another form, which the server
/// is to judge.
const KEYS: &[&str] = &[
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
pub fn encode(messages: &[ChatMessage], dialect: OpenAiDialect) -> Vec<Value> {
    let messages = pair_calls(messages);
    let is_user = |message: &ChatMessage| message.role == Role::User;
    let last_user = messages.iter().rposition(is_user);
    let numbered = messages.into_iter().enumerate();
    let sent = numbered.map(|(at, message)| {
        let is_this_turn = last_user.is_none_or(|last| at > last);
        one(message, is_this_turn, dialect)
    });
    sent.collect()
}

fn one(mut message: ChatMessage, is_this_turn: bool, dialect: OpenAiDialect) -> Value {
    let is_sent = |name: &str, value: &Value| KEYS.contains(&name) && !value.is_null();
    message.extra.retain(|name, value| is_sent(name, value));
    message.client = None;
    // Many servers refuse an assistant's message without this key.
    if message.content == ChatContent::Absent && !message.extra.contains_key("content") {
        message.content = ChatContent::Null;
    }
    if let VisionFormat::Claude = dialect.vision {
        for part in message.content.parts_mut() {
            if let Some(image) = media::claude_image(part) {
                *part = ContentPart::Other(image);
            }
        }
    }
    // OpenAI's newer word for instructions.
    if !dialect.is_original && message.role == Role::Developer {
        message.role = Role::System;
    }
    let thought = message.reasoning_content.take();
    let parts = std::mem::take(&mut message.reasoning_parts);
    let mut sent = message.to_json();
    if is_this_turn {
        reasoning(&parts, thought.as_deref(), &mut sent);
    }
    sent
}

/// A server that thinks between calls of tools wants its own thoughts back while the turn lasts, under its own names.
fn reasoning(parts: &[ReasoningPart], thought: Option<&str>, sent: &mut Value) {
    let mut details = Vec::new();
    for part in parts {
        match part.kind() {
            Some(field @ ("reasoning_content" | "reasoning")) => sent[field] = thought.into(),
            Some("reasoning_details") => details.extend(part.fields.get("detail").cloned()),
            _ => {}
        }
    }
    if !details.is_empty() {
        sent["reasoning_details"] = details.into();
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenAiDialect, encode};
    use crate::chat::ChatMessage;
    use crate::llm::capabilities::VisionFormat;
    use serde_json::{Value, json};

    const FOLLOWER: OpenAiDialect = OpenAiDialect {
        is_original: false,
        vision: VisionFormat::OpenAi,
    };

    fn sent(messages: &[Value], dialect: OpenAiDialect) -> Vec<Value> {
        let messages = ChatMessage::read_all("messages", messages.to_vec());
        encode(&messages.unwrap(), dialect)
    }

    #[test]
    fn what_is_ours_is_not_sent() {
        let message = json!({"role": "assistant", "content": "hi", "reasoning_content": "hm",
            "reasoning_parts": [{"type": "thinking", "thinking": "hm", "signature": "s"}], "extras": 1});
        let messages = [json!({"role": "user", "content": "a"}), message];
        assert_eq!(
            sent(&messages, FOLLOWER),
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
            sent(&messages, FOLLOWER),
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
        assert_eq!(sent(&messages, original), messages);
        let system = json!({"role": "system", "content": "be brief"});
        assert_eq!(sent(&messages, FOLLOWER), [system]);
    }
}
