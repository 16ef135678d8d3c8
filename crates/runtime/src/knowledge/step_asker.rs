//! Asking an agent or a tool for a step of a job, where no turn is under way.

use crate::access::Authorized;
use crate::chat::ChatMessage;
use crate::error::{Error, ErrorCode, Result};
use crate::frame::{Frame, OutputMessages, apply};
use crate::loaded_app::LoadedApp;
use crate::request::{SkipOptions, TurnRequest};
use crate::runtime_core::RuntimeCore;
use crate::stream::StreamReader;
use crate::tool::{NoProcesses, ServerSelection, ServerTool, ToolCaller, Toolbox, call_in_time};
use crate::turn;
use crate::uses::{UsesAsker, UsesFailure, UsesRequest, UsesTarget, usual_tool};
use ambit_storage::ids;
use async_trait::async_trait;
use serde_json::Value;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::timeout;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// Bytes of an answer that are read.
const LARGEST: usize = 16 << 20;

/// Asks whoever is named for a step.
#[derive(Clone)]
pub struct StepAsker {
    core: Weak<RuntimeCore>,
    authorized: Authorized,
}

impl StepAsker {
    /// For this runtime, for nobody in particular.
    pub fn of(core: &Arc<RuntimeCore>) -> Self {
        Self::acting_for(core, &Authorized::default())
    }

    /// For somebody.
    pub fn acting_for(core: &Arc<RuntimeCore>, who: &Authorized) -> Self {
        Self {
            core: Arc::downgrade(core),
            authorized: who.clone(),
        }
    }

    /// The app as it is loaded now.
    pub fn loaded(&self) -> Result<(Arc<RuntimeCore>, Arc<LoadedApp>)> {
        let stopped = || Error::new(ErrorCode::Unavailable, "the server is being stopped");
        let core = self.core.upgrade().ok_or_else(stopped)?;
        let loaded = core.loaded();
        Ok((core, loaded))
    }

    /// Who `agent/agent.yml` names for the step; `builtin` where nobody is named.
    pub fn target(&self, step: &str) -> Result<UsesTarget> {
        let (_, loaded) = self.loaded()?;
        let uses = &loaded.app.defaults.uses;
        let named = uses.get(step).map_or("", |named| named.trim());
        let named = if named.is_empty() { "builtin" } else { named };
        let target = UsesTarget::read(&loaded.app, named);
        target.map_err(|why| Error::new(ErrorCode::ConfigError, format!("uses.{step}: {why}")))
    }

    /// What an agent or a tool answers.
    pub async fn ask(
        &self,
        step: &'static str,
        target: &UsesTarget,
        request: Value,
    ) -> Result<Value> {
        let wanted = UsesRequest {
            key: step,
            messages: vec![ChatMessage::user(request.to_string())],
            arguments: request,
        };
        self.answer(target, wanted).await
    }

    async fn answer(&self, target: &UsesTarget, wanted: UsesRequest) -> Result<Value> {
        let step = wanted.key;
        let asked = async {
            match target {
                UsesTarget::Agent(id) => self.ask_agent(id, wanted.messages).await,
                UsesTarget::Tool(named) => self.call_tool(step, named, wanted.arguments).await,
                UsesTarget::Builtin | UsesTarget::Disabled => {
                    let message = format!("uses.{step} names no agent and no tool");
                    Err(Error::new(ErrorCode::ConfigError, message))
                }
            }
        };
        let late = |_| {
            Error::new(
                ErrorCode::Timeout,
                format!("uses.{step} has not answered in time"),
            )
        };
        timeout(PATIENCE, asked).await.map_err(late)?
    }

    /// A turn of its own, of which nothing is kept: `Next`'s data, else what the agent has said.
    async fn ask_agent(&self, id: &str, messages: Vec<ChatMessage>) -> Result<Value> {
        let (core, _) = self.loaded()?;
        let request = TurnRequest {
            authorized: self.authorized.clone(),
            agent: id.to_owned(),
            chat: Some(format!("_temp_{}", ids::unguessable())),
            messages,
            skip: SkipOptions {
                history: true,
                trace: true,
                search: true,
                ..SkipOptions::default()
            },
            cancel_on_disconnect: true,
            ..TurnRequest::default()
        };
        let turn = turn::open(&core, request).await?;
        let started = turn.started()?;
        core.spawn(turn.run());
        answer(started.stream).await
    }

