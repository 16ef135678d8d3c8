//! What the host side of one run knows while it runs.

use super::PreludeObject;
use crate::bare::{EngineWords, FiberPauser, RuntimeMemory};
use crate::clock::thread_time;
use crate::error::Error;
use crate::host::Host;
use crate::limits::StopReason;
use crate::prelude::Prelude;
use crate::program::Program;
use crate::run::timers::RunTimers;
use crate::task::{PauseReason, RunJob, RunTask, TaskMessage};
use ambit_quickjs_heap::HeapTemplate;
use rquickjs::{Ctx, Function, Persistent, Result, Value};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may keep its thread while others wait.
const TURN: Duration = Duration::from_millis(5);

/// A host call that took less time counts to its run: to ask for the thread's processor time would take as long.
const CHEAP_CALL: Duration = Duration::from_micros(20);

/// The host side of a run.
pub struct RunContext {
    /// Puts the run aside.
    pub pauser: FiberPauser<PauseReason>,
    /// What the runtime was made of.
    pub prelude: Arc<Prelude>,
    pub timers: RefCell<RunTimers>,
    /// Answers to promises that came while the run was in another host call.
    pub deferred: RefCell<VecDeque<TaskMessage>>,
    /// Host calls that have returned a promise and are not settled.
    pub promised: RefCell<HashMap<u64, PendingPromise>>,
    job: RefCell<Option<CurrentJob>>,
    core: RefCell<Option<Persistent<PreludeObject<'static>>>>,
    numbers: Cell<u64>,
    /// The thread's processor time up to which this run's use is counted.
    counted: Cell<Duration>,
    resumed: Cell<Instant>,
    /// By which the watch thread reaches the engine.
    pub words: OnceCell<EngineWords>,
    /// What is put aside while the run waits; nothing of a runtime that is kept for others.
    memory: OnceCell<(RuntimeMemory, Arc<HeapTemplate>)>,
}

/// A host call that has returned a promise.
#[derive(Default)]
pub struct PendingPromise {
    /// The functions that the script gave to it.
    pub functions: Vec<Persistent<Function<'static>>>,
    /// What the last of them that threw has thrown.
    pub threw: Option<Persistent<Value<'static>>>,
}

struct CurrentJob {
    task: Arc<RunTask>,
    program: Arc<Program>,
    host: Arc<dyn Host>,
}

impl RunContext {
    /// A world without a job.
    pub fn new(pauser: FiberPauser<PauseReason>, prelude: Arc<Prelude>) -> Self {
        Self {
            pauser,
            prelude,
            timers: RefCell::default(),
            deferred: RefCell::default(),
            promised: RefCell::default(),
            job: RefCell::new(None),
            core: RefCell::new(None),
            numbers: Cell::new(0),
            counted: Cell::new(Duration::ZERO),
            resumed: Cell::new(Instant::now()),
            words: OnceCell::new(),
            memory: OnceCell::new(),
        }
    }

    /// Begins to count for a job.
    pub fn begin(&self, job: &RunJob) {
        *self.job.borrow_mut() = Some(CurrentJob {
            task: Arc::clone(&job.task),
            program: Arc::clone(&job.program),
            host: Arc::clone(&job.host),
        });
        self.timers.borrow_mut().limit = job.task.budget.limits.timers;
        job.task.words.set(self.words.get().copied());
        self.resume(&job.task);
    }

    /// Stops counting, and lets go of everything of the job that lives in the runtime.
    pub fn end(&self) {
        if let Some(task) = self.task() {
            task.budget.put_aside();
            task.words.set(None);
        }
        self.leave();
        self.timers.borrow_mut().asked = None;
        self.numbers.set(0);
        self.job.borrow_mut().take();
    }

    /// Lets go of the runtime.
    pub fn forget(&self) {
        self.end();
        self.core.borrow_mut().take();
    }

    pub fn task(&self) -> Option<Arc<RunTask>> {
        self.job.borrow().as_ref().map(|job| Arc::clone(&job.task))
    }

    pub fn program(&self) -> Option<Arc<Program>> {
        self.job
            .borrow()
            .as_ref()
            .map(|job| Arc::clone(&job.program))
    }

    pub fn host(&self) -> Option<Arc<dyn Host>> {
        self.job.borrow().as_ref().map(|job| Arc::clone(&job.host))
    }

