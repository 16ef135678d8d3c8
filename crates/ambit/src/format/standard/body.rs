//! The whole answer at once, from the final state of the messages.

use super::completion_id;
use crate::format::answer::{AnswerField, AnswerState, CompletionToolCall, TurnEnding};
use crate::format::frames::read;
use crate::format::{FormatBody, FormatOptions, TurnFailure};
use ambit_runtime::llm::TokenUsage;
use ambit_runtime::stream::StreamEntry;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// OpenAI's answer to a request that does not stream.
#[derive(Debug, Serialize, ToSchema)]
pub struct Completion {
    id: String,
    /// `chat.completion`.
    object: &'static str,
    /// Seconds since 1970.
    created: i64,
    /// The agent.
    model: String,
    /// The one answer.
    choices: [CompletionChoice; 1],
    /// What was spent.
    usage: Option<TokenUsage>,
    /// What OpenAI's shape has no place for.
    ambit: TurnNames,
}

/// An answer.
#[derive(Debug, Serialize, ToSchema)]
struct CompletionChoice {
    /// 0.
    index: u64,
    message: CompletionMessage,
    /// Why the answer ended: `stop`, `length`, `content_filter` or `tool_calls`.
    finish_reason: &'static str,
}

/// What the agent says.
#[derive(Debug, Serialize, ToSchema)]
struct CompletionMessage {
    /// `assistant`.
    role: &'static str,
    /// The text; nothing where there are only calls.
    content: Option<String>,
    /// What the model thought, as far as it is shown.
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
    /// Calls of tools that the client runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CompletionToolCall>,
}

/// What OpenAI's shape has no place for.
#[derive(Debug, Serialize, ToSchema)]
struct TurnNames {
    /// The turn.
    request_id: String,
    /// The run context.
    context_id: Option<String>,
    /// The chat's name.
    chat_id: Option<String>,
    /// The trace.
    trace_id: Option<String>,
    /// What the agent's `Next` hook gave.
    next: Option<Value>,
}

/// A `chat.completion`; an error in OpenAI's shape if the turn failed.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> FormatBody {
    let mut reading = AnswerState::new(options);
    for frame in entries.iter().filter_map(read) {
        reading.read(&frame);
    }
    let ending = reading.ending.take();
    if let Some(error) = ending.as_ref().and_then(|ending| ending.failure.as_ref()) {
        return FormatBody::Failure(TurnFailure::from(error));
    }
    FormatBody::Completion(Box::new(completion(&reading, ending, options)))
}

fn completion(
    reading: &AnswerState,
    ending: Option<TurnEnding>,
    options: &FormatOptions,
) -> Completion {
    let start = reading.start.clone();
    let (finish_reason, usage, next) = match ending {
        None => ("stop", None, None),
        Some(ending) => (ending.finish_reason, Some(ending.usage), Some(ending.next)),
    };
    Completion {
        id: completion_id(options),
        object: "chat.completion",
        created: options.created,
        model: options.model.clone(),
        choices: [CompletionChoice {
            index: 0,
            message: message(reading),
            finish_reason,
        }],
        usage,
        ambit: TurnNames {
            request_id: options.request_id.clone(),
            context_id: start.context_id,
            chat_id: start.chat_id,
            trace_id: start.trace_id,
            next,
        },
    }
}

fn message(reading: &AnswerState) -> CompletionMessage {
    let content = reading.text(AnswerField::Content);
    let has_only_calls = content.is_empty() && !reading.calls.is_empty();
    CompletionMessage {
        role: "assistant",
        content: (!has_only_calls).then_some(content),
        reasoning_content: reading.text(AnswerField::Reasoning),
        tool_calls: reading.calls.all().to_vec(),
    }
}