    async fn call_tool(&self, step: &str, named: &str, request: Value) -> Result<Value> {
        let (core, loaded) = self.loaded()?;
        let toolbox = core.tools(&loaded);
        let caller = ToolCaller {
            authorized: self.authorized.clone(),
            agent: String::new(),
            request_id: ids::unguessable(),
            servers: Arc::default(),
            timeout: PATIENCE,
            processes: Arc::new(NoProcesses),
        };
        let tool = find_tool(toolbox.as_ref(), &caller, step, named).await?;
        let outcome = call_in_time(toolbox.as_ref(), &tool, request, &caller).await?;
        match outcome.is_error {
            true => Err(Error::new(ErrorCode::ToolError, outcome.text)),
            false => Ok(outcome.data),
        }
    }
}

#[async_trait]
impl UsesAsker for StepAsker {
    async fn ask(&self, means: &UsesTarget, wanted: UsesRequest) -> Result<Value, UsesFailure> {
        match means {
            UsesTarget::Builtin => {
                let why = "no model is asked outside of a turn";
                Err(UsesFailure::Unknown(why.to_owned()))
            }
            UsesTarget::Disabled => Err(UsesFailure::Unknown("the step is disabled".to_owned())),
            target => self
                .answer(target, wanted)
                .await
                .map_err(UsesFailure::Failed),
        }
    }
}

/// The tool of `<server>.<tool>`, or a server's only one or the usual one of the step. Both may have dots.
async fn find_tool(
    toolbox: &dyn Toolbox,
    caller: &ToolCaller,
    step: &str,
    named: &str,
) -> Result<ServerTool> {
    let dots = named.rmatch_indices('.').map(|(at, _)| at);
    let mut failure = Error::not_found("tool", named);
    for end in std::iter::once(named.len()).chain(dots) {
        let (server, tool) = (&named[..end], named.get(end + 1..));
        let wanted = ServerSelection::Whole(server.to_owned());
        match toolbox.list(&[wanted], caller).await {
            Ok(mut tools) => {
                let is_only = tool.is_none() && tools.len() == 1;
                let name = tool.unwrap_or_else(|| usual_tool(step));
                let place = tools.iter().position(|it| is_only || it.tool == name);
                if let Some(place) = place {
                    return Ok(tools.swap_remove(place));
                }
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The answer of a turn.
async fn answer(mut stream: StreamReader) -> Result<Value> {
    let mut messages = OutputMessages::default();
    let mut read = 0;
    while let Some(entries) = stream.next().await? {
        for entry in entries {
            read += entry.text.len();
            let unreadable = |error| Error::internal(format!("a frame of a turn: {error}"));
            let frame: Frame = serde_json::from_str(&entry.text).map_err(unreadable)?;
            if frame.event_name() == Some("stream_end") {
                return end(&frame, &messages);
            }
            // A message that cannot be followed any more is told by its turn's end.
            let _ = apply(&mut messages, &frame);
        }
        if read > 2 * LARGEST {
            let message = format!("the agent's answer has more than {LARGEST} bytes");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
    }
    Err(Error::new(ErrorCode::Unavailable, "the agent was stopped"))
}

fn end(frame: &Frame, messages: &OutputMessages) -> Result<Value> {
    let field = |name: &str| frame.event_data().and_then(|data| data.get(name));
    if let Some(why) = field("error").and_then(Value::as_str) {
        return Err(Error::new(ErrorCode::LlmError, why));
    }
    if let Some(next) = field("next").filter(|next| !next.is_null()) {
        return Ok(next.clone());
    }
    let said = messages.messages().iter();
    let said = said.filter(|message| message.kind == "text");
    let said: Vec<&str> = said
        .filter_map(|message| message.props.get("content")?.as_str())
        .collect();
    let text = said.join("\n");
    Ok(serde_json::from_str(&text).unwrap_or_else(|_| text.into()))
}
