//! One agent's part of a turn: the one that was asked, or one that another has handed over to.

use super::{Turn, history};
use crate::app::AppAgent;
use crate::chat_message;
use crate::error::{Error, ErrorCode, Result};
use crate::hook::{AgentHooks, CreateResult, Delegate};
use crate::journal::JournalStep;
use crate::request::SkipOptions;
use ambit_storage::storage::Message;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What the agents of a turn hand on.
pub(super) enum AgentRunOutcome {
    /// The answer to the request.
    Done(Box<super::next::TurnResponse>),
    /// Another agent.
    To(Delegate),
}

/// One agent at work, and what it works on.
#[derive(Clone)]
pub(super) struct AgentRun {
    /// Its place: 0 is the agent that was asked.
    pub index: usize,
    pub agent: Arc<AppAgent>,
    pub hooks: Arc<AgentHooks>,
    /// Everything it is to see: history and request, or what it was handed.
    pub messages: Vec<Value>,
    /// How it was called.
    pub call: CallOptions,
    /// All agents of the turn so far, this one last.
    pub chain: Vec<String>,
}

/// The options of a call: of the request, or of whoever handed over.
#[derive(Clone, Debug, Default)]
pub(super) struct CallOptions {
    pub connector: Option<String>,
    pub mode: Option<String>,
    pub search: Option<Value>,
    pub skip: SkipOptions,
    pub disable_global_prompts: bool,
    /// Keys that only the agent's own hooks know.
    pub further: Map<String, Value>,
}

impl AgentRun {
    /// The agent that was asked.
    pub fn first(turn: &Turn) -> Result<Self> {
        let request = &turn.request;
        let (agent, hooks) = turn.loaded.agent(&request.agent)?;
        let size = history::size(&turn.loaded, &agent)?;
        let old = turn.history.len().saturating_sub(size);
        let mut new = Vec::with_capacity(request.messages.len());
        for (at, chat) in request.messages.iter().enumerate() {
            new.push(chat_message::from_chat(&format!("messages[{at}]"), chat)?);
        }
        // Together: the request may answer calls that the history has left open.
        let all: Vec<&Message> = turn.history[old..].iter().chain(&new).collect();
        let messages = history::chat_view(&all);
        let above = turn.parent.iter().flat_map(|fork| fork.ancestors.clone());
        let chain: Vec<String> = above.chain([agent.id.clone()]).collect();
        check_chain(turn, &chain, hooks.limits().delegate_depth)?;
        Ok(Self {
            index: 0,
            chain,
            agent,
            hooks,
            messages,
            call: CallOptions {
                connector: request.connector.clone(),
                mode: request.mode.clone(),
                search: request.search.clone(),
                skip: request.skip,
                disable_global_prompts: request.disable_global_prompts,
                further: request.further.clone(),
            },
        })
    }

    /// The agent that this one hands over to.
    pub async fn delegate(&self, turn: &mut Turn, delegate: Delegate) -> Result<Self> {
        let at = self.index + 1;
        if turn.replay.delegated(at).is_none() {
            turn.store_answers().await?;
            turn.record(JournalStep::Delegated {
                leg: at,
                delegate: delegate.clone(),
            })
            .await?;
        }
        turn.live_turn.set_closing(false).await;
        let Delegate {
            agent_id,
            messages,
            mut options,
        } = delegate;
        let chain: Vec<String> = self.chain.iter().chain([&agent_id]).cloned().collect();
        check_chain(turn, &chain, self.hooks.limits().delegate_depth)?;
        let (agent, hooks) = turn
            .loaded
            .agent(&agent_id)
            .map_err(|error| match error.code {
                ErrorCode::NotFound => {
                    Error::new(ErrorCode::NotFound, format!("unknown agent \"{agent_id}\""))
                }
                _ => error,
            })?;
        if let Some(Value::Object(more)) = options.remove("metadata") {
            turn.settings.metadata.extend(more);
        }
        let call = CallOptions::read(options, self.call.skip);
        Ok(Self {
            index: at,
            agent,
            hooks,
            messages,
            call,
            chain,
        })
    }

