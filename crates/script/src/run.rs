//! What a fiber does, on its own stack: a runtime as it was made, functions called in it, and their promises waited for.

mod calls;
mod event_loop;
mod exception;
mod natives;
mod program_loader;
mod run_context;
mod timers;
mod web;

use crate::bare::{EngineWords, FiberPauser, RuntimeMemory};
use crate::error::{Error, Result};
use crate::prelude::Prelude;
use crate::program::{FunctionExport, Program};
use crate::task::{JobSlot, PauseReason, RunJob, RunOutcome, RuntimeReuse};
use crate::value::{JsValue, ValueReader, ValueWriter};
use program_loader::ProgramLoader;
use rquickjs::module::Evaluated;
use rquickjs::{Array, Context, Ctx, Function, Module, Object, Runtime};
use run_context::RunContext;
use std::rc::Rc;
use std::sync::Arc;

/// What a fiber does: makes a runtime, and does one run after another in it. Behind each of them everything in the runtime is
/// put back as it was made; a runtime that is not to be used again is freed behind its only run.
pub fn fiber_body(
    pauser: FiberPauser<PauseReason>,
    prelude: &Arc<Prelude>,
    slot: &JobSlot,
    reuse: RuntimeReuse,
) {
    let world = Rc::new(RunContext::new(pauser, Arc::clone(prelude)));
    let made = make(&world);
    // Dropped before the runtime, also by a panic: it is not freed while the world holds something of it.
    let _end = ForgetOnDrop(Rc::clone(&world));
    if let Ok(made) = &made {
        let template = prelude.template.get_or_init(|| made.memory.template());
        match reuse {
            RuntimeReuse::Ready => made.keep(&world),
            RuntimeReuse::Emptied => {
                world.put_memory_aside(&made.memory, template);
                made.memory.take_small_snapshot(template);
            }
            RuntimeReuse::Never => world.put_memory_aside(&made.memory, template),
        }
    }
    loop {
        if slot.lock().is_none() {
            world.pauser.pause(PauseReason::Warm);
        }
        let Some(job) = slot.lock().take() else {
            return;
        };
        let task = Arc::clone(&job.task);
        match &made {
            Ok(made) => task.answer(made.run(&world, job)),
            Err(reason) => task.answer(Err(Error::Internal(format!(
                "no runtime for a script: {reason}"
            )))),
        }
        // What is left of the run must not wait here for the next one.
        drop(task);
        let Ok(made) = &made else {
            return;
        };
        made.raise_panic(&world);
        let is_restored = match reuse {
            RuntimeReuse::Ready => made.memory.restore(),
            RuntimeReuse::Emptied => {
                let wait = || world.pauser.pause(PauseReason::Warm);
                made.memory.restore_behind(wait)
            }
            RuntimeReuse::Never => false,
        };
        if !is_restored {
            return;
        }
    }
}

/// A runtime with the prelude in it.
struct PreludeRuntime {
    context: Context,
    runtime: Runtime,
    memory: RuntimeMemory,
}

impl PreludeRuntime {
    /// Makes ready what scripts touch, and keeps how everything is.
    fn keep(&self, world: &RunContext) {
        let ready = |ctx: Ctx<'_>| {
            world
                .core(&ctx)?
                .get::<_, Function<'_>>("ready")?
                .call::<_, ()>(())
        };
        if self.context.with(ready).is_ok() {
            self.runtime.run_gc();
            self.memory.take_snapshot();
        }
    }

    /// Does a job and those that follow it; lets go of everything that they made.
    fn run(&self, world: &Rc<RunContext>, job: RunJob) -> Result<RunOutcome> {
        let budget = &job.task.budget;
        self.memory.count_to(&budget.meter);
        self.runtime.set_max_stack_size(budget.limits.stack);
        // Most runs are over before they have made as much garbage.
        self.runtime
            .set_gc_threshold((budget.limits.heap / 8).min(4 << 20));
        world.begin(&job);
        let last = self.context.with(|ctx| calls_in_turn(world, &ctx, job));
        world.end();
        last
    }

    /// A host function's panic that the script has caught waits for the next exception, outside of what is put back: it is
    /// raised here, and ends this fiber.
    fn raise_panic(&self, world: &RunContext) {
        let fail = |ctx: Ctx<'_>| {
            let fail: Function<'_> = world.core(&ctx)?.get("fail")?;
            fail.call::<_, ()>(())
        };
        // Without a panic it fails as it says.
        let _ = self.context.with(fail);
    }
}

