//! Running a hook of an agent in the caller's name.

use super::{Trial, trial_request};
use crate::access::Authorized;
use crate::chat::{self, ChatMessage};
use crate::ctx::{MemoryChange, MemoryNamespaces, ScriptContext};
use crate::error::{Error, Result};
use crate::frame::OutputMessage;
use crate::hook::HookAttempt;
use crate::inspect::memory::{self, CopyBudget, MemorySelector, OpenMemory};
use crate::request::TurnRequest;
use crate::runtime_core::RuntimeCore;
use crate::trace::{AgentFacts, Trace, TraceOrigin, TraceSettings, TraceSink, TraceSubject};
use crate::turn::Turn;
use ambit_storage::SessionIdentity;
use ambit_storage::driver::Driver;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::memory::{ChatMemoryOwner, Memory};
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// Which hook is run, with what.
#[derive(Clone, Debug, Default)]
pub struct HookTrialRequest {
    /// Who runs it.
    pub authorized: Authorized,
    /// The agent.
    pub agent: String,
    /// `Create` or `Next`.
    pub hook: String,
    /// What `Create` gets.
    pub messages: Option<Vec<Value>>,
    /// What `Next` gets.
    pub payload: Option<Value>,
    /// Options of the call, over those that a request without any has.
    pub options: Map<String, Value>,
    /// The conversation whose memory it sees; one of its own where none is named.
    pub chat_id: Option<String>,
    /// Whether it changes the real memory, not a copy.
    pub is_memory_real: bool,
    /// The caller's language.
    pub locale: String,
}

/// What came of a hook.
#[derive(Debug, Serialize, ToSchema)]
pub struct HookTrial {
    /// What it returned.
    pub result: Value,
    /// What it sent.
    pub messages: Vec<HookTrialMessage>,
    /// What it did to memory, or to the copy.
    pub memory: Vec<MemoryChange>,
    /// Nothing: what is tried leaves no trace.
    #[schema(required)]
    pub trace_id: Option<String>,
    /// Processor time, in milliseconds.
    pub cpu_ms: f64,
    /// Why it failed.
    #[schema(required)]
    pub error: Option<HookTrialError>,
}

/// A message that a hook sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct HookTrialMessage {
    /// Its id among them.
    pub message_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    #[schema(value_type = Object)]
    pub props: Map<String, Value>,
}

/// Why a hook failed.
#[derive(Debug, Serialize, ToSchema)]
pub struct HookTrialError {
    /// What went wrong.
    pub message: String,
    /// By meaning.
    pub code: String,
    /// The file, below the app's folder, where it is known.
    #[schema(required)]
    pub file: Option<String>,
    /// The line, from 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// Where in the scripts, innermost first.
    #[schema(required)]
    pub stack: Option<String>,
}

impl HookTrialRequest {
    /// What the hook gets beside its options.
    fn input(&mut self) -> Result<Value> {
        match (
            self.hook.as_str(),
            self.messages.take(),
            self.payload.take(),
        ) {
            ("Create", messages, None) => {
                let messages = messages.unwrap_or_default();
                let messages = ChatMessage::read_all("messages", messages)?;
                Ok(chat::to_json(&messages))
            }
            ("Next", None, payload) => Ok(payload.unwrap_or_else(|| json!({}))),
            ("Create", ..) => {
                let message = "payload is what Next gets; Create gets messages";
                Err(Error::invalid("payload", message))
            }
            ("Next", ..) => {
                let message = "messages are what Create gets; Next gets a payload";
                Err(Error::invalid("messages", message))
            }
            (hook, ..) => Err(Error::not_found("hook", hook)),
        }
    }
}

impl HookTrial {
    fn of(attempt: HookAttempt, messages: Vec<OutputMessage>) -> Self {
        let error = attempt.error.map(|error| HookTrialError {
            message: error.message,
            code: error.code.as_str().to_owned(),
            file: attempt.at.as_ref().map(|at| at.file.clone()),
            line: attempt.at.as_ref().map(|at| at.line),
            stack: (!error.stack.is_empty()).then(|| error.stack.join("\n")),
        });
        let messages = messages.into_iter().map(|message| HookTrialMessage {
            message_id: message.message_id,
            kind: message.kind,
            props: message.props,
        });
        Self {
            result: attempt.value,
            messages: messages.collect(),
            memory: attempt.changes,
            trace_id: None,
            cpu_ms: attempt.cpu.as_secs_f64() * 1_000.0,
            error,
        }
    }
}

