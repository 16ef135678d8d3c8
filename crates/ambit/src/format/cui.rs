//! `cui-web`, `cui-native` and `cui-desktop`: every entry of the log as it is stored.

use super::frames::{read, take};
use super::{Format, FormatOptions, failure};
use ambit_runtime::Frame;
use ambit_runtime::frame::{OutputMessage, OutputMessages};
use ambit_runtime::stream::StreamEntry;
use serde_json::{Map, Value, json};

/// Passes entries through without looking at them.
pub fn open(_options: &FormatOptions) -> Box<dyn Format> {
    Box::new(CuiFormat)
}

struct CuiFormat;

impl Format for CuiFormat {
    fn frames(&mut self, entry: &StreamEntry) -> Vec<String> {
        vec![entry.text.to_string()]
    }

    fn end(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The final messages, and how the turn ended.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> Value {
    let (mut state, mut start, mut end) = (OutputMessages::default(), Map::new(), Map::new());
    let mut failed = None;
    for frame in entries.iter().filter_map(read) {
        match frame.event_name() {
            Some("stream_start") => start = frame.event_data().cloned().unwrap_or_default(),
            Some("stream_end") => {
                failed = failure::of_end(&frame);
                end = frame.event_data().cloned().unwrap_or_default();
            }
            _ => {}
        }
        take(&mut state, &frame);
    }
    let begun = |name: &str| start.get(name).cloned().unwrap_or_default();
    let ended = |name: &str| end.get(name).cloned().unwrap_or_default();
    let mut body = json!({
        "request_id": options.request_id,
        "context_id": begun("context_id"),
        "trace_id": begun("trace_id"),
        "chat_id": begun("chat_id"),
        "assistant_id": options.model,
        "status": ended("status"),
        "messages": state.messages().iter().map(message).collect::<Vec<_>>(),
        "next": ended("next"),
        "usage": ended("usage"),
    });
    if let Some(error) = failed {
        body["error"] = json!({"message": error.message, "code": error.code.as_str()});
    }
    body
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
