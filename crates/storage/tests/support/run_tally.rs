//! Judges by more than one run what a busy machine may spoil.

use std::fmt::Debug;

/// So many runs that are not good are too many.
const TOO_MANY: usize = 5;

/// Runs of the same thing. One that is not good must be outweighed by two good ones in a row, so that what fails only sometimes
/// is noticed, too; on a machine that has time, one run is all.
pub struct RunTally<R> {
    /// Good runs that are still needed.
    wanted: usize,
    bad: Vec<R>,
}

impl<R: Debug> RunTally<R> {
    pub fn new() -> Self {
        Self {
            wanted: 1,
            bad: Vec::new(),
        }
    }

    /// True where one more run is needed.
    pub fn is_open(&self) -> bool {
        self.wanted > 0
    }

    /// Counts a run. Panics where too many were not good.
    pub fn count(&mut self, run: R, is_good: bool) {
        if is_good {
            self.wanted -= 1;
            return;
        }
        self.wanted = 2;
        self.bad.push(run);
        assert!(self.bad.len() < TOO_MANY, "not good: {:?}", self.bad);
    }
}
