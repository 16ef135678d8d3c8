//! `agent.Call`: asking an agent.

use super::stores::failed;
use super::{ProcessCall, ProcessFamily, listed};
use crate::ctx::{CalleeKind, NestedCall};
use crate::error::{Error, ErrorCode, Result};
use crate::optional::optional;
use crate::request::ScriptCallOptions;
use futures::FutureExt;
use serde_json::Value;
use std::time::Duration;

const CALL: &str = "agent.Call";

/// Seconds that an agent has where a call does not say.
const PATIENCE: f64 = 600.0;

/// `agent.Call`.
pub const AGENT: ProcessFamily = ProcessFamily {
    prefix: "agent",
    names: |_| listed(&[CALL]),
    has: |_, name| name == CALL,
    run: |call| run(call).boxed(),
};

async fn run(call: &ProcessCall<'_>) -> Result<Value> {
    let (nested, seconds) = read(call.arguments.first())?;
    let time = Duration::try_from_secs_f64(seconds);
    let time = time.map_err(|_| wrong("timeout", "must be a number of seconds above 0"))?;
    let scope = &call.reach.scope;
    let Ok(answer) = tokio::time::timeout(time, scope.turn_host.call(scope, nested)).await else {
        let too_slow = format!("{CALL}: no answer within {seconds} s");
        return Err(Error::new(ErrorCode::Timeout, too_slow));
    };
    answer.map_err(failed)
}

fn read(given: Option<&Value>) -> Result<(NestedCall, f64)> {
    let Some(Value::Object(given)) = given else {
        return Err(wrong(
            "argument",
            "must be {assistant_id, messages, options?, timeout?}",
        ));
    };
    let agent = given.get("assistant_id").and_then(Value::as_str);
    let agent = agent.filter(|id| !id.is_empty());
    let messages = given.get("messages").and_then(Value::as_array);
    let messages = messages.ok_or_else(|| wrong("messages", "must be a list"));
    let is_no_object = || wrong("options", "must be an object");
    let options = optional(given.get("options"), Value::as_object, is_no_object)?;
    let options = ScriptCallOptions::from(options.cloned().unwrap_or_default());
    let nested = NestedCall {
        callee: CalleeKind::Agent,
        name: agent
            .ok_or_else(|| wrong("assistant_id", "must be an agent's id"))?
            .to_owned(),
        messages: messages?.clone(),
        is_silent: options.skip.output != Some(false),
        purpose: None,
        options,
        on_chunk: None,
    };
    let above_zero = |timeout: &Value| timeout.as_f64().filter(|seconds| *seconds > 0.0);
    let is_no_time = || wrong("timeout", "must be a number of seconds above 0");
    let seconds = optional(given.get("timeout"), above_zero, is_no_time)?;
    Ok((nested, seconds.unwrap_or(PATIENCE)))
}

fn wrong(field: &str, rule: &str) -> Error {
    Error::invalid(field, format!("{CALL}: {field} {rule}"))
}
