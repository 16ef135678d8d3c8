//! Calling a tool of an agent in the caller's name.

use super::{Trial, trial_request};
use crate::access::Authorized;
use crate::chat::ToolCall;
use crate::error::{Error, Result};
use crate::request::TurnRequest;
use crate::runtime_core::RuntimeCore;
use crate::tool::list_available;
use ambit_storage::ids;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// Which tool is called, with what.
#[derive(Clone, Debug, Default)]
pub struct ToolTrialRequest {
    /// Who calls.
    pub authorized: Authorized,
    /// The agent.
    pub agent: String,
    /// What its model calls the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The caller's language.
    pub locale: String,
}

/// What came of a call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolTrial {
    /// The content, as MCP has it.
    #[schema(value_type = Vec<Object>)]
    pub content: Value,
    /// The result as JSON, where the tool gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// What scripts get.
    pub data: Value,
    /// How long it took, in milliseconds.
    #[serde(rename = "duration_ms")]
    pub duration_ms: u64,
}

impl ToolTrial {
    fn of(mut result: Value, took: Duration) -> Self {
        Self {
            content: result["content"].take(),
            structured_content: result.get_mut("structuredContent").map(Value::take),
            is_error: result["isError"] == true,
            data: result["data"].take(),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Calls a tool as a turn of the agent would, listeners included. Arguments that its schema refuses are an error of the caller's.
pub(crate) fn try_tool<'a>(
    core: &'a Arc<RuntimeCore>,
    wanted: ToolTrialRequest,
) -> BoxFuture<'a, Result<ToolTrial>> {
    Box::pin(async move {
        let request = TurnRequest {
            authorized: wanted.authorized,
            agent: wanted.agent,
            ..trial_request(&wanted.locale)
        };
        let trial = Trial::open(core, request).await?;
        let tried = call(&trial, &wanted.tool, wanted.arguments).await;
        trial.save_usage().await;
        tried
    })
}

async fn call(trial: &Trial, name: &str, arguments: Map<String, Value>) -> Result<ToolTrial> {
    let mcp = trial.scope.mcp.clone();
    let caller = trial
        .turn
        .caller_within(trial.scope.clone(), trial.node.clone());
    let available = list_available(&*mcp, &caller.servers, &caller).await?;
    let mut tools = available.tools.into_iter();
    let tool = tools.find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| Error::not_found("tool", name))?;
    let call = ToolCall {
        id: ids::unguessable(),
        name: tool.name.clone(),
        arguments: Value::Object(arguments).to_string(),
        ..ToolCall::default()
    };
    let arguments = trial.turn.tool_arguments(&call, Some(&tool)).await?;
    if let Some(refusal) = arguments.refusal {
        return Err(refusal);
    }
    let began = Instant::now();
    let called = mcp.call(&tool.server, &tool.tool, arguments.value, &caller);
    Ok(ToolTrial::of(called.await?.result, began.elapsed()))
}
