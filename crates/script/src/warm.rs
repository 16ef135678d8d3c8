//! Runtimes made ahead of time. Each is put back as it was made behind every run; what that saves is the making.

use crate::bare::{Fiber, Step};
use crate::error::Error;
use crate::prelude::Prelude;
use crate::run::{self, Job};
use crate::task::{Pause, lock};
use corosensei::stack::DefaultStack;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Room on a fiber's stack beside what the script may use: for host functions called at the very end of it, which may read
/// a value nested 200 deep. Without optimisation that takes most of it; memory is taken only where it is touched.
const BESIDE: usize = 2 << 20;

/// Where a job is put for a fiber that waits for one.
pub type Slot = Arc<Mutex<Option<Job>>>;

/// Of so many runtimes that are kept, one is made ahead of time: those that work come back.
const AHEAD: usize = 4;

/// A fiber with a runtime, and how to give it a job.
pub struct Runner {
    /// The fiber.
    pub fiber: Fiber<Pause>,
    /// Where its job goes.
    pub slot: Slot,
}

/// The runners that wait for a job.
pub struct Warm {
    ready: Mutex<Vec<Runner>>,
    /// Stacks of fibers that have finished.
    stacks: Mutex<Vec<DefaultStack>>,
    kept: Arc<AtomicUsize>,
    most: usize,
    stack: usize,
    prelude: Arc<Prelude>,
}

/// The right of a runtime to be kept for further runs; given back when it is freed.
struct Room(Arc<AtomicUsize>);

impl Drop for Room {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Warm {
    /// Keeps at most so many runners whose scripts may use `stack` bytes of stack.
    pub fn new(most: usize, stack: usize, prelude: Arc<Prelude>) -> Self {
        Self {
            ready: Mutex::default(),
            stacks: Mutex::default(),
            kept: Arc::default(),
            most,
            stack,
            prelude,
        }
    }

    /// True if more should be made ahead.
    pub fn wants_more(&self) -> bool {
        lock(&self.ready).len() < self.most.div_ceil(AHEAD)
    }

    fn room(&self) -> Option<Room> {
        let more = |kept: usize| (kept < self.most).then_some(kept + 1);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self.kept.fetch_update(set, fetch, more);
        taken.ok().map(|_| Room(Arc::clone(&self.kept)))
    }

    /// Makes one more ready.
    pub fn make(&self) {
        let Ok(mut made) = self.cold() else {
            return;
        };
        if let Step::Paused(_) = made.fiber.resume() {
            lock(&self.ready).push(made);
        }
    }

    /// One that is ready, the last that worked first, or one that will make its runtime when it is first resumed.
    pub fn take(&self) -> Result<Runner, Error> {
        let ready = lock(&self.ready).pop();
        match ready {
            Some(ready) => Ok(ready),
            None => self.cold(),
        }
    }

    fn cold(&self) -> Result<Runner, Error> {
        let slot = Slot::default();
        let (prelude, job) = (Arc::clone(&self.prelude), Arc::clone(&slot));
        let stack = match lock(&self.stacks).pop() {
            Some(stack) => stack,
            None => DefaultStack::new(self.stack + BESIDE)
                .map_err(|error| Error::Internal(format!("no stack for a script: {error}")))?,
        };
        let room = self.room();
        let fiber = Fiber::new(stack, move |pauser| {
            run::body(pauser, &prelude, &job, room.is_some());
        });
        Ok(Runner { fiber, slot })
    }

    /// Takes back one that is ready for another job.
    pub fn take_back(&self, runner: Runner) {
        lock(&self.ready).push(runner);
    }

    /// Takes back the stack of a fiber that has finished.
    pub fn take_stack(&self, fiber: Fiber<Pause>) {
        let mut stacks = lock(&self.stacks);
        if stacks.len() < self.most {
            stacks.extend(fiber.into_stack());
        }
    }

    fn finish(&self, mut runner: Runner) {
        // Without a job it returns at once.
        while let Step::Paused(_) = runner.fiber.resume() {}
        self.take_stack(runner.fiber);
    }

    /// Lets the fibers that are ready return.
    pub fn drain(&self) {
        let ready = std::mem::take(&mut *lock(&self.ready));
        for runner in ready {
            self.finish(runner);
        }
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        self.drain();
    }
}
