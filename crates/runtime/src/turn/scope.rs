//! What a turn gives to its parts: listeners, the scope of scripts, a voice.

use super::Turn;
use super::agent_run::AgentRun;
use crate::app::AppAgent;
use crate::chats::{self, LastTurn};
use crate::ctx::{ContextProperties, MemoryNamespaces, ScriptContext};
use crate::error::Result;
use crate::journal::OpenTurn;
use crate::llm::{ModelAnswer, TokenUsage};
use crate::outbox::{AgentOutbox, MessageAuthor};
use crate::request::RequestOrigin;
use crate::retention::{self, RetentionPeriods};
use crate::runtime::StartedTurn;
use crate::trace::{NodeOptions, Trace, TraceNode};
use crate::turn_location;
use ambit_storage::batch::BatchWrite;
use ambit_storage::directory::RowFilter;
use ambit_storage::event::{After, Before, Event, EventMetadata};
use ambit_storage::memory::{Memory, SCOPE};
use serde_json::{Value, json};
use std::sync::Arc;

impl Turn {
    /// What whoever sent the request is told.
    pub fn started(&self) -> Result<StartedTurn> {
        Ok(StartedTurn {
            request_id: self.ids.request_id.clone(),
            context_id: self.ids.context_id.clone(),
            chat_id: self.ids.chat_id.clone(),
            trace_id: self.ids.request_id.clone(),
            assistant_id: self.request.agent.clone(),
            started_at: self.started_at,
            stream: self.log.reader(0)?,
        })
    }

    pub(super) fn now(&self) -> i64 {
        self.core.stores.options().clock.now()
    }

    /// What the stream's first entry says.
    pub(super) fn start_event(&self, agent: &AppAgent) -> Value {
        let app = &self.loaded.app;
        let locale = &self.settings.locale;
        let words = app.words(agent, locale);
        let text = |text: &str| words.fill(text).into_owned();
        json!({
            "context_id": self.ids.context_id,
            "request_id": self.ids.request_id,
            "timestamp": self.started_at,
            "chat_id": self.ids.chat_id,
            "trace_id": self.ids.request_id,
            "assistant": {
                "assistant_id": agent.id,
                "type": if agent.is_worker { "worker" } else { "assistant" },
                "name": text(&agent.name),
                "avatar": agent.avatar,
                "description": text(&agent.description),
            },
            "metadata": self.request.metadata,
        })
    }

    /// What the events of this turn say.
    pub(super) fn about(&self) -> EventMetadata {
        let identity = self.session.context().identity().clone();
        let mut about = EventMetadata::new(self.request.authorized.tenant(), identity, self.now());
        about.turn_id = Some(self.ids.request_id.clone());
        about.caller_id.clone_from(&self.request.authorized.user_id);
        about
    }

    pub(super) fn has_listener<E: Event>(&self) -> bool {
        self.loaded.ambit.bus().has_listeners::<E>()
    }

    pub(super) async fn ask<E: Before>(&self, event: E) -> Result<E> {
        Ok(self.loaded.ambit.bus().ask(event).await?)
    }

    pub(super) async fn announce<E: After>(&self, event: E) {
        self.loaded.ambit.bus().notify(event).await;
    }

    /// Says in the trace that something is not as it should be.
    pub(super) fn warn(&self, text: &str) {
        self.root().warn(text);
    }

    /// The node above all that is done here.
    pub(super) fn root(&self) -> TraceNode {
        match &self.parent {
            None => self.trace.root(),
            Some(fork) => fork.node.clone(),
        }
    }

    /// The tokens of the whole turn.
    pub(super) fn usage(&self) -> TokenUsage {
        self.usage.usage()
    }

    /// Where an agent's part is traced.
    pub(super) fn agent_node(&self, leg: &AgentRun) -> TraceNode {
        match leg.call.skip.trace {
            true => Trace::off(&self.ids.request_id).root(),
            false => self.root(),
        }
    }

    /// A step of an agent, in the trace.
    pub(super) fn node(&self, leg: &AgentRun, kind: &str, label: &str, input: Value) -> TraceNode {
        self.agent_node(leg)
            .add(NodeOptions::new(kind, label).with_input(input))
    }

    /// The voice of this agent's hooks, models and tools.
    pub(super) fn speaker(&self, leg: &AgentRun) -> AgentOutbox {
        let voice = self.parent.as_ref().map(|fork| fork.voice.clone());
        let voice = voice.unwrap_or_default();
        self.outbox.for_author(MessageAuthor {
            is_silent: voice.is_silent || leg.call.skip.output,
            assistant_id: leg.agent.id.clone(),
            ..voice
        })
    }

    /// What the scripts of this agent see and reach.
    ///
    /// The step is what they run for, by which the agents that they call are known again after a crash.
    pub(super) fn scope(&self, leg: &AgentRun, step: &str) -> Result<Arc<ScriptContext>> {
        self.scope_below(leg, (step, self.agent_node(leg)))
    }

    /// The same, traced below a node.
    pub(super) fn scope_below(
        &self,
        leg: &AgentRun,
        (step, node): (&str, TraceNode),
    ) -> Result<Arc<ScriptContext>> {
        Ok(Arc::new(ScriptContext {
            properties: self.properties(leg),
            memory: self.memories(leg)?,
            speaker: self.speaker(leg),
            trace: node,
            app: self.loaded.app.clone(),
            processes: self.loaded.processes.clone(),
            agent: leg.agent.clone(),
            limits: *leg.hooks.limits(),
            http: self.loaded.http.clone(),
            mcp: self.loaded.mcp.clone(),
            servers: self.servers(leg),
            ask: Arc::new(self.turn_host(leg, step)),
        }))
    }

