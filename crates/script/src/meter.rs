//! The counting of memory.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Counts an engine's memory, and that of the engines within its run.
#[derive(Debug)]
pub struct Meter {
    /// What the engine itself uses. Only the thread that runs it counts here, so that counting costs next to nothing.
    own: AtomicUsize,
    /// What the engines within its run use, on whatever threads.
    within: AtomicUsize,
    limit: usize,
    exceeded: AtomicBool,
    outer: OnceLock<Arc<Self>>,
}

/// What is still given in small pieces after the limit was passed, so that the engine can make the error that ends the run.
const LAST: usize = 1 << 20;
const SMALL: usize = 64 << 10;

impl Meter {
    /// A meter that counts up to a limit.
    pub fn new(limit: usize) -> Self {
        Self {
            own: AtomicUsize::new(0),
            within: AtomicUsize::new(0),
            limit,
            exceeded: AtomicBool::new(false),
            outer: OnceLock::new(),
        }
    }

    /// A meter that only counts.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX / 4)
    }

    /// What the engine itself uses.
    pub fn own(&self) -> usize {
        self.own.load(Ordering::Relaxed)
    }

    /// Counts what is in use already, whatever the limit.
    pub fn add(&self, size: usize) {
        self.own.store(self.own() + size, Ordering::Relaxed);
        if let Some(outer) = self.outer.get() {
            outer.add_within(size);
        }
    }

    fn add_within(&self, size: usize) {
        self.within.fetch_add(size, Ordering::Relaxed);
        if let Some(outer) = self.outer.get() {
            outer.add_within(size);
        }
    }

    /// From now on everything also counts to another meter, what is in use already included.
    pub fn count_to(&self, outer: &Arc<Self>) {
        if self.outer.set(Arc::clone(outer)).is_ok() {
            outer.add_within(self.own());
        }
    }

    /// Counts `size` more bytes, or says that they are too many.
    pub fn take(&self, size: usize) -> bool {
        let own = self.own.load(Ordering::Relaxed).saturating_add(size);
        if !self.allows(
            own.saturating_add(self.within.load(Ordering::Relaxed)),
            size,
        ) {
            return false;
        }
        if let Some(outer) = self.outer.get()
            && !outer.take_within(size)
        {
            return false;
        }
        self.own.store(own, Ordering::Relaxed);
        true
    }

    /// Counts `size` more bytes of an engine within this one's run.
    fn take_within(&self, size: usize) -> bool {
        let within = self
            .within
            .fetch_add(size, Ordering::Relaxed)
            .saturating_add(size);
        let fits = self.allows(
            within.saturating_add(self.own.load(Ordering::Relaxed)),
            size,
        ) && self.outer.get().is_none_or(|outer| outer.take_within(size));
        if !fits {
            self.within.fetch_sub(size, Ordering::Relaxed);
        }
        fits
    }

    /// True if so much may be in use after `size` more.
    fn allows(&self, wanted: usize, size: usize) -> bool {
        if wanted <= self.limit {
            return true;
        }
        self.exceeded.store(true, Ordering::Relaxed);
        size <= SMALL && wanted <= self.limit.saturating_add(LAST)
    }

    /// Counts `size` bytes less.
    pub fn give(&self, size: usize) {
        let own = self.own.load(Ordering::Relaxed);
        self.own.store(own.saturating_sub(size), Ordering::Relaxed);
        if let Some(outer) = self.outer.get() {
            outer.give_within(size);
        }
    }

    fn give_within(&self, size: usize) {
        self.within.fetch_sub(size, Ordering::Relaxed);
        if let Some(outer) = self.outer.get() {
            outer.give_within(size);
        }
    }

    /// True once more was asked for than the limit allows.
    pub fn exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
            || self.outer.get().is_some_and(|outer| outer.exceeded())
    }
}

impl Drop for Meter {
    /// Whatever was not given back is given back to the outer meter.
    fn drop(&mut self) {
        if let Some(outer) = self.outer.get() {
            outer.give_within(*self.own.get_mut());
        }
    }
}
