//! What a model wants back of its reasoning, in the item of the thought that it comes with.

use super::OutputItems;
use crate::format::provider_reasoning::encode;
use crate::format::responses::item::{ItemStatus, ReasoningItem, ResponseItem, hidden_thought};
use serde_json::{Map, Value};

impl OutputItems {
    /// Takes what the model wants back, where the request asks for it. It goes into the item of the thought that is open or was the
    /// last, else into an item that shows nothing.
    pub fn reasoning_part(&mut self, part: Map<String, Value>) {
        let last = self.items.last().map(|announced| &announced.item);
        // A client gives this call back with its result: what comes behind both belongs to the next answer.
        let is_behind_call = matches!(last, Some(ResponseItem::McpCall(_)));
        if self.tells_reasoning && !is_behind_call {
            self.parts.push(part);
        }
    }

    /// The last thought is whole. While a text is open, what belongs to no thought waits for its end.
    pub(super) fn end_thought(&mut self) {
        let index = match self.ended_thought.take() {
            Some(index) => index,
            None if self.parts.is_empty() || self.open_text.is_some() => return,
            None => self.announce_hidden_thought(),
        };
        if let ResponseItem::Reasoning(item) = &mut self.items[index].item
            && !self.parts.is_empty()
        {
            // Its summary may be changed or left out by whoever brings it along again: the text says all by itself.
            item.encrypted_content = Some(encode(std::mem::take(&mut self.parts), ""));
        }
        self.done(index);
    }

    fn announce_hidden_thought(&mut self) -> usize {
        self.hidden_thoughts += 1;
        let name = hidden_thought(self.hidden_thoughts);
        let item = ReasoningItem {
            status: ItemStatus::InProgress,
            ..ReasoningItem::hidden(self.id("rs", &name))
        };
        let index = self.announce(&name, ResponseItem::Reasoning(item));
        self.items[index].item.set_status(ItemStatus::Completed);
        index
    }
}
