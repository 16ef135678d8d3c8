//! Functions of scripts, the app's and its agents': each script has one module instance in a run.

use super::registry::ScriptFunction;
use super::run_resources::ScriptInstance;
use super::{ProcessCall, ProcessFamily, ProcessRegistry, not_found};
use crate::ctx;
use crate::error::{Disclosure, Error, ErrorCode, Result};
use crate::hook::failure;
use ambit_script::{HostValue, ParentRun, Program, RunOutcome};
use futures::FutureExt;
use serde_json::Value;
use std::sync::Arc;

/// `scripts.<file>.<Function>`.
pub const SCRIPTS: ProcessFamily = ProcessFamily {
    prefix: "scripts",
    names: |catalogue| catalogue.functions("scripts."),
    has,
    run: |call| run(call).boxed(),
};

/// `agents.<agent>.<file>.<Function>`.
pub const AGENTS: ProcessFamily = ProcessFamily {
    prefix: "agents",
    names: |catalogue| catalogue.functions("agents."),
    has,
    run: |call| run(call).boxed(),
};

fn has(catalogue: &ProcessRegistry, name: &str) -> bool {
    catalogue.script(name).is_some()
}

/// A call of a script's function.
struct ScriptProcess<'a> {
    call: &'a ProcessCall<'a>,
    script: ScriptFunction,
    program: Arc<Program>,
}

async fn run(call: &ProcessCall<'_>) -> Result<Value> {
    let (catalogue, name) = (call.catalogue(), call.name);
    let unknown = || not_found(catalogue, name);
    let script = catalogue.script(name).ok_or_else(unknown)?;
    let process = ScriptProcess {
        call,
        program: script.program.clone().map_err(|error| {
            let scope = &call.reach.scope;
            failure::not_loaded(error, scope.disclosure)
        })?,
        script,
    };
    let arguments = call.arguments.iter().cloned().map(HostValue::Json);
    let ctx = call.with_ctx.then(|| ctx::object(call.reach));
    let arguments: Vec<HostValue> = arguments.chain(ctx).collect();
    let result = match call.within {
        Some(caller) => process.within(caller, arguments).await?,
        None => process.outermost(arguments).await,
    };
    match result {
        Ok(outcome) => {
            warn_of_rest(call, &outcome);
            Ok(outcome.value.unwrap_or_default())
        }
        Err(ambit_script::Error::NoFunction { .. }) => Err(unknown()),
        Err(error) => Err(process.failure(&error)),
    }
}

fn warn_of_rest(call: &ProcessCall<'_>, outcome: &RunOutcome) {
    let (name, dropped) = (call.name, outcome.dropped);
    if dropped > 0 {
        let text = format!(
            "{name} had settled while {dropped} of its timers and calls were still pending; they are dropped"
        );
        call.reach.cursor.warn(&text);
    }
}

impl ScriptProcess<'_> {
    /// Why it failed, as whoever called it is told.
    fn failure(&self, thrown: &ambit_script::Error) -> Error {
        let call = self.call;
        let scope = &call.reach.scope;
        let error = failure::of_process(thrown, self.program.entry(), call.name);
        if scope.disclosure == Disclosure::Withheld {
            failure::record_process(&error, call);
        }
        failure::told(thrown, error, scope.disclosure)
    }

    /// A run by itself.
    async fn outermost(&self, arguments: Vec<HostValue>) -> ambit_script::Result<RunOutcome> {
        let run = ambit_script::ScriptRun {
            program: Arc::clone(&self.program),
            function: self.script.function.clone(),
            arguments,
            host: Arc::new(self.call.run.clone()),
            limits: self.call.reach.scope.limits.run,
            within: None,
        };
        self.call.catalogue().engine.run(run).await
    }

    /// Part of the caller's run, with its limits.
    async fn within(
        &self,
        caller: &ParentRun,
        arguments: Vec<HostValue>,
    ) -> Result<ambit_script::Result<RunOutcome>> {
        let depth = self.call.run.depth();
        let limit = self.call.reach.scope.limits.process_depth;
        if depth >= limit {
            let text = format!("process depth limit {limit} exceeded");
            return Err(Error::new(ErrorCode::LimitExceeded, text));
        }
        let resources = self.call.run.resources();
        let caller = resources.caller(caller);
        let (checkout, script) = resources.check_out(&self.script.name).unzip();
        let mut script = match script.flatten() {
            Some(script) => script,
            None => self.open(&caller)?,
        };
        script.run.enter(depth + 1);
        let result = script.instance.call(&self.script.function, arguments).await;
        if let Some(checkout) = checkout.filter(|_| is_usable(&result)) {
            checkout.check_in(script);
        }
        Ok(result)
    }

    fn open(&self, caller: &ParentRun) -> Result<ScriptInstance> {
        let call = self.call;
        let run = call.run.within(&self.script.name);
        let (program, host) = (Arc::clone(&self.program), Arc::new(run.clone()));
        let limits = call.reach.scope.limits.run;
        let engine = &call.catalogue().engine;
        let instance = engine.open(program, host, limits, Some(caller));
        let instance = instance.map_err(|error| self.failure(&error))?;
        Ok(ScriptInstance { instance, run })
    }
}

/// Whether another function of the instance can be called.
fn is_usable(result: &ambit_script::Result<RunOutcome>) -> bool {
    !matches!(
        result,
        Err(ambit_script::Error::Limited { .. }
            | ambit_script::Error::Cancelled
            | ambit_script::Error::Internal(_)
            | ambit_script::Error::Load(_))
    )
}