/// Runs a hook as a turn of the agent would. HTTP requests and tools are real.
pub(crate) fn try_hook<'a>(
    core: &'a Arc<RuntimeCore>,
    mut wanted: HookTrialRequest,
) -> BoxFuture<'a, Result<HookTrial>> {
    Box::pin(async move {
        let input = wanted.input()?;
        let metadata = wanted.options.get("metadata").and_then(Value::as_object);
        let metadata = metadata.cloned().unwrap_or_default();
        let request = TurnRequest {
            authorized: wanted.authorized.clone(),
            agent: wanted.agent.clone(),
            metadata: metadata.clone(),
            ..trial_request(&wanted.locale)
        };
        let trial = Trial::open(core, request).await?;
        let Trial { turn, run, .. } = &trial;
        let mut scope = ScriptContext::clone(&trial.scope);
        scope.memory = memories(turn, &scope, &wanted).await?;
        scope.trace = recorded(turn, &scope).root();
        if let Some(chat) = &wanted.chat_id {
            scope.properties.chat_id.clone_from(chat);
        }
        let mut options = run.hook_options(&metadata);
        if let Some(known) = options.as_object_mut() {
            known.extend(std::mem::take(&mut wanted.options));
        }
        let scope = Arc::new(scope);
        let attempt = run
            .hooks
            .attempt(&scope, &wanted.hook, vec![input, options]);
        let attempt = attempt.await;
        trial.save_usage().await;
        let attempt = attempt.ok_or_else(|| Error::not_found("hook", &wanted.hook))?;
        Ok(HookTrial::of(attempt, turn.output.outbox.messages()))
    })
}

/// The memory that the hook sees.
async fn memories(
    turn: &Turn,
    scope: &ScriptContext,
    wanted: &HookTrialRequest,
) -> Result<MemoryNamespaces> {
    let chat = match &wanted.chat_id {
        Some(chat) => Some((chat, open(turn, scope, "chat", Some(chat)).await?)),
        None => None,
    };
    let real = scope.memory.clone();
    if wanted.is_memory_real {
        return Ok(MemoryNamespaces {
            chat: chat.map_or_else(|| real.chat.clone(), |(_, open)| open.memory),
            ..real
        });
    }
    let options = turn.context.core.stores.options().clone();
    let driver: Arc<dyn Driver> = Arc::new(MemoryDriver::new(options));
    let who = &wanted.authorized;
    let (tenant, now) = (who.tenant(), turn.context.now());
    let settings = |space: &str| {
        let loaded = &turn.context.loaded;
        loaded.memory(space, scope.limits.memory_value)
    };
    let mut budget = CopyBudget::TRIAL;
    let user = who.user_id.as_deref();
    let user = Memory::user(driver.clone(), tenant, user, settings("user"))?;
    let stored = open(turn, scope, "user", None).await?;
    stored.copy_into(&user, &mut budget, now).await?;
    let team = who.team_id.as_deref();
    let team = Memory::team(driver.clone(), tenant, team, settings("team"))?;
    let stored = open(turn, scope, "team", None).await?;
    stored.copy_into(&team, &mut budget, now).await?;
    let Some((name, stored)) = chat else {
        // That of the turn is its own, and ends with it.
        return Ok(MemoryNamespaces { user, team, ..real });
    };
    let owner = ChatMemoryOwner {
        identity: SessionIdentity::builder(&scope.agent.id)
            .chat_name(name)
            .build()?,
        tracking: None,
    };
    let chat = Memory::chat(driver, tenant, Some(owner), settings("chat"))?;
    stored.copy_into(&chat, &mut budget, now).await?;
    Ok(MemoryNamespaces {
        user,
        team,
        chat,
        ..real
    })
}

/// A real memory, as the caller may use it.
async fn open(
    turn: &Turn,
    scope: &ScriptContext,
    space: &str,
    chat: Option<&String>,
) -> Result<OpenMemory> {
    let (loaded, who) = (&turn.context.loaded, &turn.context.request.authorized);
    let which = MemorySelector {
        space,
        owner: chat.map(String::as_str),
        assistant_id: chat.map(|_| scope.agent.id.as_str()),
        context: None,
    };
    let ambit = loaded.acting_as(&who.caller());
    let settings = loaded.memory(space, scope.limits.memory_value);
    memory::open_as(&ambit, who, which, settings).await
}

/// A trace that is kept nowhere: what a run does is noted below it.
fn recorded(turn: &Turn, scope: &ScriptContext) -> Trace {
    let ids = &turn.context.ids;
    Trace::start(TraceSettings {
        about: TraceSubject {
            trace_id: ids.request_id.clone(),
            request_id: ids.request_id.clone(),
            chat_id: ids.chat_id.clone(),
            assistant_id: scope.agent.id.clone(),
        },
        origin: TraceOrigin::default(),
        agent: AgentFacts::default(),
        propagation: None,
        limits: scope.limits.trace,
        clock: turn.context.core.stores.options().clock.clone(),
        sink: Box::new(NullSink),
    })
}

/// Keeps no event.
struct NullSink;

impl TraceSink for NullSink {
    fn append(&self, _: String) {}

    fn is_full(&self) -> bool {
        false
    }
}
