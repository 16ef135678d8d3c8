//! Counting memory against a limit.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Counts the memory of one runtime against a limit, and to an outer meter: that of the run which started this one.
#[derive(Debug)]
pub struct MemoryMeter {
    /// What the runtime itself uses. Only the thread that runs it changes this, so that counting costs next to nothing.
    own: AtomicUsize,
    /// What the runtimes of inner meters use, on whatever threads.
    within: AtomicUsize,
    limit: usize,
    exceeded: AtomicBool,
    /// What may be in use so that an error can be made, where that is more than the limit and the reserve.
    error_limit: AtomicUsize,
    is_unlimited: AtomicBool,
    outer: OnceLock<Arc<Self>>,
}

/// What is still given in small pieces once the limit was passed, so that a runtime can make the error that ends its script.
const RESERVE: usize = 1 << 20;
/// The largest of these pieces.
const SMALL: usize = 64 << 10;
/// What an error takes, and more.
const ERROR: usize = 4 << 10;

impl MemoryMeter {
    /// Returns a meter that counts up to a limit.
    pub fn new(limit: usize) -> Self {
        Self {
            own: AtomicUsize::new(0),
            within: AtomicUsize::new(0),
            limit,
            exceeded: AtomicBool::new(false),
            error_limit: AtomicUsize::new(0),
            is_unlimited: AtomicBool::new(false),
            outer: OnceLock::new(),
        }
    }

    /// Returns a meter without a limit.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX / 4)
    }

    /// Returns what the runtime itself uses.
    pub fn own(&self) -> usize {
        self.own.load(Ordering::Relaxed)
    }

    /// Counts `size` more bytes, whatever the limit: they are in use already.
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

    /// Counts to an outer meter too from now on, what is in use already included. Only the first outer meter counts.
    pub fn count_to(&self, outer: &Arc<Self>) {
        if self.outer.set(Arc::clone(outer)).is_ok() {
            outer.add_within(self.own());
        }
    }

    /// Counts `size` more bytes; returns false, and counts nothing, if they are too many.
    pub fn take(&self, size: usize) -> bool {
        if self.is_unlimited.load(Ordering::Relaxed) {
            self.add(size);
            return true;
        }
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

    /// Counts `size` more bytes of an inner meter's runtime.
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

    /// Returns true if `wanted` bytes may be in use, the last `size` of them new.
    fn allows(&self, wanted: usize, size: usize) -> bool {
        if wanted <= self.limit {
            return true;
        }
        self.exceeded.store(true, Ordering::Relaxed);
        let reserved = self.limit.saturating_add(RESERVE);
        size <= SMALL && wanted <= reserved.max(self.error_limit.load(Ordering::Relaxed))
    }

    /// Lets one more error be made, however much is in use: the one that ends a script. Where the engine has no memory for it, it
    /// throws what the script can catch.
    pub fn allow_error(&self) {
        let used = self.own() + self.within.load(Ordering::Relaxed);
        self.error_limit.fetch_max(used + ERROR, Ordering::Relaxed);
        if let Some(outer) = self.outer.get() {
            outer.allow_error();
        }
    }

    /// Does something without a limit; what it uses is counted.
    pub fn unlimited_while<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.is_unlimited.swap(true, Ordering::Relaxed);
        let done = work();
        self.is_unlimited.store(before, Ordering::Relaxed);
        done
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

    /// Returns true once more was asked for than the limit, or that of an outer meter, allows.
    pub fn exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
            || self.outer.get().is_some_and(|outer| outer.exceeded())
    }
}

impl Drop for MemoryMeter {
    /// Gives what was not given back to the outer meter.
    fn drop(&mut self) {
        if let Some(outer) = self.outer.get() {
            outer.give_within(*self.own.get_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ERROR, MemoryMeter, RESERVE};
    use std::sync::Arc;

    #[test]
    fn inner_meters_count_to_outer_ones() {
        let outer = Arc::new(MemoryMeter::new(1_000));
        let inner = Arc::new(MemoryMeter::new(4 << 20));
        assert!(inner.take(400));
        inner.count_to(&outer);
        assert!(outer.take(500) && inner.take(100));
        assert!(!inner.take(2 << 20));
        assert!(inner.exceeded() && outer.exceeded());
        drop(inner);
        assert_eq!(outer.own(), 500);
        assert!(outer.take(500));
    }

    #[test]
    fn a_passed_limit_leaves_a_reserve_in_small_pieces() {
        let meter = MemoryMeter::new(100);
        assert!(!meter.take(RESERVE));
        let given = std::iter::repeat_with(|| meter.take(1 << 10)).take_while(|given| *given);
        assert_eq!(given.take(2 << 10).count(), 1 << 10);
    }

    #[test]
    fn an_error_can_be_made_when_the_reserve_is_used_up() {
        let outer = Arc::new(MemoryMeter::new(100));
        let inner = MemoryMeter::new(100);
        inner.count_to(&outer);
        while inner.take(1) {}
        inner.allow_error();
        assert!(inner.take(1 << 10) && !inner.take(ERROR));
    }

    #[test]
    fn what_is_used_without_a_limit_is_counted() {
        let meter = MemoryMeter::new(100);
        assert!(meter.unlimited_while(|| {
            meter.unlimited_while(|| ());
            meter.take(2 << 20)
        }));
        assert!(!meter.exceeded() && !meter.take(1) && meter.exceeded());
    }
}
