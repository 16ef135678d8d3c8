//! `ag-ui`: the events of AG-UI 1.0, as CopilotKit and other frontends read them.

mod activity_patch;
mod event;
mod message_view;
mod message_views;
mod run_reader;
mod subagents;

pub use event::AgUiEvent;

use super::frames::read;
use super::{Format, FormatBody, FormatEvent, FormatOptions};
use ambit_runtime::stream::StreamEntry;
use run_reader::RunReader;

/// A stream of events.
pub fn open(options: &FormatOptions) -> Box<dyn Format> {
    Box::new(AgUiFormat(RunReader::new(options)))
}

struct AgUiFormat(RunReader);

impl Format for AgUiFormat {
    fn events(&mut self, entry: &StreamEntry) -> Vec<FormatEvent> {
        let events = read(entry).map(|frame| self.0.read(&frame));
        let events = events.into_iter().flatten();
        // Only a map with keys that are no text could fail.
        let texts = events.map(|event| serde_json::to_string(&event).unwrap_or_default());
        texts.map(FormatEvent::from).collect()
    }

    fn end(&mut self) -> Vec<FormatEvent> {
        Vec::new()
    }
}

/// All events as one list.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> FormatBody {
    let mut reader = RunReader::new(options);
    let frames = entries.iter().filter_map(read);
    FormatBody::AgUi(frames.flat_map(|frame| reader.read(&frame)).collect())
}
