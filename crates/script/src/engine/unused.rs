//! Things kept for further use, the last one that was used first, and how long each has not been used.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What was not used for so long is freed.
pub const UNUSED: Duration = Duration::from_secs(10);

/// A stack of things that wait to be used; the longest unused one lies at the bottom.
pub struct UnusedList<T>(VecDeque<(Instant, T)>);

impl<T> Default for UnusedList<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> UnusedList<T> {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn push(&mut self, thing: T) {
        self.0.push_back((Instant::now(), thing));
    }

    /// Takes the one that was used last.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop_back().map(|(_, thing)| thing)
    }

    /// Takes the longest unused one, if it was unused for too long and more than `keep` are left.
    pub fn take_unused(&mut self, keep: usize, now: Instant) -> Option<T> {
        if self.next_unused(keep)? > now {
            return None;
        }
        self.0.pop_front().map(|(_, thing)| thing)
    }

    /// When `take_unused` will have one.
    pub fn next_unused(&self, keep: usize) -> Option<Instant> {
        let (since, _) = self.0.front()?;
        (self.len() > keep).then(|| *since + UNUSED)
    }
}
