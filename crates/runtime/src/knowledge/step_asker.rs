//! Asking an agent or a tool for a step of a job, where no turn is under way.

use crate::access::{Authorized, DataConstraints};
use crate::chat::ChatMessage;
use crate::error::{Error, ErrorCode, Result};
use crate::frame::{Frame, OutputMessages, TurnEvent, apply, text_of};
use crate::loaded_app::LoadedApp;
use crate::request::{SkipOptions, TurnRequest};
use crate::runtime_core::RuntimeCore;
use crate::stream::StreamReader;
use crate::tool::{NoProcesses, ToolCaller};
use crate::trace::Trace;
use crate::turn;
use crate::uses::{StepTools, UsesAsker, UsesFailure, UsesRequest, UsesTarget, agent_answer};
use ambit_knowledge::CollectionOwner;
use ambit_storage::ids;
use futures::future::BoxFuture;
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

    /// The same for the owner of a collection, within the data that people reach where nothing else is said.
    pub fn acting_for_owner(&self, owner: &CollectionOwner) -> Self {
        let mut authorized = Authorized {
            tenant_id: owner.tenant.clone(),
            user_id: owner.user.clone(),
            team_id: owner.team.clone(),
            ..Authorized::default()
        };
        if owner.user.is_some() {
            authorized.constraints = DataConstraints::usual(&authorized);
        }
        Self {
            core: self.core.clone(),
            authorized,
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

    /// A turn of its own, of which nothing is kept: `Next`'s data, else what the agent has said.
    async fn ask_agent(&self, id: &str, messages: Vec<ChatMessage>) -> Result<Value, UsesFailure> {
        let said = said(self.begin(id, messages).await?).await?;
        agent_answer(said.error.as_deref(), &said.next, &said.text)
    }

    async fn begin(&self, id: &str, messages: Vec<ChatMessage>) -> Result<StreamReader> {
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
        Ok(started.stream)
    }

    async fn call_tool(&self, named: &str, wanted: UsesRequest) -> Result<Value, UsesFailure> {
        let (core, loaded) = self.loaded()?;
        let toolbox = core.tools(&loaded);
        let caller = ToolCaller {
            authorized: self.authorized.clone(),
            agent: String::new(),
            request_id: ids::unguessable(),
            servers: Arc::default(),
            timeout: PATIENCE,
            node: Trace::off("").root(),
            processes: Arc::new(NoProcesses),
            progress: None,
        };
        let tools = StepTools {
            app: &loaded.app,
            toolbox: toolbox.as_ref(),
            caller: &caller,
        };
        tools.ask(named, wanted).await
    }
}

impl UsesAsker for StepAsker {
    fn ask<'a>(
        &'a self,
        means: &'a UsesTarget,
        wanted: UsesRequest,
    ) -> BoxFuture<'a, Result<Value, UsesFailure>> {
        Box::pin(async move {
            let step = wanted.key;
            let asked = async {
                match means {
                    UsesTarget::Builtin => {
                        let why = "no model is asked outside of a turn";
                        Err(UsesFailure::Unknown(why.to_owned()))
                    }
                    UsesTarget::Disabled => {
                        Err(UsesFailure::Unknown("the step is disabled".to_owned()))
                    }
                    UsesTarget::Agent(id) => self.ask_agent(id, wanted.messages).await,
                    UsesTarget::Tool(named) => self.call_tool(named, wanted).await,
                }
            };
            timeout(PATIENCE, asked).await.unwrap_or_else(|_| {
                let late = format!("uses.{step} has not answered in time");
                Err(UsesFailure::Failed(Error::new(ErrorCode::Timeout, late)))
            })
        })
    }
}

/// What the agent of a turn has said, and how the turn ended.
struct SpokenAnswer {
    text: String,
    error: Option<String>,
    next: Value,
}

/// Follows a turn to its end.
async fn said(mut stream: StreamReader) -> Result<SpokenAnswer> {
    let mut messages = OutputMessages::default();
    let mut read = 0;
    while let Some(entries) = stream.next().await? {
        for entry in entries {
            read += entry.text.len();
            let unreadable = |error| Error::internal(format!("a frame of a turn: {error}"));
            let frame: Frame = serde_json::from_str(&entry.text).map_err(unreadable)?;
            if let Some(TurnEvent::StreamEnd(end)) = TurnEvent::read(&frame) {
                return Ok(SpokenAnswer {
                    text: text_of(messages.messages()),
                    error: end.error.map(str::to_owned),
                    next: end.next.cloned().unwrap_or_default(),
                });
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
