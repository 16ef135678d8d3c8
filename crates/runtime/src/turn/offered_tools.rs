//! The tools of one agent: what its model is offered, and for whom they are called.

use super::Turn;
use super::agent_run::AgentRun;
use super::call_plan::ModelCallPlan;
use crate::error::{Error, ErrorCode, Result};
use crate::event::ToolChanged;
use crate::llm::ModelAnswer;
use crate::llm::answer::ToolCall;
use crate::mcp;
use crate::process::ContextProcessRunner;
use crate::tool::{ServerTool, ToolCaller};
use crate::trace::TraceNode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// What the model may call.
pub(super) struct OfferedTools {
    tools: Vec<ServerTool>,
    client: Vec<Value>,
}

/// The tools of the plan's servers, and those of the client.
pub(super) async fn offered(
    turn: &Turn,
    leg: &AgentRun,
    plan: &ModelCallPlan,
) -> Result<OfferedTools> {
    let tools = match plan.servers.as_slice() {
        [] => Vec::new(),
        servers => {
            let caller = caller(turn, leg, ("tools", turn.agent_node(leg)))?;
            let tools = turn.core.tools(&turn.loaded);
            let tools = tools.list(servers, &caller).await?;
            for (tool, added) in turn.loaded.mcp.changed(&caller) {
                let about = turn.about();
                turn.announce(ToolChanged { about, tool, added }).await;
            }
            tools
        }
    };
    let most = leg.agent.mcp.max_tools;
    if tools.len() > most {
        let message = format!(
            "{} offers {} tools, but mcp.options.max_tools is {most}",
            leg.agent.id,
            tools.len()
        );
        return Err(Error::new(ErrorCode::ConfigError, message));
    }
    Ok(OfferedTools {
        tools,
        client: plan.client_tools.clone(),
    })
}

/// The agent, whose scripts among the tools are traced below a node.
pub(super) fn caller(
    turn: &Turn,
    leg: &AgentRun,
    (step, node): (&str, TraceNode),
) -> Result<ToolCaller> {
    let scope = turn.scope_below(leg, (step, node.clone()))?;
    Ok(ToolCaller {
        authorized: turn.request.authorized.clone(),
        agent: leg.agent.id.clone(),
        servers: scope.servers.clone(),
        request_id: turn.ids.request_id.clone(),
        timeout: Duration::from_millis(leg.agent.mcp.timeout),
        processes: Arc::new(ContextProcessRunner::Outside { scope, node }),
    })
}

impl OfferedTools {
    /// As the model is told.
    pub fn definitions(&self) -> Vec<Value> {
        let own = self.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
        });
        own.chain(self.client.iter().cloned()).collect()
    }

    /// Examples of calls, in one message.
    pub fn samples(&self, most: usize) -> Option<Value> {
        let text = mcp::samples_message(&self.tools, most)?;
        Some(json!({"role": "system", "content": text}))
    }

    /// True where the client has to run one of the calls.
    pub fn has_client_tool(&self, answer: &ModelAnswer) -> bool {
        answer.tool_calls.iter().any(|call| self.is_clients(call))
    }

    /// True where one of the calls is run here.
    pub fn has_own_tool(&self, answer: &ModelAnswer) -> bool {
        answer.tool_calls.iter().any(|call| !self.is_clients(call))
    }

    /// True where the client runs what is called.
    pub fn is_clients(&self, call: &ToolCall) -> bool {
        let name = |tool: &Value| tool.pointer("/function/name") == Some(&json!(call.name));
        self.client.iter().any(name)
    }

    /// The tool that the model means by this name.
    pub fn find(&self, name: &str) -> Option<&ServerTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}
