//! Waits for a promise: jobs, answers of the host, and timers, until it is settled or nothing is left that could.

use super::calls::{promised_callback, settle_call};
use super::run_context::RunContext;
use crate::host::HostValue;
use crate::task::{PauseReason, RunTask, TaskMessage};
use crate::value::JsValue;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Object, Promise, Result};
use std::rc::Rc;
use std::time::Instant;

/// What the promise settled to; `None` if it never will.
pub fn await_promise<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    core: &Object<'js>,
    promise: &Promise<'js>,
) -> Result<Option<JsValue<'js>>> {
    let task = world.task().ok_or(rquickjs::Error::Unknown)?;
    loop {
        while task.budget.stopped().is_none() && ctx.execute_pending_job() {}
        if task.budget.stopped().is_some() {
            return Err(world.terminate(ctx));
        }
        let failure: JsValue<'js> = core.get::<_, Function<'js>>("failure")?.call(())?;
        if let Some(failure) = failure.as_object() {
            return Err(ctx.throw(failure.get("error")?));
        }
        if promise.state() != PromiseState::Pending {
            return promise.result::<JsValue<'js>>().transpose();
        }
        if !step(world, ctx, core, &task)? {
            return Ok(None);
        }
    }
}

/// One thing that may have come: an answer, or a timer. False if nothing can come any more.
fn step<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    core: &Object<'js>,
    task: &RunTask,
) -> Result<bool> {
    let message = world
        .deferred
        .borrow_mut()
        .pop_front()
        .or_else(|| task.next_message());
    if let Some(message) = message {
        deliver(world, ctx, core, message)?;
        return Ok(true);
    }
    let due = world.timers.borrow_mut().due();
    if let Some(id) = due {
        core.get::<_, Function<'js>>("fire")?.call::<_, ()>((id,))?;
        return Ok(true);
    }
    let next = world.timers.borrow().next();
    if next.is_none() && world.promised.borrow().is_empty() {
        return Ok(false);
    }
    if let Some(at) = next {
        ask_to_be_woken(world, task, at);
    }
    match world.wait(task) {
        Some(message) => deliver(world, ctx, core, message)?,
        None => return Err(world.terminate(ctx)),
    }
    Ok(true)
}

/// Asks for a message at the time of the next timer, once for each time.
fn ask_to_be_woken(world: &RunContext, task: &RunTask, at: Instant) {
    if world
        .timers
        .borrow()
        .asked
        .is_some_and(|asked| asked <= at && asked > Instant::now())
    {
        return;
    }
    world.timers.borrow_mut().asked = Some(at);
    let future = Box::pin(async move {
        tokio::time::sleep_until(at.into()).await;
        Ok(HostValue::Undefined)
    });
    world.ask(task, PauseReason::Call(0, future));
}

fn deliver<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    core: &Object<'js>,
    message: TaskMessage,
) -> Result<()> {
    match message {
        // The answer to a timer's sleep: having come is all it says.
        TaskMessage::Reply(0, _) => Ok(()),
        TaskMessage::Reply(number, reply) => settle_call(world, ctx, core, number, reply),
        TaskMessage::Callback(call) => promised_callback(world, ctx, call),
        // Only calls that the script stands still for are asked again, and the next function is called only after this one.
        TaskMessage::AskAgain(_) | TaskMessage::Call(_) => Ok(()),
    }
}
