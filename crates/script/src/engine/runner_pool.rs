//! Runtimes made ahead of time. Each is restored behind every run; what that saves is the making.

use super::EngineSettings;
use super::unused::UnusedList;
use crate::bare::{Fiber, FiberPauser, FiberStep};
use crate::error::Error;
use crate::prelude::Prelude;
use crate::task::{FiberRunner, JobSlot, PauseReason, RuntimeReuse};
use corosensei::stack::DefaultStack;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Room on a fiber's stack beside what the script may use: for host functions called at the very end of it, which may read
/// a value nested 100 deep. Without optimisation that takes most of it; memory is taken only where it is touched.
const BESIDE: usize = 2 << 20;

/// Of so many runtimes that are kept, one is made ahead of time: those that work come back.
const AHEAD: usize = 4;

/// How many runtimes are kept at most without memory. Each has the stack that its scripts have touched.
const MAX_EMPTIED: usize = 1024;

/// What a fiber does, from the making of its runtime to its end; it is told what becomes of its runtime behind each run.
pub type FiberBody = fn(FiberPauser<PauseReason>, &Arc<Prelude>, &JobSlot, RuntimeReuse);

pub struct RunnerPool {
    ready: Mutex<UnusedList<FiberRunner>>,
    /// Runtimes without memory.
    emptied: Mutex<UnusedList<FiberRunner>>,
    /// Stacks of fibers that have finished.
    stacks: Mutex<UnusedList<DefaultStack>>,
    kept: Arc<AtomicUsize>,
    most: usize,
    restore: bool,
    stack: usize,
    prelude: Arc<Prelude>,
    body: FiberBody,
}

/// The right of a runtime to be kept for further runs; given back when it is freed.
struct ReusePermit(Arc<AtomicUsize>);

impl Drop for ReusePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RunnerPool {
    /// An empty pool.
    pub fn new(settings: &EngineSettings, prelude: Arc<Prelude>, body: FiberBody) -> Self {
        Self {
            ready: Mutex::default(),
            emptied: Mutex::default(),
            stacks: Mutex::default(),
            kept: Arc::default(),
            most: settings.warm,
            restore: settings.restore,
            stack: settings.stack,
            prelude,
            body,
        }
    }

    /// True if more should be made ahead.
    pub fn wants_more(&self) -> bool {
        self.ready.lock().len() < self.ahead()
    }

    fn ahead(&self) -> usize {
        self.most.div_ceil(AHEAD)
    }

    /// When there will be something that nobody has used for too long; `None` if only what is made ahead is left.
    pub fn next_unused(&self) -> Option<Instant> {
        let runtimes = self.ready.lock().next_unused(self.ahead());
        let emptied = self.emptied.lock().next_unused(0);
        let stacks = self.stacks.lock().next_unused(0);
        [runtimes, emptied, stacks].into_iter().flatten().min()
    }

    /// Frees one runtime or stack that nobody has used for too long.
    pub fn free_unused(&self, now: Instant) {
        let mut unused = self.ready.lock().take_unused(self.ahead(), now);
        if unused.is_none() {
            unused = self.emptied.lock().take_unused(0, now);
        }
        match unused {
            Some(runner) => self.finish(runner),
            None => drop(self.stacks.lock().take_unused(0, now)),
        }
    }

    fn room(&self) -> Option<ReusePermit> {
        if !self.restore {
            return None;
        }
        let more = |kept: usize| (kept < self.most).then_some(kept + 1);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self.kept.fetch_update(set, fetch, more);
        taken.ok().map(|_| ReusePermit(Arc::clone(&self.kept)))
    }

    /// Makes one more ready.
    pub fn make(&self) {
        let Ok(mut made) = self.make_cold() else {
            return;
        };
        if let FiberStep::Paused(_) = made.fiber.resume() {
            self.ready.lock().push(made);
        }
    }

    /// One that is ready, the last that worked first, or one that will make its runtime when it is first resumed.
    pub fn take(&self) -> Result<FiberRunner, Error> {
        match self.take_ready() {
            Some(ready) => Ok(ready),
            None => self.make_cold(),
        }
    }

    fn take_ready(&self) -> Option<FiberRunner> {
        let ready = self.ready.lock().pop();
        ready.or_else(|| self.emptied.lock().pop())
    }

    fn make_cold(&self) -> Result<FiberRunner, Error> {
        let slot = JobSlot::default();
        let (prelude, job) = (Arc::clone(&self.prelude), Arc::clone(&slot));
        let stack = match self.stacks.lock().pop() {
            Some(stack) => stack,
            None => DefaultStack::new(self.stack + BESIDE)
                .map_err(|error| Error::Internal(format!("no stack for a script: {error}")))?,
        };
        let (room, body) = (self.room(), self.body);
        let reuse = match &room {
            Some(_) => RuntimeReuse::Ready,
            None if self.restore => RuntimeReuse::Emptied,
            None => RuntimeReuse::Never,
        };
        let fiber = Fiber::new(stack, move |pauser| {
            let _room = room;
            body(pauser, &prelude, &job, reuse);
        });
        Ok(FiberRunner { fiber, slot, reuse })
    }

    /// Takes back one that can do another job.
    pub fn take_back(&self, runner: FiberRunner) {
        if runner.reuse == RuntimeReuse::Ready {
            return self.ready.lock().push(runner);
        }
        let mut emptied = self.emptied.lock();
        if emptied.len() < MAX_EMPTIED {
            return emptied.push(runner);
        }
        drop(emptied);
        self.finish(runner);
    }

    /// Takes back the stack of a fiber that has finished.
    pub fn take_stack(&self, fiber: Fiber<PauseReason>) {
        let mut stacks = self.stacks.lock();
        if let Some(stack) = fiber.into_stack()
            && stacks.len() < self.most
        {
            stacks.push(stack);
        }
    }

    fn finish(&self, mut runner: FiberRunner) {
        // Without a job it returns at once.
        while let FiberStep::Paused(_) = runner.fiber.resume() {}
        self.take_stack(runner.fiber);
    }

    /// Lets the fibers that are ready return.
    pub fn drain(&self) {
        while let Some(runner) = self.take_ready() {
            self.finish(runner);
        }
    }
}

impl Drop for RunnerPool {
    fn drop(&mut self) {
        self.drain();
    }
}

#[cfg(test)]
mod tests {
    use super::super::EngineSettings;
    use super::super::unused::UNUSED;
    use super::RunnerPool;
    use crate::host::HostApi;
    use crate::prelude::Prelude;
    use crate::task::PauseReason;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    #[test]
    fn what_was_not_used_for_a_while_is_freed() {
        let settings = EngineSettings {
            warm: 8,
            ..EngineSettings::default()
        };
        let prelude = Arc::new(Prelude::new(HostApi::default()).unwrap());
        let pool = RunnerPool::new(&settings, prelude, |pauser, _, _, _| {
            pauser.pause(PauseReason::Warm);
        });
        for _ in 0..settings.warm {
            pool.make();
        }
        let count = || {
            let kept = pool.kept.load(Ordering::Relaxed);
            (pool.ready.lock().len(), kept, pool.stacks.lock().len())
        };
        pool.free_unused(Instant::now());
        assert_eq!(count(), (8, 8, 0));
        let later = Instant::now() + UNUSED;
        while pool.next_unused().is_some_and(|unused| unused <= later) {
            pool.free_unused(later);
        }
        assert_eq!(count(), (2, 2, 6));
        while let Some(unused) = pool.next_unused() {
            pool.free_unused(unused);
        }
        assert_eq!(count(), (2, 2, 0));
    }
}