    /// Keeps the prelude's object.
    pub fn keep<'js>(&self, ctx: &Ctx<'js>, core: PreludeObject<'js>) {
        *self.core.borrow_mut() = Some(Persistent::save(ctx, core));
    }

    /// The prelude's object.
    pub fn core<'js>(&self, ctx: &Ctx<'js>) -> Result<PreludeObject<'js>> {
        let kept = self.core.borrow().clone();
        kept.ok_or(rquickjs::Error::Unknown)?.restore(ctx)
    }

    /// A number that no other call of this run has.
    pub fn number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// The engine asks from time to time: must the run end? Lets others have the thread when it is their turn.
    pub fn poll(&self) -> bool {
        let Some(task) = self.task() else {
            return false;
        };
        let must_end = self.count(&task).is_some() || self.give_way(&task, Instant::now());
        if must_end {
            task.budget.meter.allow_error();
        }
        must_end
    }

    /// Lets others have the thread when it is their turn; true if the run must end.
    fn give_way(&self, task: &RunTask, now: Instant) -> bool {
        let crowded = || {
            let scheduler = task.scheduler.upgrade();
            scheduler.is_some_and(|threads| threads.is_crowded())
        };
        if now.saturating_duration_since(self.resumed.get()) < TURN || !crowded() {
            return false;
        }
        self.pause(task, PauseReason::Yield)
    }

    /// Counts what the run has used since it was last counted, and says why it must end.
    pub fn count(&self, task: &RunTask) -> Option<StopReason> {
        let now = thread_time();
        task.budget
            .spend(now.saturating_sub(self.counted.replace(now)), now)
    }

    /// Puts the run aside until it is resumed; true if it must end.
    pub fn pause(&self, task: &RunTask, pause: PauseReason) -> bool {
        self.count(task);
        task.budget.put_aside();
        self.pauser.pause(pause);
        self.resume(task).is_some()
    }

    /// Puts the run aside while its thread makes a call; true if the run must end. Whatever the answer, the same thread
    /// goes on with it at once, unless it is the turn of others: a loop of calls that are all answered at once would keep it.
    pub fn ask(&self, task: &RunTask, call: PauseReason) -> bool {
        let asked = Instant::now();
        let overdue = task.budget.put_aside();
        self.pauser.pause(call);
        let took = asked.elapsed();
        let must_end = if took < CHEAP_CALL {
            task.budget.go_on(overdue);
            task.budget.stopped().is_some()
        } else {
            // The thread may have had no turn for a part of that time; then the run is counted less than it has used.
            self.counted
                .set(thread_time().min(self.counted.get() + took));
            self.count(task).is_some()
        };
        must_end || self.give_way(task, asked + took)
    }

    /// Asks a call again that has said so; true if the run must end.
    pub fn ask_again(&self, task: &RunTask, number: u64) -> bool {
        let call = task.take_call(number);
        call.is_some_and(|future| self.ask(task, PauseReason::Call(number, future)))
    }

    fn resume(&self, task: &RunTask) -> Option<StopReason> {
        let now = thread_time();
        self.counted.set(now);
        self.resumed.set(Instant::now());
        task.budget.spend(Duration::ZERO, now)
    }

    /// Has the memory of the runtime put aside while a run waits.
    pub fn put_memory_aside(&self, memory: &RuntimeMemory, template: &Arc<HeapTemplate>) {
        let both = (memory.clone(), Arc::clone(template));
        // A runtime has one memory.
        let _ = self.memory.set(both);
    }

    /// Puts the run aside until something comes, without its memory if many wait; true if it must end.
    fn pause_in_little_memory(&self, task: &RunTask) -> bool {
        let wait = || self.pause(task, PauseReason::Wait);
        let Some((memory, template)) = self.memory.get() else {
            return wait();
        };
        if let Ok(_place) = self.prelude.waiting.try_acquire() {
            return wait();
        }
        // The run does not pay for what is done with its memory.
        self.count(task);
        task.words.set(None);
        let must_end = memory.put_aside(template, || {
            self.counted.set(thread_time());
            wait()
        });
        task.words.set(self.words.get().copied());
        self.counted.set(thread_time());
        must_end
    }

    /// Waits for the next message; `None` if the run must end.
    pub fn wait(&self, task: &RunTask) -> Option<TaskMessage> {
        loop {
            if task.budget.stopped().is_some() {
                return None;
            }
            let must_end = match task.next_message() {
                Some(TaskMessage::AskAgain(number)) => self.ask_again(task, number),
                Some(message) => return Some(message),
                None => self.pause_in_little_memory(task),
            };
            if must_end {
                return None;
            }
        }
    }

    /// Loads a module whole: whatever memory it takes, which counts behind it, and though the run must end meanwhile. The engine
    /// cannot always free what it has of a module of which it could load only a part.
    pub fn load_whole<T>(&self, load: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(task) = self.task() else {
            return load();
        };
        let words = task.words.take();
        // Modules are loaded within those that import them.
        let is_outermost = words.is_some();
        let loaded = if is_outermost && task.budget.stopped().is_some() {
            Err(rquickjs::Error::Unknown)
        } else {
            task.budget.meter.unlimited_while(load)
        };
        task.words.set(words);
        loaded
    }

    /// Ends the run from inside a host function, so that nothing in the script can catch it.
    pub fn terminate(&self, ctx: &Ctx<'_>) -> rquickjs::Error {
        if let Some(task) = self.task() {
            task.words.ask_soon();
        }
        let spin = || -> Result<()> { self.core(ctx)?.get::<_, Function<'_>>("spin")?.call(()) };
        match spin() {
            Err(error) => error,
            Ok(()) => rquickjs::Error::Exception,
        }
    }

    /// The error of a run that must end.
    pub fn stopped_error(&self, job: &RunJob) -> Option<Error> {
        let reason = self.count(&job.task)?;
        let name = format!("{} {}", job.program.entry(), job.function);
        Some(job.task.budget.error(reason, &name))
    }

    /// Forgets timers and promised calls that nobody waits for any more; returns how many.
    pub fn leave(&self) -> usize {
        let promised = std::mem::take(&mut *self.promised.borrow_mut());
        self.deferred.borrow_mut().clear();
        self.timers.borrow_mut().clear() + promised.len()
    }

    /// Waits for the next function to call; `None` if there is none.
    pub fn next(&self, task: &RunTask) -> Option<RunJob> {
        loop {
            // Answers that come now belong to calls that were dropped.
            if let TaskMessage::Call(job) = self.wait(task)? {
                return Some(*job);
            }
        }
    }
}
