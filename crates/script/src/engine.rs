//! The engine: what runs scripts.

use crate::error::{Error, HostError, LoadError, Result};
use crate::host::{Caller, Host, Surface, Value};
use crate::limits::{Budget, GRACE, Limits, Stop};
use crate::pool::Pool;
use crate::prelude::Prelude;
use crate::program::{Cache, Files, Program, Source};
use crate::run::Job;
use crate::task::{HostFuture, Letter, Outcome, Request, Task, lock};
use crate::warm::Warm;
use futures::FutureExt;
use futures::future::{AbortHandle, Abortable};
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// How an engine is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Threads that run scripts; one for each core is right.
    pub threads: usize,
    /// Runtimes made ahead of time.
    pub warm: usize,
    /// The largest stack that a run may be allowed.
    pub stack: usize,
    /// Bytes of all sources of one program.
    pub program: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            threads: cores,
            warm: 4 * cores,
            stack: 1 << 20,
            program: 2 << 20,
        }
    }
}

/// One call of a function.
pub struct Run {
    /// Where the function is.
    pub program: Arc<Program>,
    /// Its name.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<Value>,
    /// Who answers what it calls.
    pub host: Arc<dyn Host>,
    /// What it may use.
    pub limits: Limits,
    /// The run that it is part of; then it uses that one's limits, and `limits` says nothing.
    pub within: Option<Caller>,
}

/// Runs functions of programs, each in a runtime of its own that is never used again.
pub struct Engine {
    pool: Arc<Pool>,
    warm: Arc<Warm>,
    cache: Cache,
    stack: usize,
}

impl Engine {
    /// An engine whose scripts can call what the surface describes.
    pub fn new(settings: &Settings, surface: Surface) -> Result<Self> {
        let prelude = Arc::new(Prelude::new(surface)?);
        let cache = Cache::new(settings.program, prelude.names());
        let warm = Arc::new(Warm::new(settings.warm, settings.stack, prelude));
        let pool = Pool::start(settings.threads, Arc::clone(&warm))
            .map_err(|error| Error::Internal(format!("no thread for scripts: {error}")))?;
        Ok(Self {
            pool,
            warm,
            cache,
            stack: settings.stack,
        })
    }

    /// Loads a file and everything it imports. What was compiled before and has not changed is not compiled again.
    pub fn load(&self, files: &dyn Files, source: &Source) -> Result<Arc<Program>, LoadError> {
        self.cache.load(files, source)
    }

    /// Calls a function and waits for what it returns, or for what its promise settles to.
    ///
    /// Dropping the future ends the run. Needs a Tokio runtime with timers.
    pub async fn run(&self, run: Run) -> Result<Outcome> {
        let ready = self.warm.take()?;
        let budget = match &run.within {
            Some(Caller(outer)) => outer.within(ready.meter),
            None => {
                let stack = run.limits.stack.min(self.stack);
                Budget::new(
                    Limits {
                        stack,
                        ..run.limits
                    },
                    ready.meter,
                )
            }
        };
        let until = Instant::from_std(budget.started) + budget.limits.wall;
        let budget = Arc::new(budget);
        let (requests, asked) = mpsc::unbounded_channel();
        let (result, answer) = oneshot::channel();
        let task = Task::new(
            ready.fiber,
            budget,
            Arc::downgrade(&self.pool),
            requests,
            result,
        );
        let waiting = Waiting {
            name: format!("{} {}", run.program.entry(), run.function),
            until,
            task: Arc::clone(&task),
        };
        *lock(&ready.slot) = Some(Job {
            task: Arc::clone(&task),
            program: run.program,
            function: run.function,
            arguments: run.arguments,
            host: run.host,
        });
        self.pool.submit(task);
        waiting.answer(asked, answer).await
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.pool.close();
        self.warm.drain();
    }
}

/// Whoever waits for a run; ends it when dropped.
struct Waiting {
    name: String,
    until: Instant,
    task: Arc<Task>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.task.budget.stop(Stop::Cancelled);
        self.task.wake();
    }
}

impl Waiting {
    /// Does the run's host calls until it has ended or must be given up.
    async fn answer(
        self,
        mut asked: mpsc::UnboundedReceiver<Request>,
        mut answer: oneshot::Receiver<Result<Outcome>>,
    ) -> Result<Outcome> {
        let mut calls = FuturesUnordered::new();
        let mut running = HashMap::new();
        let end = tokio::time::sleep_until(self.until);
        tokio::pin!(end);
        loop {
            tokio::select! {
                biased;
                result = &mut answer => {
                    let gone = || Error::Internal("the run ended without an answer".to_owned());
                    return result.unwrap_or_else(|_| Err(gone()));
                }
                Some((number, reply)) = calls.next(), if !calls.is_empty() => {
                    running.remove(&number);
                    if let Some(reply) = reply {
                        self.task.post(Letter::Reply(number, reply));
                    }
                }
                Some(request) = asked.recv() => match request {
                    Request::Call(number, future) => {
                        let (handle, answered) = cancellable(number, future);
                        running.insert(number, handle);
                        calls.push(answered);
                    }
                    Request::Cancel(number) => {
                        running.remove(&number).iter().for_each(AbortHandle::abort);
                    }
                    Request::Stuck => return Err(self.given_up()),
                },
                () = &mut end => {
                    if self.task.budget.stopped() == Some(Stop::Wall) {
                        return Err(self.given_up());
                    }
                    self.task.budget.stop(Stop::Wall);
                    self.task.wake();
                    calls.clear();
                    end.as_mut().reset(Instant::now() + GRACE);
                }
            }
        }
    }

    fn given_up(&self) -> Error {
        let budget = &self.task.budget;
        let reason = budget.stopped().unwrap_or(Stop::Cpu);
        budget.error(reason, &self.name)
    }
}

/// A host call that can be cancelled, and then has no answer.
fn cancellable(
    number: u64,
    future: HostFuture,
) -> (AbortHandle, impl Future<Output = (u64, Option<Reply>)>) {
    let (handle, registration) = AbortHandle::new_pair();
    let answered = Abortable::new(AssertUnwindSafe(future).catch_unwind(), registration);
    let answered = answered.map(move |reply| {
        let caught = |reply: std::thread::Result<Reply>| reply.unwrap_or_else(|_| Err(panicked()));
        (number, reply.ok().map(caught))
    });
    (handle, answered)
}

/// What a host answers.
type Reply = Result<Value, HostError>;

/// What a script sees of a host call that panicked.
pub fn panicked() -> HostError {
    HostError::new(
        "internal",
        "the host call failed; the log of the host says why",
    )
}
