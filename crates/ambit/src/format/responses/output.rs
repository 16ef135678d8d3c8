//! The items of an output as they are announced, grow and end, each with the events that tell it.

mod calls;
mod texts;

pub use calls::CallOutcome;

use super::event::{OutputPosition, ResponseEventContent};
use super::event_writer::EventWriter;
use super::item::{ItemStatus, ResponseItem};
use ambit_runtime::public_id;
use std::collections::HashMap;

/// The items that were announced, in order.
pub struct OutputItems {
    request_id: String,
    items: Vec<AnnouncedItem>,
    /// How many items of text each message has.
    texts: HashMap<String, usize>,
    /// The item of text that is open.
    open_text: Option<usize>,
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
    pub fn new(request_id: &str, events: EventWriter) -> Self {
        Self {
            request_id: request_id.to_owned(),
            items: Vec::new(),
            texts: HashMap::new(),
            open_text: None,
            events,
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
