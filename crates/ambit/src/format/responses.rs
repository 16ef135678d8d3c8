//! `responses`: OpenAI's Responses.

mod call_items;
mod event;
mod event_writer;
mod item;
mod output;
mod response;
mod response_reader;
mod settings;
mod stored;
mod stored_reasoning;
mod text_items;

pub use event::{ResponseEvent, ResponseEventContent};
pub use item::{McpCallError, ResponseItem};
pub use response::ResponseObject;
pub use settings::{
    ClientTool, ConversationName, ResponseRecord, ResponseSettings, echoed_fields, echoed_tool,
};
pub(crate) use stored::{ListedCall, ListedText, stored_call, stored_text};
pub(crate) use stored_reasoning::StoredReasoning;

use super::frames::read;
use super::{Format, FormatBody, FormatEvent, FormatOptions};
use ambit_runtime::stream::StreamEntry;
use response_reader::ResponseReader;

/// A stream of events.
pub fn open(options: &FormatOptions) -> Box<dyn Format> {
    Box::new(ResponsesFormat(ResponseReader::new(options)))
}

struct ResponsesFormat(ResponseReader);

impl Format for ResponsesFormat {
    fn events(&mut self, entry: &StreamEntry) -> Vec<FormatEvent> {
        read(entry).map_or_else(Vec::new, |frame| self.0.read(&frame))
    }

    fn end(&mut self) -> Vec<FormatEvent> {
        vec!["[DONE]".to_owned().into()]
    }
}

/// The Response as far as the log goes.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> FormatBody {
    FormatBody::Response(Box::new(response(entries, options)))
}

/// The same by itself.
pub fn response(entries: &[StreamEntry], options: &FormatOptions) -> ResponseObject {
    read_all(entries, options).into_response()
}

/// How many events come of these entries.
pub fn event_count(entries: &[StreamEntry], options: &FormatOptions) -> u64 {
    read_all(entries, options).event_count()
}

fn read_all(entries: &[StreamEntry], options: &FormatOptions) -> ResponseReader {
    // Nobody reads the events.
    let mut reader = ResponseReader::new(&FormatOptions {
        after_sequence: Some(u64::MAX),
        ..options.clone()
    });
    for frame in entries.iter().filter_map(read) {
        reader.read(&frame);
    }
    reader
}
