//! Calls of a script to its host.

use super::exception;
use super::run_context::{PendingPromise, RunContext};
use crate::error::HostError;
use crate::handed_memory::HandedMemory;
use crate::host::{
    Callback, CallbackCall, CallbackReceiver, Host, HostCall, HostValue, ParentRun, ReturnKind,
};
use crate::task::{HostFuture, PauseReason, RunTask, TaskMessage};
use crate::value::{JsValue, ValueReader, ValueWriter};
use rquickjs::{Array, Ctx, Exception, Function, IntoJs, Object, Persistent, Result};
use serde_json::Value;
use std::rc::Rc;
use std::sync::Arc;

/// So many calls of a run that have returned a promise may be without an answer.
const PROMISED: usize = 10_000;

/// One call as the prelude hands it over.
pub struct PreludeCall<'js> {
    /// The number of what is called.
    pub target: usize,
    /// The object's handle.
    pub handle: JsValue<'js>,
    pub arguments: Array<'js>,
    /// The prelude's function that makes objects of a class.
    pub make: Function<'js>,
    /// The object that it was called on; `undefined` for a global function.
    pub receiver: JsValue<'js>,
}

/// Calls the host. Waits for the value, or returns the number under which the promise will be settled.
pub fn call<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    asked: &PreludeCall<'js>,
) -> Result<JsValue<'js>> {
    let (Some(task), Some(host)) = (world.task(), world.host()) else {
        return Err(Exception::throw_message(
            ctx,
            "host calls are not possible here",
        ));
    };
    let Some(target) = world.prelude.targets.get(asked.target) else {
        return Err(Exception::throw_message(ctx, "no such host function"));
    };
    let is_promise = target.returns == ReturnKind::Promise;
    check_promised(world, ctx, is_promise)?;
    let number = world.number();
    let mut reader = ValueReader::new(ctx, &task.budget, task.budget.limits.value);
    let (arguments, undefined) = arguments(world, asked, target.is_lenient, &mut reader)?;
    let handle = reader.read(&asked.handle)?.unwrap_or_default();
    let functions = std::mem::take(&mut reader.functions);
    let receiver: Arc<dyn CallbackReceiver> = Arc::<RunTask>::clone(&task);
    let callbacks = functions
        .iter()
        .enumerate()
        .map(|(index, (path, _))| Callback {
            path: path.clone(),
            call: number,
            number: index,
            receiver: Arc::downgrade(&receiver),
        });
    let call = HostCall {
        class: target.class.clone(),
        handle,
        method: target.method.clone(),
        arguments,
        undefined,
        callbacks: callbacks.collect(),
        run: ParentRun(Arc::clone(&task.budget)),
    };
    let future = ask_host(host, call, reader.handed);
    // What a promise stands for goes on while the script does.
    let reason = match is_promise {
        true => PauseReason::Call,
        false => PauseReason::FirstCall,
    };
    if world.ask(&task, reason(number, future)) {
        return Err(world.terminate(ctx));
    }
    if is_promise {
        let functions = functions.into_iter();
        let kept = functions.map(|(_, function)| Persistent::save(ctx, function));
        keep_promise(world, number, kept.collect());
        return number.into_js(ctx);
    }
    answer(
        world,
        ctx,
        &task,
        &PendingCall {
            number,
            functions,
            make: asked.make.clone(),
            receiver: asked.receiver.clone(),
        },
    )
}

/// Asks the host. What it was handed counts until it has answered.
pub fn ask_host(host: Arc<dyn Host>, call: HostCall, handed: HandedMemory) -> HostFuture {
    Box::pin(async move {
        let _handed = handed;
        host.call(call).await
    })
}

/// Refuses one more call that returns a promise where too many have no answer.
fn check_promised(world: &RunContext, ctx: &Ctx<'_>, is_promise: bool) -> Result<()> {
    if !is_promise || world.promised.borrow().len() < PROMISED {
        return Ok(());
    }
    let text = format!("at most {PROMISED} calls without an answer at once: await some of them");
    Err(exception::limit_exceeded(ctx.clone(), &text))
}

/// Keeps the functions that were given to a promised call until it is settled.
fn keep_promise(world: &RunContext, number: u64, functions: Vec<Persistent<Function<'static>>>) {
    let promised = PendingPromise {
        functions,
        threw: None,
    };
    world.promised.borrow_mut().insert(number, promised);
}

/// The arguments as JSON, and the numbers of those that are `undefined`.
fn arguments<'js>(
    world: &Rc<RunContext>,
    asked: &PreludeCall<'js>,
    is_lenient: bool,
    reader: &mut ValueReader<'js>,
) -> Result<(Vec<Value>, Vec<usize>)> {
    let ctx = asked.arguments.ctx();
    let has_ended = || {
        world
            .task()
            .is_none_or(|task| task.budget.stopped().is_some())
    };
    let mut arguments = Vec::with_capacity(asked.arguments.len());
    let mut undefined = Vec::new();
    for (index, argument) in asked.arguments.iter::<JsValue<'js>>().enumerate() {
        let argument = argument?;
        if argument.is_undefined() {
            undefined.push(index);
        }
        arguments.push(match reader.argument(index, &argument) {
            Err(_) if is_lenient && !has_ended() => {
                exception::read_exception(ctx, &ctx.catch()).message.into()
            }
            read => read?,
        });
    }
    Ok((arguments, undefined))
}

struct PendingCall<'js> {
    number: u64,
    functions: Vec<(String, Function<'js>)>,
    make: Function<'js>,
    receiver: JsValue<'js>,
}

