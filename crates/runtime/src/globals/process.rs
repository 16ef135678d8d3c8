//! `Process`, and several processes at once or later.

use super::time;
use crate::concurrent_calls::JoinPolicy;
use crate::ctx::{ScriptCall, ScriptMethod, rows};
use crate::error::Result;
use crate::process::concurrent::many;
use crate::process::{self, ProcessCall};
use ambit_script::HostValue;
use std::sync::Arc;

const REQUESTS: Option<(usize, &str)> = Some((1, "a requests argument"));

/// The functions.
pub const PROCESSES: &[ScriptMethod] = rows! {
    "Process<Name extends ProcessName>(name: Name, ...args: ProcessArguments<Name>): ProcessValue<Name>", Some((1, "a name argument")), process:
        "Runs a process for the caller of this run and returns its value; its errors are thrown.",
    "All(requests: ProcessRequest[]): ProcessResult[]", REQUESTS, at_once(JoinPolicy::All):
        "Runs processes at once and waits for all.",
    "Any(requests: ProcessRequest[]): (ProcessResult | null)[]", REQUESTS, at_once(JoinPolicy::Any):
        "Runs processes at once and waits for the first success; the others are cancelled.",
    "Race(requests: ProcessRequest[]): (ProcessResult | null)[]", REQUESTS, at_once(JoinPolicy::Race):
        "Runs processes at once and waits for the first that ends; the others are cancelled.",
    "time.After(ms: number, process: string, ...args: any[]): void", Some((2, "milliseconds and process arguments")), after:
        "Runs a process later in this run, beside what the run does then; it is dropped when the run ends.",
};

async fn process(call: &ScriptCall<'_>) -> Result<HostValue> {
    let asked = ProcessCall {
        name: call.text(0, "name", "must be a string")?,
        arguments: call.arguments.get(1..).unwrap_or_default().to_vec(),
        run: call.run,
        reach: &call.reach,
        within: call.caller.as_ref(),
        with_ctx: false,
    };
    Ok(process::run_for_script(&asked).await?.into())
}

async fn at_once(call: &ScriptCall<'_>, until: JoinPolicy) -> Result<HostValue> {
    Ok(many(call, until).await?.into())
}

async fn after(call: &ScriptCall<'_>) -> Result<HostValue> {
    let time = time(call)?;
    let name = call.text(1, "process", "must be a string")?.to_owned();
    process::check(&call.reach.scope.processes, &name)?;
    let arguments = call.arguments.get(2..).unwrap_or_default().to_vec();
    // Only what is within the run: its timers must not keep it alive.
    let run = call.run.within(&name);
    // It is called by the run's timer, however deep whoever set that was.
    run.enter(0);
    let (reach, caller) = (Arc::clone(&call.reach), call.caller.clone());
    let limit = reach.scope.limits.run.timers;
    call.run.resources().schedule(limit, async move {
        tokio::time::sleep(time).await;
        let asked = ProcessCall {
            name: &name,
            arguments,
            run: &run,
            reach: &reach,
            within: caller.as_ref(),
            with_ctx: false,
        };
        if let Err(error) = process::run_for_script(&asked).await {
            let text = format!("time.After {name}: {}", error.message);
            reach.cursor.warn(&text);
            run.log().warn(&text);
        }
    })?;
    Ok(HostValue::Undefined)
}
