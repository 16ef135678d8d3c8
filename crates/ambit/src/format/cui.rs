//! `cui-web`, `cui-native` and `cui-desktop`: every entry of the log as it is stored.

use super::frames::{StreamStart, apply_or_log, read, usage};
use super::{Format, FormatBody, FormatEvent, FormatOptions, failure};
use ambit_runtime::frame::{OutputMessage, OutputMessages, TurnEvent};
use ambit_runtime::llm::TokenUsage;
use ambit_runtime::stream::StreamEntry;
use ambit_runtime::{Error, Frame};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Passes entries through, but for those that tell a client of another protocol what a provider wants back.
pub fn open(_options: &FormatOptions) -> Box<dyn Format> {
    Box::new(CuiFormat)
}

struct CuiFormat;

impl Format for CuiFormat {
    fn events(&mut self, entry: &StreamEntry) -> Vec<FormatEvent> {
        match is_of_provider(entry) {
            true => Vec::new(),
            false => vec![entry.text.to_string().into()],
        }
    }

    fn end(&mut self) -> Vec<FormatEvent> {
        Vec::new()
    }
}

/// Whether an entry tells what a provider wants back of its model's reasoning. Few entries are read for that.
fn is_of_provider(entry: &StreamEntry) -> bool {
    let is_told = |frame: &Frame| {
        let event = TurnEvent::read(frame);
        matches!(event, Some(TurnEvent::ReasoningPart(_)))
    };
    entry.text.contains("reasoning_part") && read(entry).as_ref().is_some_and(is_told)
}

/// The answer to a request that does not stream.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct CuiAnswer {
    /// The turn.
    request_id: String,
    /// The run context.
    context_id: Option<String>,
    /// The trace.
    trace_id: Option<String>,
    /// The chat's name.
    chat_id: Option<String>,
    /// The agent.
    assistant_id: String,
    /// How the turn ended.
    status: Option<String>,
    /// The messages in their final state.
    messages: Vec<Frame>,
    /// What the agent's `Next` hook gave.
    next: Value,
    /// What was spent.
    usage: Option<TokenUsage>,
    /// Why the turn failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CuiFailure>,
}

/// Why a turn failed.
#[derive(Debug, Serialize, ToSchema)]
struct CuiFailure {
    /// What failed, for which input, and what would help.
    message: String,
    /// The failure by meaning.
    code: String,
}

/// The final messages, and how the turn ended.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> FormatBody {
    let (mut state, mut start) = (OutputMessages::default(), StreamStart::default());
    let mut answer = CuiAnswer {
        request_id: options.request_id.clone(),
        assistant_id: options.model.clone(),
        ..CuiAnswer::default()
    };
    for frame in entries.iter().filter_map(read) {
        match TurnEvent::read(&frame) {
            Some(TurnEvent::StreamStart(event)) => start = StreamStart::from(&event),
            Some(TurnEvent::StreamEnd(end)) => {
                answer.status = end.status.map(str::to_owned);
                answer.usage = usage(&end);
                answer.next = end.next.cloned().unwrap_or_default();
                answer.error = failure::of_end(&end).map(CuiFailure::from);
            }
            _ => {}
        }
        apply_or_log(&mut state, &frame);
    }
    FormatBody::Cui(Box::new(CuiAnswer {
        context_id: start.context_id,
        trace_id: start.trace_id,
        chat_id: start.chat_id,
        messages: state.messages().iter().map(message).collect(),
        ..answer
    }))
}

impl From<Error> for CuiFailure {
    fn from(error: Error) -> Self {
        Self {
            message: error.message,
            code: error.code.as_str().to_owned(),
        }
    }
}

/// A message as a whole, in the shape of a frame without a delta.
fn message(shown: &OutputMessage) -> Frame {
    Frame {
        kind: shown.kind.clone(),
        props: shown.props.clone(),
        message_id: Some(shown.message_id.clone()),
        block_id: shown.block_id.clone(),
        thread_id: shown.thread_id.clone(),
        metadata: shown.metadata.clone(),
        ..Frame::default()
    }
}
