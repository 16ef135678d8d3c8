//! Functions of scripts, the app's and its agents': each script has one module instance in a run.

use super::registry::ScriptFunction;
use super::run_resources::ScriptInstance;
use super::{ProcessCall, ProcessFamily, ProcessRegistry, not_found};
use crate::ctx;
use crate::error::{Error, ErrorCode, Result};
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
    run: |asked| run(asked).boxed(),
};

/// `agents.<agent>.<file>.<Function>`.
pub const AGENTS: ProcessFamily = ProcessFamily {
    prefix: "agents",
    names: |catalogue| catalogue.functions("agents."),
    has,
    run: |asked| run(asked).boxed(),
};

fn has(catalogue: &ProcessRegistry, name: &str) -> bool {
    catalogue.script(name).is_some()
}

/// A call of a script's function.
struct ScriptProcess<'a> {
    asked: &'a ProcessCall<'a>,
    script: ScriptFunction,
    program: Arc<Program>,
}

async fn run(asked: &ProcessCall<'_>) -> Result<Value> {
    let (catalogue, name) = (asked.catalogue(), asked.name);
    let unknown = || not_found(catalogue, name);
    let script = catalogue.script(name).ok_or_else(unknown)?;
    let called = ScriptProcess {
        asked,
        program: script.program.clone()?,
        script,
    };
    let arguments = asked.arguments.iter().cloned().map(HostValue::Json);
    let ctx = asked.with_ctx.then(|| ctx::object(asked.reach));
    let arguments: Vec<HostValue> = arguments.chain(ctx).collect();
    let result = match asked.within {
        Some(caller) => called.within(caller, arguments).await?,
        None => called.outermost(arguments).await,
    };
    match result {
        Ok(outcome) => {
            warn_of_rest(asked, &outcome);
            Ok(outcome.value.unwrap_or_default())
        }
        Err(ambit_script::Error::NoFunction { .. }) => Err(unknown()),
        Err(error) => Err(failure::of_process(&error, called.program.entry(), name)),
    }
}

fn warn_of_rest(asked: &ProcessCall<'_>, outcome: &RunOutcome) {
    let (name, dropped) = (asked.name, outcome.dropped);
    if dropped > 0 {
        let text = format!(
            "{name} had settled while {dropped} of its timers and calls were still pending; they are dropped"
        );
        asked.reach.cursor.warn(&text);
    }
}

impl ScriptProcess<'_> {
    /// A run by itself.
    async fn outermost(&self, arguments: Vec<HostValue>) -> ambit_script::Result<RunOutcome> {
        let run = ambit_script::ScriptRun {
            program: Arc::clone(&self.program),
            function: self.script.function.clone(),
            arguments,
            host: Arc::new(self.asked.run.clone()),
            limits: self.asked.reach.scope.limits.run,
            within: None,
        };
        self.asked.catalogue().engine.run(run).await
    }

    /// Part of the caller's run, with its limits.
    async fn within(
        &self,
        caller: &ParentRun,
        arguments: Vec<HostValue>,
    ) -> Result<ambit_script::Result<RunOutcome>> {
        let depth = self.asked.run.depth();
        let limit = self.asked.reach.scope.limits.process_depth;
        if depth >= limit {
            let text = format!("process depth limit {limit} exceeded");
            return Err(Error::new(ErrorCode::LimitExceeded, text));
        }
        let nest = self.asked.run.nest();
        let caller = nest.caller(caller);
        let (held, kept) = nest.check_out(&self.script.name).unzip();
        let mut kept = match kept.flatten() {
            Some(kept) => kept,
            None => self.open(&caller)?,
        };
        kept.run.enter(depth + 1);
        let result = kept.instance.call(&self.script.function, arguments).await;
        if let Some(held) = held.filter(|_| is_usable(&result)) {
            held.check_in(kept);
        }
        Ok(result)
    }

    fn open(&self, caller: &ParentRun) -> Result<ScriptInstance> {
        let asked = self.asked;
        let run = asked.run.within(&self.script.name);
        let (program, host) = (Arc::clone(&self.program), Arc::new(run.clone()));
        let limits = asked.reach.scope.limits.run;
        let engine = &asked.catalogue().engine;
        let instance = engine.open(program, host, limits, Some(caller));
        let instance = instance.map_err(|error| failure::of_process(&error, "", asked.name))?;
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
