//! The items of an output as they are announced, grow and end, each with the events that tell it.

mod calls;
mod reasoning;
mod texts;

pub use calls::CallOutcome;

use super::event::{OutputPosition, ResponseEventContent};
use super::event_writer::EventWriter;
use super::item::{ItemStatus, ResponseItem};
use crate::format::FormatOptions;
use ambit_runtime::public_id;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The items that were announced, in order.
pub struct OutputItems {
    request_id: String,
    items: Vec<AnnouncedItem>,
    /// How many items of text each message has.
    texts: HashMap<String, usize>,
    /// The item of text that is open.
    open_text: Option<usize>,
    /// Thoughts are told with what the model wants back of them.
    tells_reasoning: bool,
    /// A thought whose text is over, while what the model wants back of it may follow.
    ended_thought: Option<usize>,
    /// What the model wants back and no item tells yet.
    parts: Vec<Map<String, Value>>,
    /// How many items there are of thoughts that show nothing.
    hidden_thoughts: usize,
    pub events: EventWriter,
}

/// An item that was announced.
pub struct AnnouncedItem {
    /// The message that it shows.
    pub message: String,
    pub item: ResponseItem,
    /// What the model wrote as arguments of a call.
    arguments: String,
    progress: ItemProgress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemProgress {
    Open,
    /// All arguments of a call are there.
    Asked,
    Done,
}

impl OutputItems {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            request_id: options.request_id.clone(),
            items: Vec::new(),
            texts: HashMap::new(),
            open_text: None,
            tells_reasoning: options.response.has_encrypted_reasoning,
            ended_thought: None,
            parts: Vec::new(),
            hidden_thoughts: 0,
            events: EventWriter::behind(options.after_sequence),
        }
    }

    /// What was announced so far.
    pub fn announced(&self) -> &[AnnouncedItem] {
        &self.items
    }

    /// The items as they are now.
    pub fn items(&self) -> Vec<ResponseItem> {
        self.items
            .iter()
            .map(|announced| announced.item.clone())
            .collect()
    }

    fn id(&self, prefix: &str, message: &str) -> String {
        public_id::item_id(prefix, &self.request_id, message)
    }

    fn at(&self, index: usize) -> OutputPosition {
        OutputPosition {
            item_id: self.items[index].item.id().to_owned(),
            output_index: index,
        }
    }

    fn announce(&mut self, message: &str, item: ResponseItem) -> usize {
        let output_index = self.items.len();
        let content = ResponseEventContent::Item {
            output_index,
            item: item.clone(),
        };
        self.events.write("response.output_item.added", content);
        self.items.push(AnnouncedItem {
            message: message.to_owned(),
            item,
            arguments: String::new(),
            progress: ItemProgress::Open,
        });
        output_index
    }

    fn done(&mut self, index: usize) {
        self.items[index].progress = ItemProgress::Done;
        let content = ResponseEventContent::Item {
            output_index: index,
            item: self.items[index].item.clone(),
        };
        self.events.write("response.output_item.done", content);
    }

    /// Ends all that is open, cut off.
    pub fn cut_off(&mut self) {
        self.end_text(ItemStatus::Incomplete);
        self.end_thought();
        for index in 0..self.items.len() {
            if self.items[index].progress == ItemProgress::Open {
                self.end_arguments(index, ItemStatus::Incomplete);
            }
            if self.items[index].progress == ItemProgress::Asked {
                self.items[index].item.set_status(ItemStatus::Incomplete);
                self.done(index);
            }
        }
    }
}
