//! One run as the engine's threads see it: its fiber, and the messages that wait for it.

use crate::bare::{EngineWordSlot, Fiber};
use crate::error::{Error, HostError};
use crate::host::{CallbackCall, CallbackReceiver, Host, HostValue};
use crate::limits::RunBudget;
use crate::program::Program;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
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
    /// It waits for a message.
    Wait,
    /// It asks the host; the answer comes as a message of this number. A call that is not answered at once is asked again when it
    /// says so: the script stands still for it.
    FirstCall(u64, HostFuture),
    /// The same, but a call that is not answered at once is left to whoever waits for the run.
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
    /// A host call that waits on this side can be asked again.
    AskAgain(u64),
}

/// What a run leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// What the function returned; `None` for `undefined`.
    pub value: Option<Value>,
    /// The first member of it whose value JSON does not have: `undefined`, a function, a symbol, or a number that is not finite.
    pub left_out: Option<String>,
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

pub struct RunJob {
    pub task: Arc<RunTask>,
    pub program: Arc<Program>,
    pub function: String,
    pub arguments: Vec<HostValue>,
    pub host: Arc<dyn Host>,
    /// No other call follows.
    pub once: bool,
}

/// Where a job is put for a fiber that waits for one.
pub type JobSlot = Arc<Mutex<Option<RunJob>>>;

/// A fiber with a runtime, and how to give it a job.
pub struct FiberRunner {
    pub fiber: Fiber<PauseReason>,
    pub slot: JobSlot,
    pub reuse: RuntimeReuse,
}

/// What becomes of a runtime behind a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RuntimeReuse {
    /// It is restored at once, and has its memory until it is used again.
    Ready,
    /// It waits without memory, and is restored when it is used again.
    Emptied,
    /// It is freed.
    Never,
}

/// Finds a thread for tasks that are ready.
pub trait Scheduler: Send + Sync {
    /// Puts a task at the end of the queue.
    fn submit(&self, task: Arc<RunTask>);

    /// Puts a task that has what it waited for before those that have not begun.
    fn submit_woken(&self, task: Arc<RunTask>);

    /// Returns true if tasks wait for a thread.
    fn is_crowded(&self) -> bool;
}

pub struct RunTask {
    pub budget: Arc<RunBudget>,
    /// Where its host calls run.
    pub runtime: Handle,
    /// To whoever waits for it.
    pub requests: mpsc::UnboundedSender<TaskRequest>,
    pub scheduler: Weak<dyn Scheduler>,
    /// Where the watch thread reaches its engine.
    pub words: EngineWordSlot,
    messages: Mutex<VecDeque<TaskMessage>>,
    state: Mutex<TaskState>,
    result: Mutex<Option<oneshot::Sender<Result<RunOutcome, Error>>>>,
    /// Host calls that were asked once and wait to be asked again.
    asked: Mutex<Vec<(u64, HostFuture)>>,
}

/// Has the run ask a host call again. It must not keep the run, which has the call.
struct CallWaker {
    task: Weak<RunTask>,
    number: u64,
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        if let Some(task) = self.task.upgrade() {
            task.send(TaskMessage::AskAgain(self.number));
        }
    }
}

