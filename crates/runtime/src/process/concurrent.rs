//! `All`, `Any` and `Race`: several processes at once.

use super::{ProcessCall, run_for_script};
use crate::concurrent_calls::{JoinPolicy, run_concurrently};
use crate::ctx::ScriptCall;
use crate::error::{Error, ErrorCode, Result};
use crate::optional::optional;
use serde_json::{Value, json};
use std::time::Duration;

/// Seconds that each has where it does not say.
const PATIENCE: f64 = 30.0;

/// One of them.
struct TimedProcess {
    process: String,
    arguments: Vec<Value>,
    seconds: f64,
    time: Duration,
}

/// Runs processes at once, each `{process, args?, timeout?}`. The answer has a slot for each, in their order; `null` are those
/// that were cancelled when enough of the others had ended.
pub async fn many(call: &ScriptCall<'_>, until: JoinPolicy) -> Result<Value> {
    let all = read(&call.value(0))?.into_iter().enumerate();
    let running = all.map(|(at, one)| async move {
        let slot = match run(call, one).await {
            Ok(data) => json!({"data": data, "error": null, "index": at}),
            Err(error) => json!({"data": null, "error": error.message, "index": at}),
        };
        Ok::<_, Error>(slot)
    });
    let bounds = call.reach.scope.limits.calls;
    let is_good = |slot: &Value| slot["error"].is_null();
    let slots = run_concurrently(until, bounds, running.collect(), is_good).await?;
    Ok(json!(slots))
}

async fn run(call: &ScriptCall<'_>, one: TimedProcess) -> Result<Value> {
    let call = ProcessCall {
        name: &one.process,
        arguments: one.arguments,
        run: call.run,
        reach: &call.reach,
        within: call.caller.as_ref(),
        with_ctx: false,
    };
    let result = tokio::time::timeout(one.time, run_for_script(&call)).await;
    result.unwrap_or_else(|_| {
        let text = format!("process {} timed out after {}s", one.process, one.seconds);
        Err(Error::new(ErrorCode::Timeout, text))
    })
}

fn read(requests: &Value) -> Result<Vec<TimedProcess>> {
    let Value::Array(requests) = requests else {
        return Err(Error::invalid("requests", "requests must be a list"));
    };
    let numbered = requests.iter().enumerate();
    numbered.map(|(at, request)| one(at, request)).collect()
}

fn one(at: usize, request: &Value) -> Result<TimedProcess> {
    let wrong = |field: &str, rule: &str| {
        let field = format!("requests[{at}].{field}");
        let text = format!("{field} {rule}");
        Error::invalid(field, text)
    };
    let process = request.get("process").and_then(Value::as_str);
    let process = process.filter(|name| !name.is_empty());
    let is_no_list = || wrong("args", "must be a list");
    let arguments = optional(request.get("args"), Value::as_array, is_no_list)?;
    let is_no_time = || wrong("timeout", "must be a number of seconds above 0");
    let seconds = optional(request.get("timeout"), Value::as_f64, is_no_time)?.unwrap_or(PATIENCE);
    let time = Duration::try_from_secs_f64(seconds).ok();
    let time = time.filter(|_| seconds > 0.0).ok_or_else(is_no_time)?;
    Ok(TimedProcess {
        process: process
            .ok_or_else(|| wrong("process", "is required"))?
            .to_owned(),
        arguments: arguments.cloned().unwrap_or_default(),
        seconds,
        time,
    })
}