/// Does one job after another in one instance of the program; returns the last result, which is not answered yet.
fn calls_in_turn(world: &Rc<RunContext>, ctx: &Ctx<'_>, mut job: RunJob) -> Result<RunOutcome> {
    let mut module = None;
    loop {
        let result = call(world, ctx, &job, &mut module);
        if job.once || job.task.budget.stopped().is_some() {
            return result;
        }
        world.leave();
        let task = Arc::clone(&job.task);
        task.answer(result);
        match world.next(&task) {
            Some(next) => job = next,
            None => return Err(Error::Cancelled),
        }
    }
}

/// Lets a world go of its runtime.
struct ForgetOnDrop(Rc<RunContext>);

impl Drop for ForgetOnDrop {
    fn drop(&mut self) {
        self.0.forget();
    }
}

fn make(world: &Rc<RunContext>) -> std::result::Result<PreludeRuntime, String> {
    let memory = RuntimeMemory::new().ok_or("there is no memory for it")?;
    let runtime = Runtime::new_with_alloc(memory.allocator()).map_err(|error| error.to_string())?;
    runtime.set_gc_threshold(4 << 20);
    runtime.set_loader(
        ProgramLoader(Rc::clone(world)),
        ProgramLoader(Rc::clone(world)),
    );
    let context = Context::full(&runtime).map_err(|error| error.to_string())?;
    let find = || EngineWords::find_offsets(&runtime, &context);
    let offsets = *world.prelude.engine_words.get_or_init(find);
    let offsets = offsets.ok_or("the engine does not count its steps as it did")?;
    // A runtime has one context.
    let _ = world.words.set(EngineWords::new(&context, offsets));
    // The prelude itself needs little; the script's own limit is set before the script.
    runtime.set_max_stack_size(512 << 10);
    let polled = Rc::clone(world);
    runtime.set_interrupt_handler(Some(Box::new(move || polled.poll())));
    context.with(|ctx| {
        let installed = install(world, &ctx);
        installed
            .map_err(|error| format!("{error}: {}", exception::read_exception(&ctx, &ctx.catch())))
    })?;
    Ok(PreludeRuntime {
        context,
        runtime,
        memory,
    })
}

fn install(world: &Rc<RunContext>, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
    let native = natives::make(ctx, world)?;
    for part in ["guards", "texts", "sets"] {
        world.prelude.install(ctx, part, &native)?;
    }
    let core = world.prelude.install(ctx, "core", &native)?;
    world.keep(ctx, core);
    Ok(())
}

/// Loads the program and calls the function.
fn call<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    job: &RunJob,
    module: &mut Option<EvaluatedModule<'js>>,
) -> Result<RunOutcome> {
    let (value, left_out) = match attempt(world, ctx, job, module) {
        Ok(CallResult::Returned { value, left_out }) => (value, left_out),
        Ok(CallResult::Failed(error)) => return Err(world.stopped_error(job).unwrap_or(error)),
        Err(error) => return Err(failed(world, ctx, job, &error)),
    };
    if let Some(error) = world.stopped_error(job) {
        return Err(error);
    }
    Ok(RunOutcome {
        value,
        left_out,
        dropped: world.leave(),
        cpu: job.task.budget.used(),
    })
}

enum CallResult {
    Returned {
        value: Option<serde_json::Value>,
        left_out: Option<String>,
    },
    Failed(Error),
}

fn attempt<'js>(
    world: &Rc<RunContext>,
    ctx: &Ctx<'js>,
    job: &RunJob,
    module: &mut Option<EvaluatedModule<'js>>,
) -> rquickjs::Result<CallResult> {
    let core = world.core(ctx)?;
    let module = match module {
        Some(module) => module,
        None => module.insert(evaluate(world, ctx, &job.program)?),
    };
    let found = find(ctx, module, job)?;
    let Some(function) = found.as_function() else {
        return Ok(CallResult::Failed(no_function(job, &found)));
    };
    let arguments = arguments(ctx, &core, job)?;
    let begin: Function<'js> = core.get("begin")?;
    let mut value: JsValue<'js> = begin.call((function.clone(), arguments))?;
    if let Some(promise) = value.as_promise().cloned() {
        let Some(settled) = event_loop::await_promise(world, ctx, &core, &promise)? else {
            let error = Error::NeverSettles(job.function.clone());
            return Ok(CallResult::Failed(error));
        };
        value = settled;
    }
    read_returned(ctx, job, &value)
}

/// Why what was found in the function's place cannot be called.
fn no_function(job: &RunJob, found: &JsValue<'_>) -> Error {
    let function = job.function.clone();
    if !found.is_undefined() || job.program.exports(&function) {
        return Error::NotAFunction(function);
    }
    Error::NoFunction {
        file: job.program.entry().to_owned(),
        function,
    }
}