enum TaskState {
    /// Nothing was called yet.
    New,
    /// Waits for a thread and has not begun.
    Called(Box<RunJob>),
    /// Waits for a message.
    Parked(FiberRunner),
    /// Waits for a thread.
    Queued(FiberRunner),
    /// On a thread; `true` if a message came since.
    Running(bool),
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
        scheduler: Weak<dyn Scheduler>,
        requests: mpsc::UnboundedSender<TaskRequest>,
    ) -> Arc<Self> {
        Arc::new(Self {
            budget,
            runtime: Handle::current(),
            requests,
            scheduler,
            words: EngineWordSlot::default(),
            messages: Mutex::new(VecDeque::new()),
            state: Mutex::new(TaskState::New),
            result: Mutex::new(None),
            asked: Mutex::default(),
        })
    }

    /// Has a function called. True if it is the first: then the run now needs a thread.
    pub fn call(self: &Arc<Self>, job: RunJob) -> bool {
        let mut state = self.state.lock();
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
        !matches!(*self.state.lock(), TaskState::New)
    }

    /// Posts a message and wakes the run.
    pub fn send(self: &Arc<Self>, message: TaskMessage) {
        self.post(message);
        self.wake();
    }

    /// Posts a message to a run that its own thread goes on with at once.
    pub fn post(&self, message: TaskMessage) {
        self.messages.lock().push_back(message);
    }

    /// Takes the oldest message.
    pub fn next_message(&self) -> Option<TaskMessage> {
        self.messages.lock().pop_front()
    }

    /// What asks a host call again.
    pub fn waker(self: &Arc<Self>, number: u64) -> Waker {
        let task = Arc::downgrade(self);
        Waker::from(Arc::new(CallWaker { task, number }))
    }

    /// Keeps a host call until its waker has been called.
    pub fn keep_call(&self, number: u64, future: HostFuture) {
        self.asked.lock().push((number, future));
    }

    /// Takes a host call to ask it again; `None` if it was dropped or asked again already.
    pub fn take_call(&self, number: u64) -> Option<HostFuture> {
        let mut asked = self.asked.lock();
        let at = asked.iter().position(|(other, _)| *other == number)?;
        Some(asked.swap_remove(at).1)
    }

    /// Drops the host calls that wait to be asked again.
    pub fn drop_calls(&self) {
        let asked = std::mem::take(&mut *self.asked.lock());
        // Not under the lock: what is dropped may wake others, and goes on as a task of its own where it must not be stopped.
        let _runtime = self.runtime.enter();
        drop(asked);
    }

    /// Makes a waiting run ready for a thread.
    pub fn wake(self: &Arc<Self>) {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, TaskState::Ended) {
            TaskState::Parked(runner) => {
                *state = TaskState::Queued(runner);
                drop(state);
                if let Some(scheduler) = self.scheduler.upgrade() {
                    scheduler.submit_woken(Arc::clone(self));
                }
            }
            TaskState::Running(_) => *state = TaskState::Running(true),
            other => *state = other,
        }
    }

    /// Takes the run onto a thread.
    pub fn begin(&self) -> Option<TaskStart> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, TaskState::Running(false)) {
            TaskState::Called(job) => Some(TaskStart::First(job)),
            TaskState::Queued(runner) => Some(TaskStart::Again(runner)),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Puts the run aside until a message comes; gives it back if one already has.
    pub fn park(&self, runner: FiberRunner) -> Option<FiberRunner> {
        let mut state = self.state.lock();
        if matches!(*state, TaskState::Running(true)) {
            *state = TaskState::Running(false);
            return Some(runner);
        }
        *state = TaskState::Parked(runner);
        None
    }

    /// Puts the run at the end of the queue.
    pub fn requeue(self: &Arc<Self>, runner: FiberRunner, scheduler: &dyn Scheduler) {
        *self.state.lock() = TaskState::Queued(runner);
        scheduler.submit(Arc::clone(self));
    }

    /// The run is over.
    pub fn end(&self) {
        *self.state.lock() = TaskState::Ended;
        self.drop_calls();
    }

    /// Who waits for the next answer.
    pub fn expect(&self, result: oneshot::Sender<Result<RunOutcome, Error>>) {
        *self.result.lock() = Some(result);
    }

    /// Answers whoever waits; the first answer counts.
    pub fn answer(&self, result: Result<RunOutcome, Error>) {
        if let Some(sender) = self.result.lock().take() {
            // Whoever waited may be gone; then nobody wants to know.
            let _ = sender.send(result);
        }
    }
}

impl CallbackReceiver for RunTask {
    fn receive(self: Arc<Self>, call: CallbackCall) {
        self.send(TaskMessage::Callback(call));
    }
}
