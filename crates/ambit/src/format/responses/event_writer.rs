//! Numbers events and writes them.

use super::event::{ResponseEvent, ResponseEventContent};
use crate::format::FormatEvent;

/// Counts the events of a stream from 0, and writes those that its reader does not have.
pub struct EventWriter {
    next: u64,
    /// The reader has the events up to this one.
    after: Option<u64>,
    written: Vec<FormatEvent>,
}

impl EventWriter {
    /// Writes what comes behind this event, or everything.
    pub fn behind(after: Option<u64>) -> Self {
        Self {
            next: 0,
            after,
            written: Vec::new(),
        }
    }

    /// One more event.
    pub fn write(&mut self, kind: &'static str, content: ResponseEventContent) {
        let sequence_number = self.next;
        self.next += 1;
        if self.after.is_some_and(|after| sequence_number <= after) {
            return;
        }
        let event = ResponseEvent {
            kind,
            sequence_number,
            content,
        };
        self.written.push(FormatEvent {
            name: Some(kind),
            // Only a map with keys that are no text could fail.
            data: serde_json::to_string(&event).unwrap_or_default(),
        });
    }

    /// How many events there are so far, known to the reader or not.
    pub fn count(&self) -> u64 {
        self.next
    }

    /// What was written since the last time.
    pub fn drain(&mut self) -> Vec<FormatEvent> {
        std::mem::take(&mut self.written)
    }
}
