//! What a run may use, and the counting of what it has used.

use crate::clock::ThreadClock;
use crate::error::Error;
use ambit_quickjs_heap::MemoryMeter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What one run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Processor time of its JavaScript; waiting for the host does not count.
    pub cpu: Duration,
    /// Time from its start to its end.
    pub wall: Duration,
    /// Bytes of its heap.
    pub heap: usize,
    /// Bytes of its stack.
    pub stack: usize,
    /// Bytes of the value it returns, as JSON.
    pub returned: usize,
    /// Bytes of one value handed to the host, as JSON.
    pub value: usize,
    /// Bytes of memory of all values that the host has of it at once, be it that its calls are not answered yet. Runs within it
    /// count to it.
    pub handed: usize,
    /// Timers that it may have waiting.
    pub timers: usize,
    /// How deep runs within it may be.
    pub nesting: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(5),
            wall: Duration::from_secs(600),
            heap: 64 << 20,
            stack: 1 << 20,
            returned: 4 << 20,
            value: 32 << 20,
            handed: 128 << 20,
            timers: 1000,
            nesting: 32,
        }
    }
}

/// Why a run was ended from outside its code. Scripts cannot catch any of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum StopReason {
    /// It used more processor time than it may.
    Cpu = 1,
    /// It ran longer than it may.
    Wall = 2,
    /// It used more memory than it may.
    Heap = 3,
    /// Whoever started it no longer waits for it, or the engine is being closed.
    Cancelled = 4,
}

/// How long after a limit the run ends by itself at the latest, before it is abandoned: less than the 250 ms promised,
/// because whoever abandons it also takes time.
pub const GRACE: Duration = Duration::from_millis(100);

/// What one run has used, and whether it must end. Runs within it count to it.
pub struct RunBudget {
    /// What it may use.
    pub limits: RunLimits,
    /// When the outermost run started.
    pub started: Instant,
    /// Its memory.
    pub meter: Arc<MemoryMeter>,
    shared: Arc<SharedUse>,
    /// Ended alone, not for a limit.
    cancelled: AtomicBool,
    /// Runs that it is within.
    depth: usize,
    /// Milliseconds after `started` at which its thread must have polled again; `u64::MAX` while it is not on a thread.
    overdue: AtomicU64,
    /// What its thread had used, in nanoseconds, when it last polled.
    polled: AtomicU64,
    /// What its thread may use until it polls again: a thread that had no turn has nothing to answer for.
    overspent: AtomicU64,
}

/// What a run has in common with the runs within it.
#[derive(Default)]
struct SharedUse {
    cpu: AtomicU64,
    stop: AtomicU8,
    /// Memory of values that the host has.
    handed: AtomicUsize,
}

impl RunBudget {
    /// Nothing used yet.
    pub fn new(limits: RunLimits) -> Self {
        Self {
            limits,
            started: Instant::now(),
            meter: Arc::new(MemoryMeter::new(limits.heap)),
            shared: Arc::default(),
            cancelled: AtomicBool::new(false),
            depth: 0,
            overdue: AtomicU64::new(u64::MAX),
            polled: AtomicU64::new(0),
            overspent: AtomicU64::new(u64::MAX),
        }
    }

    /// The budget of a run within this one: what it uses is this one's.
    pub fn within(&self) -> Self {
        let within = Self {
            started: self.started,
            shared: Arc::clone(&self.shared),
            depth: self.depth + 1,
            ..Self::new(self.limits)
        };
        within.meter.count_to(&self.meter);
        within
    }

    /// Counts memory of values that the host is handed; false if that is too much, and then nothing is counted.
    pub fn hand_over(&self, size: usize) -> bool {
        let handed = &self.shared.handed;
        let before = handed.fetch_add(size, Ordering::Relaxed);
        let is_allowed = before.saturating_add(size) <= self.limits.handed;
        if !is_allowed {
            handed.fetch_sub(size, Ordering::Relaxed);
        }
        is_allowed
    }

    /// The host no longer has values of so much memory.
    pub fn take_back(&self, size: usize) {
        self.shared.handed.fetch_sub(size, Ordering::Relaxed);
    }

    /// Fails if there can be no run within this one.
    pub fn check_depth(&self) -> Result<(), Error> {
        if self.depth < self.limits.nesting {
            return Ok(());
        }
        Err(Error::Limited {
            code: "limit_exceeded",
            message: format!("process depth limit {} exceeded", self.limits.nesting),
        })
    }

