//! One run as the engine's threads see it: its fiber, and the letters that wait for it.

use crate::error::{Error, HostError};
use crate::host::{CallbackCall, Value};
use crate::limits::Budget;
use crate::pool::Pool;
use crate::run::Job;
use crate::warm::Runner;
use serde_json::Value as Json;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// A host call under way.
pub type HostFuture = Pin<Box<dyn Future<Output = Result<Value, HostError>> + Send>>;

/// Why a run's fiber gave its thread back.
pub enum Pause {
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
pub enum Letter {
    /// The answer to a host call.
    Reply(u64, Result<Value, HostError>),
    /// The host calls a function that the script gave it.
    Callback(CallbackCall),
    /// The next function to call.
    Call(Box<Job>),
}

/// What a run leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the function returned; `None` for `undefined`.
    pub value: Option<Json>,
    /// Timers and host calls that were still under way and were dropped.
    pub dropped: usize,
    /// Processor time used.
    pub cpu: Duration,
}

/// What a run asks of whoever waits for it.
pub enum Request {
    /// Wait for this host call and post its answer.
    Call(u64, HostFuture),
    /// The answer to this host call is not wanted any more.
    Cancel(u64),
    /// The run holds its thread and cannot be ended; answer for it.
    Stuck,
}

/// One run.
pub struct Task {
    /// What it has used.
    pub budget: Arc<Budget>,
    /// Where its host calls run.
    pub runtime: Handle,
    /// To whoever waits for it.
    pub requests: mpsc::UnboundedSender<Request>,
    /// The threads that run it.
    pub pool: Weak<Pool>,
    letters: Mutex<VecDeque<Letter>>,
    state: Mutex<State>,
    result: Mutex<Option<oneshot::Sender<Result<Outcome, Error>>>>,
}

enum State {
    /// Nothing was called yet.
    New,
    /// Waits for a thread and has not begun.
    Called(Box<Job>),
    /// Waits for a letter.
    Parked(Runner),
    /// Waits for a thread.
    Queued(Runner),
    /// On a thread; `true` if a letter came since.
    Running(bool),
    /// Ended.
    Ended,
}

/// How a run comes onto a thread.
pub enum Begun {
    /// With what it is to do.
    First(Box<Job>),
    /// Where it was put aside.
    Again(Runner),
}

impl Task {
    /// A run of which nothing was called yet.
    pub fn new(
        budget: Arc<Budget>,
        pool: Weak<Pool>,
        requests: mpsc::UnboundedSender<Request>,
    ) -> Arc<Self> {
        Arc::new(Self {
            budget,
            runtime: Handle::current(),
            requests,
            pool,
            letters: Mutex::new(VecDeque::new()),
            state: Mutex::new(State::New),
            result: Mutex::new(None),
        })
    }

    /// Has a function called. True if it is the first: then the run now needs a thread.
    pub fn call(self: &Arc<Self>, job: Job) -> bool {
        let mut state = lock(&self.state);
        let is_first = matches!(*state, State::New);
        if is_first {
            *state = State::Called(Box::new(job));
        } else {
            drop(state);
            self.post(Letter::Call(Box::new(job)));
        }
        is_first
    }

    /// True once a function was called.
    pub fn was_called(&self) -> bool {
        !matches!(*lock(&self.state), State::New)
    }

    /// Puts a letter in the box and wakes the run.
    pub fn post(self: &Arc<Self>, letter: Letter) {
        lock(&self.letters).push_back(letter);
        self.wake();
    }

    /// Takes the oldest letter.
    pub fn letter(&self) -> Option<Letter> {
        lock(&self.letters).pop_front()
    }

    /// Makes a waiting run ready for a thread.
    pub fn wake(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, State::Ended) {
            State::Parked(runner) => {
                *state = State::Queued(runner);
                drop(state);
                if let Some(pool) = self.pool.upgrade() {
                    pool.submit(Arc::clone(self));
                }
            }
            State::Running(_) => *state = State::Running(true),
            other => *state = other,
        }
    }

    /// Takes the run onto a thread.
    pub fn begin(&self) -> Option<Begun> {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, State::Running(false)) {
            State::Called(job) => Some(Begun::First(job)),
            State::Queued(runner) => Some(Begun::Again(runner)),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Puts the run aside until a letter comes; gives it back if one already has.
    pub fn park(&self, runner: Runner) -> Option<Runner> {
        let mut state = lock(&self.state);
        if matches!(*state, State::Running(true)) {
            *state = State::Running(false);
            return Some(runner);
        }
        *state = State::Parked(runner);
        None
    }

    /// Puts the run at the end of the queue.
    pub fn requeue(self: &Arc<Self>, runner: Runner, pool: &Pool) {
        *lock(&self.state) = State::Queued(runner);
        pool.submit(Arc::clone(self));
    }

    /// The run is over.
    pub fn end(&self) {
        *lock(&self.state) = State::Ended;
    }

    /// Who waits for the next answer.
    pub fn expect(&self, result: oneshot::Sender<Result<Outcome, Error>>) {
        *lock(&self.result) = Some(result);
    }

    /// Answers whoever waits; the first answer counts.
    pub fn answer(&self, result: Result<Outcome, Error>) {
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
