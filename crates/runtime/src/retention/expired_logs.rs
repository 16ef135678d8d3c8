//! How much of what turns have left is over.

use super::{ExpiryNote, TurnLogKind, name};
use crate::error::Result;
use ambit_storage::address::Space;
use ambit_storage::clock::Millis;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;

/// Logs of turns whose time is over, which go while a server runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpiredTurnLogs {
    /// Streams.
    pub streams: u64,
    /// Traces.
    pub traces: u64,
}

impl ExpiredTurnLogs {
    /// Counts those of a store, for a time. Nothing is dropped.
    pub async fn count(driver: &dyn Driver, now: Millis) -> Result<Self> {
        let mut counted = Self::default();
        // What is due at this time is behind it, whatever its turn is called.
        let end = name(now.saturating_add(1), "");
        let space = Space::ended_turns();
        let mut pages = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Whole);
        while let Some(page) = pages.next().await? {
            for (name, entry) in page {
                if name >= end {
                    return Ok(counted);
                }
                counted.add(&entry.value.to()?, now);
            }
        }
        Ok(counted)
    }

    fn add(&mut self, note: &ExpiryNote, now: Millis) {
        let later = note.later.range(..=now).flat_map(|(_, parts)| parts);
        for part in note.parts.iter().chain(later) {
            match part {
                TurnLogKind::Stream => self.streams += 1,
                TurnLogKind::Trace => self.traces += 1,
            }
        }
    }
}
