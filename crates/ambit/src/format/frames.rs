//! Frames of a log, applied as a client applies them.

use ambit_runtime::Frame;
use ambit_runtime::frame::{OutputMessages, StreamEndEvent, StreamStartEvent, apply};
use ambit_runtime::llm::{ModelUsage, TokenUsage};
use ambit_runtime::stream::StreamEntry;
use ambit_runtime::without_quotes;
use serde::Deserialize;
use std::borrow::Cow;

/// An entry's frame. One that cannot be read is told to whoever looks after the server; the stream goes on without it.
pub fn read(entry: &StreamEntry) -> Option<Frame> {
    serde_json::from_str(&entry.text)
        .inspect_err(|error| {
            let why = without_quotes(&error.to_string());
            tracing::error!(
                entry = entry.number,
                error.message = why,
                "an entry of a stream cannot be read"
            );
        })
        .ok()
}

/// What kind of message or event an entry is of, without reading the rest of it.
pub fn kind(entry: &StreamEntry) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct FrameKind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    let kind: FrameKind<'_> = serde_json::from_str(&entry.text).ok()?;
    Some(kind.kind)
}

/// What the beginning of a stream says of its turn.
#[derive(Clone, Debug, Default)]
pub struct StreamStart {
    /// The run context.
    pub context_id: Option<String>,
    /// The chat's name.
    pub chat_id: Option<String>,
    /// The trace.
    pub trace_id: Option<String>,
}

impl From<&StreamStartEvent<'_>> for StreamStart {
    fn from(start: &StreamStartEvent<'_>) -> Self {
        Self {
            context_id: start.context_id.map(str::to_owned),
            chat_id: start.chat_id.map(str::to_owned),
            trace_id: start.trace_id.map(str::to_owned),
        }
    }
}

/// What a turn has spent.
pub fn usage(end: &StreamEndEvent<'_>) -> Option<TokenUsage> {
    TokenUsage::deserialize(end.usage?).ok()
}

/// What a turn has spent, model by model. Streams of earlier versions say only the sum.
pub fn model_usage(end: &StreamEndEvent<'_>) -> Vec<ModelUsage> {
    let by_model = end.usage_by_model;
    if let Some(Ok(by_model)) = by_model.map(Vec::deserialize) {
        return by_model;
    }
    let usage = usage(end).filter(|usage| *usage != TokenUsage::default());
    let sum = usage.map(|usage| ModelUsage {
        usage,
        ..ModelUsage::default()
    });
    sum.into_iter().collect()
}

/// Applies a frame. One that does not fit is told likewise, and changes nothing.
pub fn apply_or_log(state: &mut OutputMessages, frame: &Frame) {
    if let Err(problem) = apply(state, frame) {
        let message = frame.message_id.as_deref().unwrap_or_default();
        tracing::error!(message, %problem, "a frame of a stream does not fit its message");
    }
}
