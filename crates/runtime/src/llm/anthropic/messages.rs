//! Messages as Anthropic has them: instructions apart, two roles by turns, results of tools in what the user says.

use super::super::tool_call_pairing::{arguments, pair_calls};
use super::super::{ModelFailure, media};
use crate::chat::{
    ChatContent, ChatMessage, ContentPart, ReasoningPart, ResponseFormat, Role, ToolCall,
};
use serde_json::{Value, json};

/// A conversation to be sent.
#[derive(Debug, PartialEq)]
pub struct AnthropicConversation {
    /// All instructions.
    pub system: String,
    /// What was said.
    pub messages: Vec<Value>,
    /// The model has called tools in this turn without thinking before: it may not begin now.
    pub lacks_thinking: bool,
}

/// The conversation for the provider. A format of the answer is asked for in words: not every model has it built in.
pub fn encode(
    messages: &[ChatMessage],
    format: Option<&ResponseFormat>,
) -> Result<AnthropicConversation, ModelFailure> {
    let mut system = Vec::new();
    let mut sent = Vec::new();
    let mut lacks_thinking = false;
    for message in &pair_calls(messages) {
        match message.role {
            Role::System | Role::Developer => system.push(message.content.texts("\n")),
            Role::Assistant => {
                let has_thought = message.reasoning_parts.iter().any(is_thought);
                lacks_thinking |= !message.tool_calls.is_empty() && !has_thought;
                add(&mut sent, "assistant", assistant(message));
            }
            Role::Tool => add(&mut sent, "user", vec![result(message)?]),
            Role::User => {
                lacks_thinking = false;
                add(&mut sent, "user", blocks(&message.content)?);
            }
        }
    }
    system.extend(format.and_then(instruction));
    system.retain(|text| !text.trim().is_empty());
    if sent
        .first()
        .is_none_or(|first: &Value| first["role"] != "user")
    {
        let begin = json!([{"type": "text", "text": "…"}]);
        sent.insert(0, json!({"role": "user", "content": begin}));
    }
    Ok(AnthropicConversation {
        system: system.join("\n\n"),
        messages: sent,
        lacks_thinking,
    })
}

/// Puts blocks behind the others: in one message as long as the same one speaks.
fn add(sent: &mut Vec<Value>, role: &str, blocks: Vec<Value>) {
    if blocks.is_empty() {
        return;
    }
    let last = sent.last_mut().filter(|last| last["role"] == role);
    match last.and_then(|last| last["content"].as_array_mut()) {
        Some(content) => content.extend(blocks),
        None => sent.push(json!({"role": role, "content": blocks})),
    }
}

fn is_thought(part: &ReasoningPart) -> bool {
    matches!(part.kind(), Some("thinking" | "redacted_thinking"))
}

/// What the model said, its own thoughts at their places.
fn assistant(message: &ChatMessage) -> Vec<Value> {
    let text = message.content.texts("\n");
    let calls = &message.tool_calls;
    let mut blocks = Vec::new();
    let (mut text_end, mut calls_end) = (0, 0);
    for part in message
        .reasoning_parts
        .iter()
        .filter(|part| is_thought(part))
    {
        let mut fields = part.fields.clone();
        let behind = fields.shift_remove("behind").unwrap_or_default();
        let position = |key: &str| {
            let position = behind[key].as_u64();
            position.and_then(|position| usize::try_from(position).ok())
        };
        let to = text
            .floor_char_boundary(position("text").unwrap_or(0))
            .max(text_end);
        blocks.extend(text_block(&text[text_end..to]));
        text_end = to;
        let to = position("calls")
            .unwrap_or(0)
            .clamp(calls_end, calls.len().max(calls_end));
        blocks.extend(calls[calls_end..to].iter().map(tool_use));
        calls_end = to;
        blocks.push(fields.into());
    }
    blocks.extend(text_block(&text[text_end..]));
    blocks.extend(calls[calls_end..].iter().map(tool_use));
    blocks
}

/// Empty texts are refused.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn tool_use(call: &ToolCall) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call)})
}

fn result(message: &ChatMessage) -> Result<Value, ModelFailure> {
    let content = blocks(&message.content)?;
    let mut block = json!({"type": "tool_result", "tool_use_id": message.tool_call_id});
    if !content.is_empty() {
        block["content"] = content.into();
    }
    Ok(block)
}

fn blocks(content: &ChatContent) -> Result<Vec<Value>, ModelFailure> {
    match content {
        ChatContent::Absent | ChatContent::Null => Ok(Vec::new()),
        ChatContent::Text(text) => Ok(text_block(text).into_iter().collect()),
        ChatContent::Parts(parts) => {
            let blocks = parts.iter().filter_map(|part| block(part).transpose());
            blocks.collect()
        }
    }
}

fn block(part: &ContentPart) -> Result<Option<Value>, ModelFailure> {
    if let Some(image) = media::claude_image(part) {
        return Ok(Some(image));
    }
    if let Some(address) = part.file_address() {
        let source = media::claude_source(address);
        return Ok(Some(json!({"type": "document", "source": source})));
    }
    match part.text() {
        Some(text) => Ok(text_block(text)),
        None => Err(media::not_taken(part)),
    }
}

fn instruction(format: &ResponseFormat) -> Option<String> {
    match format.kind.as_str() {
        "json_object" => Some("Answer with one JSON object and nothing else.".to_owned()),
        "json_schema" => {
            let schema = format.schema().unwrap_or(&Value::Null);
            Some(format!(
                "Answer with JSON that this schema accepts, and nothing else: {schema}"
            ))
        }
        _ => None,
    }
}
