//! The whole answer at once, from the final state of the messages.

use super::completion_id;
use super::completion_state::{CompletionState, TurnEnding};
use super::message_text::{CompletionField, text_of};
use super::text_queue::{TextPiece, TextQueue};
use crate::format::frames::read;
use crate::format::{FormatOptions, failure};
use ambit_runtime::stream::StreamEntry;
use serde_json::{Value, json};

/// A `chat.completion`; an error in OpenAI's shape if the turn failed.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> Value {
    let mut reading = CompletionState::new(options);
    for frame in entries.iter().filter_map(read) {
        if frame.kind == "event" {
            reading.event(&frame);
        } else {
            reading.frame(&frame);
        }
    }
    let ending = reading.ending.take();
    if let Some(error) = ending.as_ref().and_then(|ending| ending.failure.as_ref()) {
        return failure::error_body(error);
    }
    completion(&reading, ending.as_ref(), options)
}

fn completion(
    reading: &CompletionState,
    ending: Option<&TurnEnding>,
    options: &FormatOptions,
) -> Value {
    let begun = |name: &str| reading.start.get(name).cloned().unwrap_or_default();
    json!({
        "id": completion_id(options),
        "object": "chat.completion",
        "created": options.created,
        "model": options.model,
        "choices": [{
            "index": 0,
            "message": message(reading),
            "finish_reason": ending.map_or("stop", |ending| ending.finish_reason),
        }],
        "usage": ending.map(|ending| &ending.usage),
        "ambit": {
            "request_id": options.request_id,
            "context_id": begun("context_id"),
            "chat_id": begun("chat_id"),
            "trace_id": begun("trace_id"),
            "next": ending.map(|ending| &ending.next),
        },
    })
}

fn message(reading: &CompletionState) -> Value {
    let content = text(reading, CompletionField::Content);
    let reasoning = text(reading, CompletionField::Reasoning);
    let mut message = json!({"role": "assistant", "content": content});
    if content.is_empty() && !reading.calls.is_empty() {
        message["content"] = Value::Null;
    }
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !reading.calls.is_empty() {
        message["tool_calls"] = reading.calls.all().into();
    }
    message
}

/// The final texts in the order in which a stream shows them.
fn text(reading: &CompletionState, place: CompletionField) -> String {
    let mut channel = TextQueue::default();
    let mut text = String::new();
    for (_, index) in reading.order.iter().filter(|(shown, _)| *shown == place) {
        let message = &reading.state.messages()[*index];
        let Some(shown) = text_of(message).filter(|shown| shown.place == place) else {
            continue;
        };
        channel.push(&TextPiece {
            message: &message.message_id,
            thread: message.thread_id.as_deref(),
            text: &shown.text,
            is_new: true,
            is_line: shown.is_line,
        });
        channel.close(&message.message_id);
        text.push_str(&channel.ready());
    }
    text
}
