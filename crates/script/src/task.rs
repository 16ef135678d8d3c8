//! One run as the engine's threads see it: its fiber, and the letters that wait for it.

use crate::error::{Error, HostError};
use crate::host::{CallbackCall, HostValue};
use crate::limits::RunBudget;
use crate::pool::ThreadPool;
use crate::run::RunJob;
use crate::runner_pool::FiberRunner;
use serde_json::Value as Json;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// A host call under way.
pub type HostFuture = Pin<Box<dyn Future<Output = Result<HostValue, HostError>> + Send>>;

/// Why a run's fiber gave its thread back.
pub enum PauseReason {
    /// Its runtime is as it was made; it waits for something to run.
    Warm,
    /// Others wait for the thread.
    Yield,
    /// It waits for a letter.
    Wait,
    /// It asks the host; the answer comes as a letter of this number.
    Call(u64, HostFuture),
}

/// What a run is told while it waits.
pub enum TaskMessage {
    /// The answer to a host call.
    Reply(u64, Result<HostValue, HostError>),
    /// The host calls a function that the script gave it.
    Callback(CallbackCall),
    /// The next function to call.
    Call(Box<RunJob>),
}

/// What a run leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// What the function returned; `None` for `undefined`.
    pub value: Option<Json>,
    /// Timers and host calls that were still under way and were dropped.
    pub dropped: usize,
    /// Processor time used.
    pub cpu: Duration,
}

/// What a run asks of whoever waits for it.
pub enum TaskRequest {
    /// Wait for this host call and post its answer.
    Call(u64, HostFuture),
    /// The answer to this host call is not wanted any more.
    Cancel(u64),
    /// The run holds its thread and cannot be ended; answer for it.
    Stuck,
}

/// One run.
pub struct RunTask {
    /// What it has used.
    pub budget: Arc<RunBudget>,
    /// Where its host calls run.
    pub runtime: Handle,
    /// To whoever waits for it.
    pub requests: mpsc::UnboundedSender<TaskRequest>,
    /// The threads that run it.
    pub pool: Weak<ThreadPool>,
    messages: Mutex<VecDeque<TaskMessage>>,
    state: Mutex<TaskState>,
    result: Mutex<Option<oneshot::Sender<Result<RunOutcome, Error>>>>,
}

enum TaskState {
    /// Nothing was called yet.
    New,
    /// Waits for a thread and has not begun.
    Called(Box<RunJob>),
    /// Waits for a letter.
    Parked(FiberRunner),
    /// Waits for a thread.
    Queued(FiberRunner),
    /// On a thread; `true` if a letter came since.
    Running(bool),
    /// Ended.
    Ended,
}

/// How a run comes onto a thread.
pub enum TaskStart {
    /// With what it is to do.
    First(Box<RunJob>),
    /// Where it was put aside.
    Again(FiberRunner),
}

impl RunTask {
    /// A run of which nothing was called yet.
    pub fn new(
        budget: Arc<RunBudget>,
        pool: Weak<ThreadPool>,
        requests: mpsc::UnboundedSender<TaskRequest>,
    ) -> Arc<Self> {
        Arc::new(Self {
            budget,
            runtime: Handle::current(),
            requests,
            pool,
            messages: Mutex::new(VecDeque::new()),
            state: Mutex::new(TaskState::New),
            result: Mutex::new(None),
        })
    }

    /// Has a function called. True if it is the first: then the run now needs a thread.
    pub fn call(self: &Arc<Self>, job: RunJob) -> bool {
        let mut state = lock(&self.state);
        let is_first = matches!(*state, TaskState::New);
        if is_first {
            *state = TaskState::Called(Box::new(job));
        } else {
            drop(state);
            self.send(TaskMessage::Call(Box::new(job)));
        }
        is_first
    }

    /// True once a function was called.
    pub fn was_called(&self) -> bool {
        !matches!(*lock(&self.state), TaskState::New)
    }

    /// Puts a letter in the box and wakes the run.
    pub fn send(self: &Arc<Self>, letter: TaskMessage) {
        lock(&self.messages).push_back(letter);
        self.wake();
    }

    /// Takes the oldest letter.
    pub fn next_message(&self) -> Option<TaskMessage> {
        lock(&self.messages).pop_front()
    }

    /// Makes a waiting run ready for a thread.
    pub fn wake(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, TaskState::Ended) {
            TaskState::Parked(runner) => {
                *state = TaskState::Queued(runner);
                drop(state);
                if let Some(pool) = self.pool.upgrade() {
                    pool.submit(Arc::clone(self));
                }
            }
            TaskState::Running(_) => *state = TaskState::Running(true),
            other => *state = other,
        }
    }

    /// Takes the run onto a thread.
    pub fn begin(&self) -> Option<TaskStart> {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, TaskState::Running(false)) {
            TaskState::Called(job) => Some(TaskStart::First(job)),
            TaskState::Queued(runner) => Some(TaskStart::Again(runner)),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Puts the run aside until a letter comes; gives it back if one already has.
    pub fn park(&self, runner: FiberRunner) -> Option<FiberRunner> {
        let mut state = lock(&self.state);
        if matches!(*state, TaskState::Running(true)) {
            *state = TaskState::Running(false);
            return Some(runner);
        }
        *state = TaskState::Parked(runner);
        None
    }

    /// Puts the run at the end of the queue.
    pub fn requeue(self: &Arc<Self>, runner: FiberRunner, pool: &ThreadPool) {
        *lock(&self.state) = TaskState::Queued(runner);
        pool.submit(Arc::clone(self));
    }

    /// The run is over.
    pub fn end(&self) {
        *lock(&self.state) = TaskState::Ended;
    }

    /// Who waits for the next answer.
    pub fn expect(&self, result: oneshot::Sender<Result<RunOutcome, Error>>) {
        *lock(&self.result) = Some(result);
    }

    /// Answers whoever waits; the first answer counts.
    pub fn answer(&self, result: Result<RunOutcome, Error>) {
        if let Some(sender) = lock(&self.result).take() {
            // Whoever waited may be gone; then nobody wants to know.
            let _ = sender.send(result);
        }
    }
}

/// A lock whose data stays usable after a panic elsewhere: every change below is one assignment.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