    /// Ends the run; the first reason stays.
    pub fn stop(&self, reason: StopReason) {
        if reason == StopReason::Cancelled {
            return self.cancelled.store(true, Ordering::Release);
        }
        let _ =
            self.shared
                .stop
                .compare_exchange(0, reason as u8, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Why the run must end, if it must. One that had no memory must, even if it has caught that; what ends it then may be seen
    /// first, but is not the reason.
    pub fn stopped(&self) -> Option<StopReason> {
        let reason = self.reason();
        if reason != Some(StopReason::Cancelled) && self.meter.exceeded() {
            return Some(StopReason::Heap);
        }
        reason
    }

    fn reason(&self) -> Option<StopReason> {
        match self.shared.stop.load(Ordering::Acquire) {
            1 => Some(StopReason::Cpu),
            2 => Some(StopReason::Wall),
            3 => Some(StopReason::Heap),
            _ => self
                .cancelled
                .load(Ordering::Acquire)
                .then_some(StopReason::Cancelled),
        }
    }

    /// Processor time used so far.
    pub fn used(&self) -> Duration {
        Duration::from_nanos(self.shared.cpu.load(Ordering::Relaxed))
    }

    /// Adds processor time, stops the run if a limit is passed, and says why it must end. `clock` is what the thread that runs
    /// it has used in all. What the watch thread has counted meanwhile is not counted again.
    pub fn spend(&self, time: Duration, clock: Duration) -> Option<StopReason> {
        let polled = self.polled.swap(self::nanos(clock), Ordering::Relaxed);
        let nanos = nanos(time).min(self::nanos(clock).saturating_sub(polled));
        let used = Duration::from_nanos(
            self.shared
                .cpu
                .fetch_add(nanos, Ordering::Relaxed)
                .saturating_add(nanos),
        );
        if self.meter.exceeded() {
            self.stop(StopReason::Heap);
        }
        if used > self.limits.cpu {
            self.stop(StopReason::Cpu);
        }
        let now = self.started.elapsed();
        if now > self.limits.wall {
            self.stop(StopReason::Wall);
        }
        let stopped = self.stopped();
        let rest = match stopped {
            Some(_) => Duration::ZERO,
            None => self.limits.cpu.saturating_sub(used),
        };
        let overdue = millis(now + rest + GRACE);
        let overspent = self::nanos(clock + rest + GRACE);
        if stopped.is_some() && self.overdue.load(Ordering::Relaxed) != u64::MAX {
            // Once it must end, to poll again gives it no more time.
            self.overdue.fetch_min(overdue, Ordering::Relaxed);
            self.overspent.fetch_min(overspent, Ordering::Relaxed);
        } else {
            self.overdue.store(overdue, Ordering::Relaxed);
            self.overspent.store(overspent, Ordering::Relaxed);
        }
        stopped
    }

    /// The run is not on a thread. The answer is for `go_on`.
    pub fn put_aside(&self) -> u64 {
        self.overdue.swap(u64::MAX, Ordering::Relaxed)
    }

    /// The run is on its thread again, as if it had not been put aside.
    pub fn go_on(&self, overdue: u64) {
        self.overdue.store(overdue, Ordering::Relaxed);
    }

    /// Stops the run if it has held its thread past its processor time without polling once, and says whether it has. Where the
    /// system does not say what the thread has used, time counts instead.
    pub fn stop_overdue(&self, thread: &ThreadClock) -> bool {
        if millis(self.started.elapsed()) <= self.overdue.load(Ordering::Relaxed) {
            return false;
        }
        if let Some(clock) = thread.read().map(nanos) {
            if clock <= self.overspent.load(Ordering::Relaxed) {
                return false;
            }
            let since = clock.saturating_sub(self.polled.swap(clock, Ordering::Relaxed));
            self.shared.cpu.fetch_add(since, Ordering::Relaxed);
        }
        self.stop(StopReason::Cpu);
        true
    }

    /// The error for a reason, without the name of the script and its function.
    pub fn error(&self, reason: StopReason, program: &str) -> Error {
        let (code, text) = match reason {
            StopReason::Cpu => (
                "script_cpu_limit",
                format!("script used more than {} of CPU", seconds(self.limits.cpu)),
            ),
            StopReason::Wall => (
                "script_timeout",
                format!("script ran longer than {}", seconds(self.limits.wall)),
            ),
            StopReason::Heap => (
                "script_out_of_memory",
                format!("script used more than {}", bytes(self.limits.heap)),
            ),
            StopReason::Cancelled => return Error::Cancelled,
        };
        Error::Limited {
            code,
            message: format!("{program}: {text}"),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// `5s`, `0.25s`.
fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}

/// `64 MiB`, or bytes where that is not exact.
pub fn bytes(size: usize) -> String {
    if size.is_multiple_of(1 << 20) {
        format!("{} MiB", size >> 20)
    } else {
        format!("{size} bytes")
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{RunBudget, RunLimits, StopReason};
    use crate::clock::{ThreadClock, thread_time};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    #[test]
    fn a_thread_that_had_no_turn_is_not_overdue() {
        let limits = RunLimits {
            cpu: Duration::from_millis(1),
            ..RunLimits::default()
        };
        let budget = Arc::new(RunBudget::new(limits));
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let spent = Arc::clone(&budget);
        let waits = std::thread::spawn(move || {
            spent.spend(Duration::ZERO, thread_time());
            tell.send(ThreadClock::own()).unwrap();
            // Ends when the other side is dropped.
            let _ = ended.recv();
        });
        let (waiting, own, began) = (told.recv().unwrap(), ThreadClock::own(), thread_time());
        while thread_time() < began + Duration::from_millis(200) {}
        assert!(!budget.stop_overdue(&waiting));
        budget.spend(Duration::ZERO, began);
        let polled = budget.started.elapsed();
        while budget.started.elapsed() < polled + Duration::from_millis(200) {}
        assert!(budget.stop_overdue(&own));
        drop(end);
        waits.join().unwrap();
    }

    #[test]
    fn a_run_that_goes_on_when_it_must_end_is_overdue_though_it_polls() {
        let (budget, own) = (RunBudget::new(RunLimits::default()), ThreadClock::own());
        budget.stop(StopReason::Cancelled);
        let mut is_overdue = false;
        while !is_overdue && budget.started.elapsed() < Duration::from_secs(2) {
            budget.spend(Duration::ZERO, thread_time());
            is_overdue = budget.stop_overdue(&own);
        }
        assert!(is_overdue);
    }

    #[test]
    fn a_run_that_is_given_up_is_not_counted_twice() {
        let limits = RunLimits {
            cpu: Duration::from_millis(1),
            ..RunLimits::default()
        };
        let (budget, own, began) = (RunBudget::new(limits), ThreadClock::own(), thread_time());
        budget.spend(Duration::ZERO, began);
        while !budget.stop_overdue(&own) {}
        assert!(budget.used() > limits.cpu);
        let now = thread_time();
        budget.spend(now - began, now);
        assert_eq!(budget.used(), now - began);
    }
}
