//! What the prelude is given to build on.

use super::calls::{self, PreludeCall, ask_host};
use super::exception;
use super::run_context::RunContext;
use crate::host::{HostCall, ParentRun};
use crate::task::{PauseReason, TaskRequest};
use crate::value::{JsValue, ValueReader};
use rquickjs::{Array, Ctx, Function, Object, Result};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest timer: a day. Runs do not live that long.
const LONGEST: f64 = 86_400_000.0;

/// The object that the prelude closes over.
pub fn make<'js>(ctx: &Ctx<'js>, world: &Rc<RunContext>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let own = Rc::clone(world);
    // A name that is no text is no method's.
    let method = move |class: String, name: rquickjs::String<'js>| {
        let name = name.to_string().ok()?;
        own.prelude.method(&class, &name)
    };
    native.set("method", Function::new(ctx.clone(), method)?)?;
    let own = Rc::clone(world);
    let methods = move || own.prelude.methods();
    native.set("methods", Function::new(ctx.clone(), methods)?)?;
    native.set("globals", world.prelude.globals(ctx)?)?;
    native.set("unavailable", world.prelude.unavailable())?;
    let own = Rc::clone(world);
    let call = move |ctx: Ctx<'js>,
                     target: usize,
                     handle: JsValue<'js>,
                     arguments: Array<'js>,
                     make: Function<'js>,
                     receiver: JsValue<'js>| {
        let asked = PreludeCall {
            target,
            handle,
            arguments,
            make,
            receiver,
        };
        calls::call(&own, &ctx, &asked)
    };
    native.set("call", Function::new(ctx.clone(), call)?)?;
    let own = Rc::clone(world);
    let part = move |ctx: Ctx<'js>, name: String| {
        let native: Object<'js> = own.core(&ctx)?.get("native")?;
        own.prelude.install(&ctx, &name, &native)
    };
    native.set("part", Function::new(ctx.clone(), part)?)?;
    let own = Rc::clone(world);
    let stack = move |text: String| match own.program() {
        Some(program) => exception::mapped(&text, &program),
        None => text,
    };
    native.set("stack", Function::new(ctx.clone(), stack)?)?;
    let own = Rc::clone(world);
    let drop_call = move |number: u64| {
        own.promised.borrow_mut().remove(&number);
        if let Some(task) = own.task() {
            // Whoever waited for the run may be gone, and its calls with them.
            let _ = task.requests.send(TaskRequest::Cancel(number));
        }
    };
    native.set("drop", Function::new(ctx.clone(), drop_call)?)?;
    let own = Rc::clone(world);
    let log = move |ctx: Ctx<'js>, level: String, arguments: Array<'js>| {
        log(&own, &ctx, &level, &arguments)
    };
    native.set("log", Function::new(ctx.clone(), log)?)?;
    add_timers(ctx, world, &native)?;
    super::web::add(ctx, &native)?;
    Ok(native)
}

/// Setting and stopping timers.
fn add_timers<'js>(ctx: &Ctx<'js>, world: &Rc<RunContext>, native: &Object<'js>) -> Result<()> {
    let own = Rc::clone(world);
    let timer = move |ctx: Ctx<'js>, id: u32, wait: f64| {
        let at = Instant::now() + Duration::from_secs_f64(wait.clamp(0.0, LONGEST) / 1000.0);
        let mut timers = own.timers.borrow_mut();
        if timers.add(at, id) {
            return Ok(());
        }
        let text = format!("at most {} timers at once", timers.limit);
        drop(timers);
        Err(exception::limit_exceeded(ctx, &text))
    };
    native.set("timer", Function::new(ctx.clone(), timer)?)?;
    let own = Rc::clone(world);
    let clear = move |id: u32| own.timers.borrow_mut().remove(id);
    native.set("clear", Function::new(ctx.clone(), clear)?)?;
    Ok(())
}

/// One line of the console: a host call `console.<level>` whose answer nobody needs.
fn log<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    level: &str,
    arguments: &Array<'js>,
) -> Result<()> {
    let (Some(task), Some(host)) = (world.task(), world.host()) else {
        return Ok(());
    };
    let mut reader = ValueReader::new(ctx, &task.budget, task.budget.limits.value);
    let mut values = Vec::new();
    for argument in arguments.iter::<JsValue<'js>>() {
        values.push(match reader.read(&argument?) {
            Ok(value) => value.unwrap_or_default(),
            Err(_) if task.budget.stopped().is_some() => return Err(world.terminate(ctx)),
            // Writing a line never fails; it says what could not be written.
            Err(_) => exception::read_exception(ctx, &ctx.catch()).message.into(),
        });
    }
    let call = HostCall {
        class: "console".to_owned(),
        handle: serde_json::Value::Null,
        method: level.to_owned(),
        arguments: values,
        undefined: Vec::new(),
        callbacks: Vec::new(),
        run: ParentRun(Arc::clone(&task.budget)),
    };
    let future = ask_host(host, call, reader.handed);
    if world.ask(&task, PauseReason::Call(0, future)) {
        return Err(world.terminate(ctx));
    }
    Ok(())
}
