//! The tools of one agent: what its model may call, for whom, and with which arguments.

use super::Turn;
use super::agent_run::AgentRun;
use super::create::ModelCallPlan;
use super::uses_client::UsesClient;
use crate::chat::{BlockKind, BlockSource, ChatMessage, ToolCall, ToolDefinition, read_arguments};
use crate::ctx::ScriptContext;
use crate::error::{Error, ErrorCode, Result};
use crate::event::{BeforeToolExecution, ToolChanged};
use crate::llm::ModelAnswer;
use crate::mcp;
use crate::process::ContextProcessRunner;
use crate::schema::{self, SchemaError};
use crate::tool::{ServerSelection, ServerTool, ToolCaller};
use crate::trace::TraceNode;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the model may call.
pub(super) struct OfferedTools {
    tools: Vec<ServerTool>,
    client: Vec<ToolDefinition>,
}

impl OfferedTools {
    /// The tools of the plan's servers, and those of the client.
    pub async fn list(turn: &Turn, run: &AgentRun, plan: &ModelCallPlan) -> Result<Self> {
        let tools = match plan.servers() {
            [] => Vec::new(),
            servers => turn.server_tools(run, servers).await?,
        };
        let most = run.agent.package.mcp.options.max_tools;
        if tools.len() > most {
            let message = format!(
                "{} offers {} tools, but mcp.options.max_tools is {most}",
                run.agent.id,
                tools.len()
            );
            return Err(Error::new(ErrorCode::ConfigError, message));
        }
        Ok(Self {
            tools,
            client: plan.call.tools.clone(),
        })
    }

    /// As the model is told.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let own = self.tools.iter().map(|tool| {
            ToolDefinition::function(&tool.name, &tool.description, tool.parameters.clone())
        });
        own.chain(self.client.iter().cloned()).collect()
    }

    /// Examples of calls, in one message.
    pub fn samples(&self, most: usize) -> Option<ChatMessage> {
        let text = mcp::samples_message(&self.tools, most)?;
        let shown = self.tools.iter().filter(|tool| !tool.samples.is_empty());
        let servers: BTreeSet<&String> = shown.clone().map(|tool| &tool.server).collect();
        let source = BlockSource {
            server: servers
                .first()
                .filter(|_| servers.len() == 1)
                .copied()
                .cloned(),
            tools: shown.map(|tool| tool.name.clone()).collect(),
            ..BlockSource::default()
        };
        Some(ChatMessage::system(text).with_source(BlockKind::Sample, source))
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
        self.client.iter().any(|tool| tool.name == call.name)
    }

    /// The tool that the model means by this name.
    pub fn find(&self, name: &str) -> Option<&ServerTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

impl Turn {
    async fn server_tools(
        &self,
        run: &AgentRun,
        servers: &[ServerSelection],
    ) -> Result<Vec<ServerTool>> {
        let context = &self.context;
        let caller = self.tool_caller(run, "tools", self.agent_node(run))?;
        let tools = context.core.tools(&context.loaded);
        let tools = tools.list(servers, &caller).await?;
        for (tool, added) in context.loaded.mcp.changed(&caller) {
            let about = context.about();
            context.announce(ToolChanged { about, tool, added }).await;
        }
        Ok(tools)
    }

    /// For whom tools are called: the agent, whose scripts among the tools are traced below a node.
    pub(super) fn tool_caller(
        &self,
        run: &AgentRun,
        step: &str,
        node: TraceNode,
    ) -> Result<ToolCaller> {
        self.caller_of_call(run, step, node, None)
    }

    /// The same for a call that this message shows.
    pub(super) fn caller_of_call(
        &self,
        run: &AgentRun,
        step: &str,
        node: TraceNode,
        message: Option<&str>,
    ) -> Result<ToolCaller> {
        let scope = self.script_context_below(run, step, node.clone())?;
        let mut scope = Arc::unwrap_or_clone(scope);
        scope.outbox = scope.outbox.for_call(message);
        Ok(self.caller_within(Arc::new(scope), node))
    }

    /// For whom tools are called in a context of scripts.
    pub(super) fn caller_within(&self, scope: Arc<ScriptContext>, node: TraceNode) -> ToolCaller {
        ToolCaller {
            authorized: self.context.request.authorized.clone(),
            agent: scope.agent.id.clone(),
            servers: scope.servers.clone(),
            request_id: self.context.ids.request_id.clone(),
            timeout: scope.agent.package.mcp.options.timeout,
            node: node.clone(),
            processes: Arc::new(ContextProcessRunner::Outside { scope, node }),
            progress: None,
        }
    }

    /// Who asks for a step beside the model, traced below a node.
    pub(super) fn uses_client(
        &self,
        run: &AgentRun,
        step: &str,
        node: TraceNode,
    ) -> Result<UsesClient> {
        let context = &self.context;
        Ok(UsesClient {
            scope: self.script_context_below(run, step, node.clone())?,
            toolbox: context.core.tools(&context.loaded),
            caller: self.tool_caller(run, step, node)?,
        })
    }

    /// What a tool is called with, as listeners leave it.
    pub(super) async fn tool_arguments(
        &self,
        call: &ToolCall,
        tool: Option<&ServerTool>,
    ) -> Result<ToolArguments> {
        let mut arguments = match read_arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let why = format!("the arguments of {} are no JSON: {error}", call.name);
                return Ok(ToolArguments::refused(Value::Null, invalid(why)));
            }
        };
        if let Some(tool) = tool {
            arguments = match schema::fill_in(&tool.parameters, arguments) {
                Ok(filled) => filled,
                Err(why) => {
                    let why = format!("the arguments of {} do not fit: {why}", tool.name);
                    return Ok(ToolArguments::refused(Value::Null, invalid(why)));
                }
            };
            if let Some(why) = misfit(tool, &arguments) {
                return Ok(ToolArguments::refused(arguments, invalid(why)));
            }
        }
        let context = &self.context;
        if !context.has_listener::<BeforeToolExecution>() {
            return Ok(arguments.into());
        }
        let event = BeforeToolExecution {
            about: context.about(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
            arguments: arguments.clone(),
        };
        match context.ask(event).await {
            Ok(event) => Ok(event.arguments.into()),
            Err(error) if error.code == ErrorCode::Vetoed => {
                Ok(ToolArguments::refused(arguments, error))
            }
            Err(error) => Err(error),
        }
    }
}

/// Why a tool is not called with these arguments. One whose schema is unusable has to see for itself; its call warns of that.
fn misfit(tool: &ServerTool, arguments: &Value) -> Option<String> {
    match schema::check(&tool.parameters, arguments) {
        Ok(()) | Err(SchemaError::Schema(_)) => None,
        Err(SchemaError::Value(what)) => Some(format!(
            "the arguments of {} are not as its schema says: {what}",
            tool.name
        )),
    }
}

/// The arguments of a tool call.
pub(super) struct ToolArguments {
    pub value: Value,
    /// Why the tool is not called with them: they are invalid, or vetoed.
    pub refusal: Option<Error>,
}

fn invalid(why: String) -> Error {
    Error::invalid("arguments", why)
}

impl ToolArguments {
    fn refused(value: Value, refusal: Error) -> Self {
        Self {
            value,
            refusal: Some(refusal),
        }
    }
}

impl From<Value> for ToolArguments {
    fn from(value: Value) -> Self {
        Self {
            value,
            refusal: None,
        }
    }
}