    /// What this agent says of its tool servers: its package, or its `Create`.
    fn servers(&self, leg: &AgentRun) -> Arc<Vec<Value>> {
        let created = self.settings.servers.as_ref();
        let own = created.filter(|(at, _)| *at == leg.index);
        own.map_or_else(
            || Arc::new(leg.agent.mcp.servers.clone()),
            |(_, servers)| servers.clone(),
        )
    }

    fn properties(&self, leg: &AgentRun) -> ContextProperties {
        let request = &self.request;
        ContextProperties {
            chat_id: self.ids.chat_id.clone(),
            assistant_id: leg.agent.id.clone(),
            request_id: self.ids.request_id.clone(),
            context_id: self.ids.context_id.clone(),
            origin: RequestOrigin {
                locale: self.settings.locale.clone(),
                theme: self.settings.theme.clone(),
                route: self.settings.route.clone(),
                referer: leg.referer(self),
                ..request.origin.clone()
            },
            metadata: self.settings.metadata.clone(),
            authorized: request.authorized.clone(),
            identity: self.session.context().identity().clone(),
        }
    }

    fn memories(&self, leg: &AgentRun) -> Result<MemoryNamespaces> {
        let authorized = &self.request.authorized;
        let driver = self.core.stores.for_scope(SCOPE)?.driver().clone();
        let tenant = authorized.tenant();
        let most = leg.hooks.limits().memory_value;
        let settings = |namespace| self.loaded.memory(namespace, most);
        Ok(MemoryNamespaces {
            user: Memory::user(
                driver.clone(),
                tenant,
                authorized.user_id.as_deref(),
                settings("user"),
            )?,
            team: Memory::team(
                driver,
                tenant,
                authorized.team_id.as_deref(),
                settings("team"),
            )?,
            chat: self.session.context().memory_with(settings("chat"))?,
            context: self.memory.clone(),
        })
    }

    /// `payload.completion`: the last answer, with the tokens of the whole turn and the message in which it was shown.
    pub(super) fn completion(&self, answer: &ModelAnswer) -> Value {
        let shown = self.answers.answers.last().and_then(|spoken| {
            let is_text = |id: &&String| {
                self.outbox
                    .message(id)
                    .is_some_and(|shown| shown.kind == "text")
            };
            spoken.shown.iter().rev().find(is_text)
        });
        answer.completion(&self.usage(), shown.map(String::as_str))
    }

    /// What the list of chats shows of this turn.
    pub(super) fn chat_note(&self) -> Result<BatchWrite> {
        let last = LastTurn {
            assistant_id: self.request.agent.clone(),
            connector: self.answers.connector.clone(),
            mode: self.request.mode.clone(),
            at: self.now(),
        };
        chats::note(&self.session.context().place().0, &last)
    }

    /// How long what the turn leaves is kept.
    pub(super) fn terms(&self) -> RetentionPeriods {
        RetentionPeriods::of(&self.loaded.app.settings)
    }

    /// The note by which every node finds this turn while it is open.
    pub(super) fn open_note(&self) -> OpenTurn {
        let context = self.session.context();
        OpenTurn {
            tenant: self.request.authorized.tenant().to_owned(),
            agent: self.request.agent.clone(),
            base: context.identity().clone(),
            space: context.place().0,
            request_id: self.ids.request_id.clone(),
        }
    }

    /// The note by which the turn is found by its id alone.
    pub(super) fn request_note(&self) -> Result<BatchWrite> {
        let context = self.session.context();
        let life = match context.is_temporary() {
            true => context.ambit().settings().temporary_life,
            false => self.terms().known(),
        };
        turn_location::note(context, &self.ids.request_id, life)
    }

    /// What ends with the turn, and the notes by which upkeep ends the rest of what it leaves.
    pub(super) async fn retention_writes(&self, ended_at: i64) -> Result<Vec<BatchWrite>> {
        let log = self.names.journal();
        let mut writes = vec![BatchWrite::Drop { log }];
        if self.calls.as_ref().is_some_and(|calls| calls.is_used()) {
            let log = self.names.calls();
            writes.push(BatchWrite::Drop { log });
        }
        let Some(row) = self.row().await? else {
            writes.push(self.request_note()?);
            return Ok(writes);
        };
        let (tenant, id) = (self.request.authorized.tenant(), &self.ids.request_id);
        let known = self.terms().known();
        writes.push(turn_location::note_of(&row, (tenant, id), known)?);
        let ended = retention::EndedTurn {
            tenant,
            row,
            request_id: id,
            at: ended_at,
            is_traced: self.trace.is_on(),
        };
        writes.extend(retention::notes(&ended, self.terms())?);
        Ok(writes)
    }

    /// The index row of the conversation's history; a temporary one has none. A turn that is only closed has saved nothing
    /// that would tell.
    async fn row(&self) -> Result<Option<String>> {
        let context = self.session.context();
        let known = context.row_id();
        if known.is_some() || context.is_temporary() {
            return Ok(known);
        }
        let space = context.place().0;
        let filter = RowFilter {
            storage_key: Some(space.path),
            ..RowFilter::tenant(space.tenant)
        };
        let row = chats::first(context.ambit(), &filter).await?;
        Ok(row.map(|row| row.id))
    }
}

impl AgentRun {
    /// `ctx.referer` of this agent.
    pub(super) fn referer(&self, turn: &Turn) -> String {
        match self.index {
            0 => turn.request.origin.referer.clone(),
            _ => "agent".to_owned(),
        }
    }
}