/// Waits for the answer; runs the script's functions meanwhile when the host calls them.
fn answer<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    task: &RunTask,
    waits: &PendingCall<'js>,
) -> Result<JsValue<'js>> {
    let budget = &task.budget;
    let writer = ValueWriter { ctx, budget };
    let mut last_thrown = None;
    loop {
        let Some(message) = deferred(world, waits.number).or_else(|| world.wait(task)) else {
            return Err(world.terminate(ctx));
        };
        match message {
            TaskMessage::Reply(number, reply) if number == waits.number => {
                return match reply {
                    Ok(HostValue::Receiver) => Ok(waits.receiver.clone()),
                    Ok(value) => writer.value(&waits.make, &value),
                    Err(error) => match last_thrown.filter(|_| error.from_callback) {
                        Some(value) => Err(ctx.throw(value)),
                        None => Err(ctx.throw(error_value(ctx, &error)?)),
                    },
                };
            }
            TaskMessage::Callback(call) if call.call == waits.number => {
                let Some((_, function)) = waits.functions.get(call.number) else {
                    continue;
                };
                if let Some(value) = callback(world, ctx, function, call)? {
                    last_thrown = Some(value);
                }
            }
            other => world.deferred.borrow_mut().push_back(other),
        }
    }
}

/// What came for this call while the script waited for another one, within one of its functions.
fn deferred(world: &RunContext, number: u64) -> Option<TaskMessage> {
    let mut deferred = world.deferred.borrow_mut();
    let is_own = |message: &TaskMessage| match message {
        TaskMessage::Reply(other, _) => *other == number,
        TaskMessage::Callback(call) => call.call == number,
        _ => false,
    };
    let at = deferred.iter().position(is_own)?;
    deferred.remove(at)
}

/// Runs one of the script's functions for the host; returns what it threw.
fn callback<'js>(
    world: &RunContext,
    ctx: &Ctx<'js>,
    function: &Function<'js>,
    call: CallbackCall,
) -> Result<Option<JsValue<'js>>> {
    let Some(task) = world.task() else {
        return Ok(None);
    };
    let budget = &task.budget;
    let run = || {
        let writer = ValueWriter { ctx, budget };
        let mut arguments = rquickjs::function::Args::new(ctx.clone(), call.arguments.len());
        for argument in &call.arguments {
            arguments.push_arg(writer.json(argument)?)?;
        }
        let value: JsValue<'js> = function.call_arg(arguments)?;
        ValueReader::new(ctx, budget, budget.limits.value).read(&value)
    };
    let result = run();
    if budget.stopped().is_some() {
        return Err(world.terminate(ctx));
    }
    let (reply, threw) = match result {
        Ok(value) => (Ok(value.unwrap_or_default()), None),
        Err(_) => {
            let value = ctx.catch();
            (Err(exception::read_exception(ctx, &value)), Some(value))
        }
    };
    // The host may have stopped waiting for this answer.
    let _ = call.reply.send(reply);
    Ok(threw)
}

/// Runs a function that was given to a call that returned a promise. If that call has ended, its host learns it from the
/// dropped answer.
pub fn promised_callback(world: &RunContext, ctx: &Ctx<'_>, call: CallbackCall) -> Result<()> {
    let number = call.call;
    let function = {
        let promised = world.promised.borrow();
        promised
            .get(&number)
            .and_then(|promised| promised.functions.get(call.number).cloned())
    };
    let Some(function) = function else {
        return Ok(());
    };
    let threw = callback(world, ctx, &function.restore(ctx)?, call)?;
    if let (Some(value), Some(promised)) = (threw, world.promised.borrow_mut().get_mut(&number)) {
        promised.threw = Some(Persistent::save(ctx, value));
    }
    Ok(())
}

pub fn settle_call<'js>(
    world: &RunContext,
    ctx: &Ctx<'js>,
    core: &Object<'js>,
    number: u64,
    reply: std::result::Result<HostValue, HostError>,
) -> Result<()> {
    let promised = world.promised.borrow_mut().remove(&number);
    let (Some(promised), Some(task)) = (promised, world.task()) else {
        // The script cancelled it while the answer was on its way.
        return Ok(());
    };
    let settle: Function<'js> = core.get("settle")?;
    match reply {
        Ok(value) => {
            let make: Function<'js> = core.get("make")?;
            let budget = &task.budget;
            let value = ValueWriter { ctx, budget }.value(&make, &value)?;
            settle.call((number, true, value))
        }
        Err(error) => match promised.threw.filter(|_| error.from_callback) {
            Some(value) => settle.call((number, false, value.restore(ctx)?)),
            None => settle.call((number, false, error_value(ctx, &error)?)),
        },
    }
}

/// Classes of errors that the engine has.
const ENGINES: [&str; 2] = ["TypeError", "RangeError"];

fn error_value<'js>(ctx: &Ctx<'js>, error: &HostError) -> Result<JsValue<'js>> {
    let made = match error.name {
        Some("TypeError") => Exception::throw_type(ctx, &error.message),
        Some("RangeError") => Exception::throw_range(ctx, &error.message),
        _ => Exception::throw_message(ctx, &error.message),
    };
    debug_assert!(made.is_exception());
    let value = ctx.catch();
    let Some(object) = value.as_object() else {
        return Ok(value);
    };
    if let Some(name) = error.name.filter(|name| !ENGINES.contains(name)) {
        object.set("name", name)?;
    }
    match (&error.code, error.status) {
        (Some(code), _) => object.set("code", code.as_str())?,
        // As with `Exception`: a code that is a number is the status.
        (None, Some(status)) => object.set("code", status)?,
        (None, None) => {}
    }
    if let Some(status) = error.status {
        object.set("status", status)?;
    }
    Ok(value)
}
