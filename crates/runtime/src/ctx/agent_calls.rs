//! `ctx.agent` and `ctx.llm`: agents and models that a script calls.

use super::{ScriptCall, ScriptClass};
use crate::concurrent_calls::{JoinPolicy, run_concurrently};
use crate::ctx::{CalleeKind, ChunkCallback, NestedCall};
use crate::error::{Error, ErrorCode, Result};
use crate::optional::optional;
use crate::request::ScriptCallOptions;
use ambit_script::{Callback, HostError, HostValue};
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;

/// The objects of `ctx` by name.
pub const PARTS: &[(&str, &ScriptClass)] = &[("agent", &AGENTS), ("llm", &MODELS)];

/// `ctx.agent`.
pub const AGENTS: ScriptClass = ScriptClass {
    name: "Agents",
    place: "ctx.agent",
    doc: "Calls of other agents, each in a context of its own. What goes wrong is in `error`; nothing throws.",
    members: &[],
    methods: &[rows! {
        "Call(agent_id: string, messages: Message[], options?: AgentCallOptions): AgentResult",
        Some((2, "agent_id and messages arguments")), one: "Calls an agent. The client sees what it says in a thread of its own, unless `skip.output`.",
        "All(requests: AgentRequest[], options?: ManyOptions): (AgentResult | null)[]",
        None, many: "Calls agents at once and waits for all. The client sees those that say `skip: { output: false }`.",
        "Any(requests: AgentRequest[], options?: ManyOptions): (AgentResult | null)[]",
        None, many: "Calls agents at once and waits for the first success; the others are cancelled.",
        "Race(requests: AgentRequest[], options?: ManyOptions): (AgentResult | null)[]",
        None, many: "Calls agents at once and waits for the first that ends; the others are cancelled.",
    }],
    is_lenient: false,
};

/// `ctx.llm`.
pub const MODELS: ScriptClass = ScriptClass {
    name: "Models",
    place: "ctx.llm",
    doc: "Calls of models. Tools are never run here: calls are in `response.tool_calls`. What goes wrong is in `error`.",
    members: &[],
    methods: &[rows! {
        "Stream(connector: string, messages: Message[], options?: ModelCallOptions): ModelResult",
        Some((2, "connector and messages arguments")), one: "Calls a model. The client sees what it says, unless `skip.output`.",
        "All(requests: ModelRequest[], options?: ManyOptions): (ModelResult | null)[]",
        None, many: "Calls models at once and waits for all.",
        "Any(requests: ModelRequest[], options?: ManyOptions): (ModelResult | null)[]",
        None, many: "Calls models at once and waits for the first success; the others are cancelled.",
        "Race(requests: ModelRequest[], options?: ManyOptions): (ModelResult | null)[]",
        None, many: "Calls models at once and waits for the first that ends; the others are cancelled.",
        "GenerateImage(...args: any[]): never", None, no_images: "Not supported.",
    }],
    is_lenient: false,
};

async fn no_images(_: &ScriptCall<'_>) -> Result<HostValue, HostError> {
    Err(Error::new(ErrorCode::Unsupported, "GenerateImage is not supported").into())
}

async fn one(call: &ScriptCall<'_>) -> Result<HostValue, HostError> {
    let callee = callee(call);
    let what = match callee {
        CalleeKind::Agent => "agent_id",
        CalleeKind::Model => "connector",
    };
    let name = call.text(0, what, "must be a string")?.to_owned();
    let messages = messages("messages", call.given(1))?;
    let options = options("options", call.given(2))?;
    let on_chunk = function(call, "2.onChunk").map(|function| chunk_callback(function, Vec::new()));
    let nested = NestedCall {
        callee,
        name,
        messages,
        is_silent: options.skip.output == Some(true),
        purpose: None,
        options,
        on_chunk,
    };
    let scope = &call.reach.scope;
    Ok(scope.turn_host.call(scope, nested).await?.into())
}

async fn many(call: &ScriptCall<'_>) -> Result<HostValue, HostError> {
    let requests = match call.given(0) {
        Some(Value::Array(requests)) => requests.as_slice(),
        _ => return Err(Error::invalid("requests", "requests must be an array").into()),
    };
    let listener = function(call, "1.onChunk");
    let calls = requests.iter().enumerate();
    let calls: Vec<NestedCall> = calls
        .map(|(at, request)| read_request(callee(call), at, request, listener))
        .collect::<Result<_>>()?;
    let scope = &call.reach.scope;
    let calls = calls
        .into_iter()
        .map(|nested| scope.turn_host.call(scope, nested));
    let is_good = |answer: &Value| answer["error"].is_null();
    let until = JoinPolicy::named(call.method.name());
    let answers = run_concurrently(until, scope.limits.calls, calls.collect(), is_good).await?;
    Ok(json!(answers).into())
}

/// One of several requests.
fn read_request(
    callee: CalleeKind,
    at: usize,
    request: &Value,
    listener: Option<&Callback>,
) -> Result<NestedCall> {
    let what = match callee {
        CalleeKind::Agent => "agent",
        CalleeKind::Model => "connector",
    };
    let path = format!("requests[{at}]");
    let name = request
        .get(what)
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
        let field = format!("{path}.{what}");
        Error::invalid(field.as_str(), format!("{field} is required"))
    })?;
    let options = options(&format!("{path}.options"), request.get("options"))?;
    Ok(NestedCall {
        callee,
        name: name.to_owned(),
        messages: messages(&format!("{path}.messages"), request.get("messages"))?,
        is_silent: options.skip.output != Some(false),
        purpose: None,
        options,
        on_chunk: listener.map(|listener| chunk_callback(listener, vec![name.into(), at.into()])),
    })
}

fn callee(call: &ScriptCall<'_>) -> CalleeKind {
    match call.class == AGENTS.name {
        true => CalleeKind::Agent,
        false => CalleeKind::Model,
    }
}

fn messages(path: &str, given: Option<&Value>) -> Result<Vec<Value>> {
    match given {
        Some(Value::Array(messages)) => Ok(messages.clone()),
        _ => Err(Error::invalid(path, format!("{path} must be an array"))),
    }
}

fn options(path: &str, given: Option<&Value>) -> Result<ScriptCallOptions> {
    let is_no_object = || Error::invalid(path, format!("{path} must be an object"));
    let options = optional(given, Value::as_object, is_no_object)?;
    Ok(options.cloned().unwrap_or_default().into())
}

fn function<'a>(call: &'a ScriptCall<'_>, path: &str) -> Option<&'a Callback> {
    call.callbacks.iter().find(|callback| callback.path == path)
}

/// Gives frames to a function of the script, behind these arguments. It stops the call by returning a number other than 0.
fn chunk_callback(function: &Callback, before: Vec<Value>) -> ChunkCallback {
    let function = function.clone();
    Arc::new(move |frame| {
        let (function, mut arguments) = (function.clone(), before.clone());
        arguments.push(frame);
        async move {
            let returned = function.call(arguments).await;
            let returned = returned.map_err(|thrown| HostError {
                message: thrown.message,
                from_callback: true,
                ..HostError::default()
            })?;
            Ok(returned.as_f64().is_none_or(|number| number == 0.0))
        }
        .boxed()
    })
}