fn arguments<'js>(
    ctx: &Ctx<'js>,
    core: &Object<'js>,
    job: &RunJob,
) -> rquickjs::Result<Array<'js>> {
    let make: Function<'js> = core.get("make")?;
    let budget = &job.task.budget;
    let writer = ValueWriter { ctx, budget };
    let arguments = Array::new(ctx.clone())?;
    for (index, argument) in job.arguments.iter().enumerate() {
        arguments.set(index, writer.value(&make, argument)?)?;
    }
    Ok(arguments)
}

/// Reads the returned value as JSON, within its limit.
fn read_returned<'js>(
    ctx: &Ctx<'js>,
    job: &RunJob,
    value: &JsValue<'js>,
) -> rquickjs::Result<CallResult> {
    let limit = job.task.budget.limits.returned;
    let mut reader = ValueReader::new(ctx, &job.task.budget, limit);
    reader.tells_left_out = true;
    match reader.read(value) {
        Ok(value) => Ok(CallResult::Returned {
            value,
            left_out: reader.left_out,
        }),
        Err(_) if reader.too_large => {
            ctx.catch();
            let function = job.function.clone();
            Ok(CallResult::Failed(Error::ReturnedTooMuch {
                function,
                limit,
            }))
        }
        Err(error) => Err(error),
    }
}

/// A program whose top-level code has run.
type EvaluatedModule<'js> = Module<'js, Evaluated>;

/// Runs the top-level code of the program.
fn evaluate<'js>(
    world: &RunContext,
    ctx: &Ctx<'js>,
    program: &Program,
) -> rquickjs::Result<EvaluatedModule<'js>> {
    let code = program.code(program.entry())?;
    let (module, done) = world.load_whole(|| code.load(ctx))?.eval()?;
    if let Some(result) = done.result::<()>() {
        result?;
    }
    Ok(module)
}

/// Looks the function up: an export, a member of the default export, or a plain top-level function.
fn find<'js>(
    ctx: &Ctx<'js>,
    module: &EvaluatedModule<'js>,
    job: &RunJob,
) -> rquickjs::Result<JsValue<'js>> {
    let name = job.function.as_str();
    match job.program.export(name) {
        FunctionExport::Named => module.get(name),
        FunctionExport::Plain(export) => module.get(export),
        FunctionExport::MemberOfDefault(plain) => {
            let default: JsValue<'js> = module.get("default")?;
            let member: JsValue<'js> = match default.as_object() {
                Some(object) => object.get(name)?,
                None => JsValue::new_undefined(ctx.clone()),
            };
            match plain {
                Some(export) if member.is_undefined() => module.get(export),
                _ => Ok(member),
            }
        }
        FunctionExport::None => Ok(JsValue::new_undefined(ctx.clone())),
    }
}

/// What a failure inside the engine means.
fn failed(world: &Rc<RunContext>, ctx: &Ctx<'_>, job: &RunJob, error: &rquickjs::Error) -> Error {
    let value = ctx.catch();
    if let Some(error) = world.stopped_error(job) {
        return error;
    }
    if !error.is_exception() {
        return Error::Internal(format!("{} {}: {error}", job.program.entry(), job.function));
    }
    let thrown = exception::read_thrown(ctx, &value, &job.program);
    let thrown = Error::Thrown(Box::new(thrown));
    // Looking at what was thrown may have run code of the script.
    world.stopped_error(job).unwrap_or(thrown)
}

/// The prelude's object, as the runtime keeps it.
type PreludeObject<'js> = Object<'js>;

#[cfg(test)]
mod tests {
    use super::{ForgetOnDrop, RunContext, make};
    use crate::bare::{Fiber, FiberStep};
    use crate::host::HostApi;
    use crate::prelude::Prelude;
    use corosensei::stack::DefaultStack;
    use std::rc::Rc;
    use std::sync::Arc;

    #[test]
    fn a_runtime_with_the_prelude_can_be_restored() {
        let prelude = Arc::new(Prelude::new(HostApi::default()).unwrap());
        let stack = DefaultStack::new(4 << 20).unwrap();
        let mut fiber = Fiber::new(stack, move |pauser| {
            let world = Rc::new(RunContext::new(pauser, prelude));
            let made = make(&world).unwrap();
            let _end = ForgetOnDrop(Rc::clone(&world));
            made.keep(&world);
            assert!(made.memory.restore() && made.memory.restore());
        });
        while let FiberStep::Paused(_) = fiber.resume() {}
    }
}
