//! The timers of one run.

use std::collections::BTreeSet;
use std::time::Instant;

#[derive(Default)]
pub struct RunTimers {
    waiting: BTreeSet<(Instant, u32)>,
    /// How many may wait at once.
    pub limit: usize,
    /// The instant for which the run has already asked to be woken.
    pub asked: Option<Instant>,
}

impl RunTimers {
    /// Adds a timer; false if there are too many.
    pub fn add(&mut self, at: Instant, id: u32) -> bool {
        let fits = self.waiting.len() < self.limit;
        if fits {
            self.waiting.insert((at, id));
        }
        fits
    }

    pub fn remove(&mut self, id: u32) {
        self.waiting.retain(|(_, other)| *other != id);
    }

    /// The next timer whose time has come.
    pub fn due(&mut self) -> Option<u32> {
        let first = *self.waiting.first()?;
        if first.0 > Instant::now() {
            return None;
        }
        self.waiting.remove(&first);
        Some(first.1)
    }

    /// When the next timer fires.
    pub fn next(&self) -> Option<Instant> {
        self.waiting.first().map(|(at, _)| *at)
    }

    /// Forgets all timers; returns how many there were.
    pub fn clear(&mut self) -> usize {
        std::mem::take(&mut self.waiting).len()
    }
}
