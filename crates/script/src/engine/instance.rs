//! One run as seen by who waits for it: calls go in, host calls are done, answers come out.

use crate::engine::Engine;
use crate::error::{Error, HostError, Result};
use crate::host::{Host, HostValue};
use crate::limits::{GRACE, StopReason};
use crate::program::Program;
use crate::task::{HostFuture, RunJob, RunOutcome, RunTask, TaskMessage, TaskRequest};
use futures::FutureExt;
use futures::future::{AbortHandle, Abortable};
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// A run of which several functions can be called, one after another. Dropping it ends it.
pub struct ProgramInstance {
    pub(crate) task: Arc<RunTask>,
    /// The threads that run it must not end before it.
    pub(crate) engine: Engine,
    pub(crate) program: Arc<Program>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) requests: mpsc::UnboundedReceiver<TaskRequest>,
    /// There is one call and no other.
    pub(crate) once: bool,
}

impl Drop for ProgramInstance {
    fn drop(&mut self) {
        // A run that was never called has nothing to end.
        if self.task.was_called() {
            self.end();
        }
    }
}

impl ProgramInstance {
    /// Calls a function and waits for what it returns, or for what its promise settles to.
    ///
    /// Dropping the future ends the run, as does passing one of its limits; an error that the function throws does not.
    pub async fn call(&mut self, function: &str, arguments: Vec<HostValue>) -> Result<RunOutcome> {
        let name = format!("{} {function}", self.program.entry());
        if let Some(reason) = self.task.budget.stopped() {
            return Err(self.task.budget.error(reason, &name));
        }
        let (result, answer) = oneshot::channel();
        self.task.expect(result);
        let job = RunJob {
            task: Arc::clone(&self.task),
            program: Arc::clone(&self.program),
            function: function.to_owned(),
            arguments,
            host: Arc::clone(&self.host),
            once: self.once,
        };
        if self.task.call(job) {
            self.engine.submit(Arc::clone(&self.task));
        }
        let unfinished = CancelOnDrop(Some(Arc::clone(&self.task)));
        let result = self.answer(answer, &name).await;
        unfinished.finish();
        result
    }

    /// Processor time that the run and those within it have used so far.
    pub fn used(&self) -> Duration {
        self.task.budget.used()
    }

    /// Does the run's host calls until it has answered or must be given up.
    async fn answer(
        &mut self,
        mut answer: oneshot::Receiver<Result<RunOutcome>>,
        name: &str,
    ) -> Result<RunOutcome> {
        let _waiting = DropCalls(Arc::clone(&self.task));
        let mut calls = FuturesUnordered::new();
        let mut running = HashMap::new();
        let budget = &self.task.budget;
        let end = tokio::time::sleep_until(Instant::from_std(budget.started) + budget.limits.wall);
        tokio::pin!(end);
        let mut is_past_wall = false;
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
                        self.task.send(TaskMessage::Reply(number, reply));
                    }
                }
                Some(request) = self.requests.recv() => match request {
                    TaskRequest::Call(number, future) => {
                        let (handle, answered) = cancellable(number, future);
                        running.insert(number, handle);
                        calls.push(answered);
                    }
                    TaskRequest::Cancel(number) => {
                        running.remove(&number).iter().for_each(AbortHandle::abort);
                    }
                    TaskRequest::Stuck => return Err(self.given_up(name)),
                },
                () = &mut end => {
                    if is_past_wall {
                        return Err(self.given_up(name));
                    }
                    is_past_wall = true;
                    self.task.budget.stop(StopReason::Wall);
                    self.task.wake();
                    calls.clear();
                    self.task.drop_calls();
                    end.as_mut().reset(Instant::now() + GRACE);
                }
            }
        }
    }

    fn given_up(&self, name: &str) -> Error {
        let budget = &self.task.budget;
        let reason = budget.stopped().unwrap_or(StopReason::Cpu);
        budget.error(reason, name)
    }

    fn end(&self) {
        self.task.budget.stop(StopReason::Cancelled);
        self.task.wake();
    }
}

/// Ends a run whose call nobody waits for any more.
struct CancelOnDrop(Option<Arc<RunTask>>);

impl CancelOnDrop {
    fn finish(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.budget.stop(StopReason::Cancelled);
            task.wake();
        }
    }
}

/// Drops the host calls that nobody waits for any more.
struct DropCalls(Arc<RunTask>);

impl Drop for DropCalls {
    fn drop(&mut self) {
        self.0.drop_calls();
    }
}

/// A host call that can be cancelled, and then has no answer.
fn cancellable(
    number: u64,
    future: HostFuture,
) -> (AbortHandle, impl Future<Output = (u64, Option<HostReply>)>) {
    let (handle, registration) = AbortHandle::new_pair();
    let answered = Abortable::new(AssertUnwindSafe(future).catch_unwind(), registration);
    let answered = answered.map(move |reply| {
        let caught = |reply: std::thread::Result<HostReply>| {
            reply.unwrap_or_else(|_| Err(HostError::panicked()))
        };
        (number, reply.ok().map(caught))
    });
    (handle, answered)
}

type HostReply = Result<HostValue, HostError>;
