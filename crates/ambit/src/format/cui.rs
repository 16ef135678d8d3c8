//! `cui-web`, `cui-native` and `cui-desktop`: every entry of the log as it is stored.

use super::frames::{StreamStart, apply_or_log, read, text, usage};
use super::{Format, FormatBody, FormatEvent, FormatOptions, failure};
use ambit_runtime::Frame;
use ambit_runtime::frame::{OutputMessage, OutputMessages};
use ambit_runtime::llm::TokenUsage;
use ambit_runtime::stream::StreamEntry;
use serde::Serialize;
use serde_json::{Map, Value};
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
    let name = "reasoning_part";
    entry.text.contains(name) && read(entry).is_some_and(|frame| frame.event_name() == Some(name))
}

/// The answer to a request that does not stream.
#[derive(Debug, Serialize, ToSchema)]
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
    let (mut state, mut start, mut end) = (
        OutputMessages::default(),
        StreamStart::default(),
        Map::new(),
    );
    let mut failed = None;
    for frame in entries.iter().filter_map(read) {
        match frame.event_name() {
            Some("stream_start") => {
                start = frame.event_data().map(StreamStart::of).unwrap_or_default();
            }
            Some("stream_end") => {
                failed = failure::of_end(&frame);
                end = frame.event_data().cloned().unwrap_or_default();
            }
            _ => {}
        }
        apply_or_log(&mut state, &frame);
    }
    FormatBody::Cui(Box::new(CuiAnswer {
        request_id: options.request_id.clone(),
        context_id: start.context_id,
        trace_id: start.trace_id,
        chat_id: start.chat_id,
        assistant_id: options.model.clone(),
        status: text(&end, "status"),
        messages: state.messages().iter().map(message).collect(),
        usage: usage(&end),
        next: end.remove("next").unwrap_or_default(),
        error: failed.map(|error| CuiFailure {
            message: error.message,
            code: error.code.as_str().to_owned(),
        }),
    }))
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