    /// To whom this agent has handed over in an earlier attempt. What it did for the turn counts as it did then.
    pub fn handed_over(&self, turn: &mut Turn) -> Option<Delegate> {
        let delegate = turn.replay.delegated(self.index + 1)?.clone();
        if let Some(created) = turn.replay.created(self.index).flatten().cloned() {
            turn.settings.apply(&created);
        }
        turn.answers.tools.extend(turn.replay.results(self.index));
        Some(delegate)
    }

    /// Calls `Create`, unless it has returned in an earlier attempt, and applies what it says of the rest of the turn.
    pub async fn create(&self, turn: &mut Turn) -> Result<CreateResult> {
        let created = match turn.replay.created(self.index) {
            Some(created) => created.cloned().unwrap_or_default(),
            None => {
                let scope = turn.scope(self, "Create")?;
                let options = self.call.options(&turn.settings.metadata);
                let created = self
                    .hooks
                    .create(&scope, self.messages.clone(), options)
                    .await?;
                turn.note(JournalStep::Created {
                    leg: self.index,
                    created: created.clone().map(Box::new),
                })?;
                turn.reach_fault_point("turn.created");
                created.unwrap_or_default()
            }
        };
        turn.settings.apply(&created);
        let servers = created.mcp_servers.clone();
        turn.settings.servers = servers.map(|servers| (self.index, Arc::new(servers)));
        Ok(created)
    }
}

/// The agents that work for each other may be so many; one that is there again is worth a warning.
fn check_chain(turn: &Turn, chain: &[String], most: usize) -> Result<()> {
    let shown = || chain.join(" → ");
    if chain.len() > most + 1 {
        let message = format!("delegate depth limit {most} exceeded: {}", shown());
        return Err(Error::new(ErrorCode::DelegateDepth, message));
    }
    if let Some((last, above)) = chain.split_last()
        && above.contains(last)
    {
        turn.warn(&format!("agents go in a circle: {}", shown()));
    }
    Ok(())
}

impl CallOptions {
    fn read(mut options: Map<String, Value>, before: SkipOptions) -> Self {
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        let connector = text(options.remove("connector"));
        let mode = text(options.remove("mode"));
        let search = options.remove("search");
        let skip = options.remove("skip");
        let skip = skip.map_or(before, |skip| before.with(&skip));
        let disabled = options.remove("disable_global_prompts");
        options.remove("metadata");
        Self {
            connector,
            mode,
            search,
            skip,
            disable_global_prompts: disabled.and_then(|value| value.as_bool()).unwrap_or(false),
            further: options,
        }
    }

    /// `options` as hooks see them.
    pub fn options(&self, metadata: &Map<String, Value>) -> Value {
        let mut options = self.further.clone();
        options.extend([
            ("connector".to_owned(), json!(self.connector)),
            ("mode".to_owned(), json!(self.mode)),
            ("search".to_owned(), json!(self.search)),
            ("skip".to_owned(), json!(self.skip)),
            (
                "disable_global_prompts".to_owned(),
                json!(self.disable_global_prompts),
            ),
            ("metadata".to_owned(), Value::Object(metadata.clone())),
        ]);
        Value::Object(options)
    }
}

impl super::TurnSettings {
    /// Takes over what `Create` says of the rest of the turn.
    fn apply(&mut self, created: &CreateResult) {
        let texts = [
            (&mut self.locale, created.locale.clone()),
            (&mut self.theme, created.theme.clone()),
            (&mut self.route, created.route.clone()),
        ];
        for (place, text) in texts {
            if let Some(text) = text {
                *place = text;
            }
        }
        self.metadata.extend(created.metadata.clone());
    }
}
