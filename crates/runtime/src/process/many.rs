//! `All`, `Any` and `Race`: several processes at once.

use super::{Asked, run_for_script};
use crate::ctx::Call;
use crate::error::{Code, Error, Result};
use futures::StreamExt;
use futures::stream::iter;
use serde_json::{Value, json};
use std::time::Duration;

/// Seconds that each has where it does not say.
const PATIENCE: f64 = 30.0;

/// How long the others are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All have ended.
    All,
    /// One has succeeded.
    Any,
    /// One has ended.
    Race,
}

/// One of them.
struct One {
    process: String,
    arguments: Vec<Value>,
    seconds: f64,
    time: Duration,
}

/// Runs processes at once, each `{process, args?, timeout?}`. The answer has a slot for each, in their order; `null` are those
/// that were cancelled when enough of the others had ended.
pub async fn many(call: &Call<'_>, until: Until) -> Result<Value> {
    let limits = &call.reach.scope.limits;
    let all = read(&call.value(0), limits.calls)?;
    let mut slots = vec![Value::Null; all.len()];
    let running = all.into_iter().enumerate();
    let running = running.map(|(at, one)| async move { (at, run(call, one).await) });
    let mut running = iter(running).buffer_unordered(limits.calls_at_once.max(1));
    while let Some((at, result)) = running.next().await {
        let is_enough = match until {
            Until::All => false,
            Until::Any => result.is_ok(),
            Until::Race => true,
        };
        slots[at] = match result {
            Ok(data) => json!({"data": data, "error": null, "index": at}),
            Err(error) => json!({"data": null, "error": error.message, "index": at}),
        };
        if is_enough {
            break;
        }
    }
    Ok(slots.into())
}

async fn run(call: &Call<'_>, one: One) -> Result<Value> {
    let asked = Asked {
        name: &one.process,
        arguments: one.arguments,
        run: call.run,
        reach: &call.reach,
        within: call.caller.as_ref(),
        with_ctx: false,
    };
    let result = tokio::time::timeout(one.time, run_for_script(&asked)).await;
    result.unwrap_or_else(|_| {
        let text = format!("process {} timed out after {}s", one.process, one.seconds);
        Err(Error::new(Code::Timeout, text))
    })
}

fn read(requests: &Value, limit: usize) -> Result<Vec<One>> {
    let Value::Array(requests) = requests else {
        return Err(Error::invalid("requests", "requests must be a list"));
    };
    if requests.len() > limit {
        let text = format!("at most {limit} requests");
        return Err(Error::new(Code::LimitExceeded, text));
    }
    requests.iter().enumerate().map(one).collect()
}

fn one((at, request): (usize, &Value)) -> Result<One> {
    let wrong = |field: &str, rule: &str| {
        let field = format!("requests[{at}].{field}");
        let text = format!("{field} {rule}");
        Error::invalid(field, text)
    };
    let process = request.get("process").and_then(Value::as_str);
    let process = process.filter(|name| !name.is_empty());
    let arguments = match request.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(arguments)) => arguments.clone(),
        Some(_) => return Err(wrong("args", "must be a list")),
    };
    let seconds = match request.get("timeout") {
        None | Some(Value::Null) => Some(PATIENCE),
        Some(timeout) => timeout.as_f64().filter(|seconds| *seconds > 0.0),
    };
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let rule = "must be a number of seconds above 0";
    let (Some(seconds), Some(time)) = (seconds, time) else {
        return Err(wrong("timeout", rule));
    };
    Ok(One {
        process: process
            .ok_or_else(|| wrong("process", "is required"))?
            .to_owned(),
        arguments,
        seconds,
        time,
    })
}
