//! Runtimes made ahead of time. Each serves one run and is thrown away; what they save is the making.

use crate::bare::{Fiber, Step};
use crate::error::Error;
use crate::meter::Meter;
use crate::prelude::Prelude;
use crate::run::{self, Job};
use crate::task::{Pause, lock};
use corosensei::stack::DefaultStack;
use std::sync::{Arc, Mutex};

/// Room on a fiber's stack beside what the script may use: for host functions called at the very end of it, which may read
/// a value nested 200 deep. Without optimisation that takes most of it; memory is taken only where it is touched.
const BESIDE: usize = 2 << 20;

/// Where a job is put for a fiber that waits for one.
pub type Slot = Arc<Mutex<Option<Job>>>;

/// A fiber whose runtime is made, and how to give it a job.
pub struct Ready {
    /// The fiber.
    pub fiber: Fiber<Pause>,
    /// Where its job goes.
    pub slot: Slot,
    /// Its memory.
    pub meter: Arc<Meter>,
}

/// The fibers that wait for a job.
pub struct Warm {
    ready: Mutex<Vec<Ready>>,
    /// Stacks of fibers that have finished.
    stacks: Mutex<Vec<DefaultStack>>,
    wanted: usize,
    stack: usize,
    prelude: Arc<Prelude>,
}

impl Warm {
    /// Keeps `wanted` fibers ready whose scripts may use `stack` bytes of stack.
    pub fn new(wanted: usize, stack: usize, prelude: Arc<Prelude>) -> Self {
        Self {
            ready: Mutex::default(),
            stacks: Mutex::default(),
            wanted,
            stack,
            prelude,
        }
    }

    /// True if fewer than wanted are ready.
    pub fn wants_more(&self) -> bool {
        lock(&self.ready).len() < self.wanted
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

    /// One that is ready, or one that will make its runtime when it is first resumed.
    pub fn take(&self) -> Result<Ready, Error> {
        let ready = lock(&self.ready).pop();
        match ready {
            Some(ready) => Ok(ready),
            None => self.cold(),
        }
    }

    fn cold(&self) -> Result<Ready, Error> {
        let slot = Slot::default();
        let meter = Arc::new(Meter::new(usize::MAX / 4));
        let (prelude, job, heap) = (
            Arc::clone(&self.prelude),
            Arc::clone(&slot),
            Arc::clone(&meter),
        );
        let stack = match lock(&self.stacks).pop() {
            Some(stack) => stack,
            None => DefaultStack::new(self.stack + BESIDE)
                .map_err(|error| Error::Internal(format!("no stack for a script: {error}")))?,
        };
        let fiber = Fiber::new(stack, move |pauser| {
            run::body(pauser, &prelude, &job, heap);
        });
        Ok(Ready { fiber, slot, meter })
    }

    /// Takes back the stack of a fiber that has finished.
    pub fn take_back(&self, fiber: Fiber<Pause>) {
        let mut stacks = lock(&self.stacks);
        if stacks.len() < self.wanted {
            stacks.extend(fiber.into_stack());
        }
    }

    /// Lets the fibers that are ready return.
    pub fn drain(&self) {
        for mut ready in lock(&self.ready).drain(..) {
            // Without a job it returns at once.
            while let Step::Paused(_) = ready.fiber.resume() {}
        }
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        self.drain();
    }
}
