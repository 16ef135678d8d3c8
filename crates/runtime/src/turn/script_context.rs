//! What the scripts of an agent see and reach in a turn, and where the agent is traced and shown.

use super::Turn;
use super::agent_run::AgentRun;
use super::create::uses;
use super::request_context::RequestContext;
use crate::ctx::{ContextProperties, MemoryNamespaces, ScriptContext};
use crate::error::Result;
use crate::outbox::{AgentOutbox, MessageAuthor};
use crate::request::{RequestOrigin, SearchChoice};
use crate::search::SearchContext;
use crate::tool::ServerSelection;
use crate::trace::{NodeOptions, Trace, TraceNode};
use ambit_storage::memory::{Memory, SCOPE};
use serde_json::Value;
use std::sync::Arc;

impl Turn {
    /// Where an agent is traced.
    pub(super) fn agent_node(&self, run: &AgentRun) -> TraceNode {
        match run.skip.trace {
            true => Trace::off(self.context.id()).root(),
            false => run.node.clone(),
        }
    }

    /// A step of an agent, in the trace.
    pub(super) fn node(&self, run: &AgentRun, kind: &str, label: &str, input: Value) -> TraceNode {
        let options = NodeOptions::new(kind, label).with_input(input);
        self.agent_node(run).add(options)
    }

    /// Where the hooks, the models and the tools of an agent are shown.
    pub(super) fn agent_outbox(&self, run: &AgentRun) -> AgentOutbox {
        let author = &self.output.author;
        self.output.outbox.for_author(MessageAuthor {
            is_silent: author.is_silent || run.skip.output,
            assistant_id: run.agent.id.clone(),
            ..author.clone()
        })
    }

    /// What the scripts of an agent see and reach.
    ///
    /// The step is what they run for, by which the agents that they call are known again after a crash.
    pub(super) fn script_context(&self, run: &AgentRun, step: &str) -> Result<Arc<ScriptContext>> {
        self.script_context_below(run, step, self.agent_node(run))
    }

    /// The same, traced below a node.
    pub(super) fn script_context_below(
        &self,
        run: &AgentRun,
        step: &str,
        node: TraceNode,
    ) -> Result<Arc<ScriptContext>> {
        let loaded = &self.context.loaded;
        Ok(Arc::new(ScriptContext {
            properties: self.context.properties(run),
            memory: self.memories(run)?,
            outbox: self.agent_outbox(run),
            trace: node,
            app: loaded.app.clone(),
            processes: loaded.processes.clone(),
            agent: run.agent.clone(),
            limits: *run.hooks.limits(),
            http: loaded.http.clone(),
            mcp: loaded.mcp.clone(),
            servers: self.context.servers(run),
            search: self.search_context(run),
            turn_host: Arc::new(self.turn_host(run, step)),
            disclosure: self.context.disclosure(),
        }))
    }

    /// What its searches are made with. Of what a client says about searches nothing is a setting.
    pub(super) fn search_context(&self, run: &AgentRun) -> SearchContext {
        let context = &self.context;
        let created = self.journal.replay.created(run.index).flatten();
        let is_of_client = run.index == 0 && !context.is_nested();
        let called = run.call.search.as_ref().filter(|_| !is_of_client);
        let created_search = created.and_then(|created| created.call.search.as_ref());
        let levels = called.into_iter().chain(created_search);
        let levels = levels.filter_map(|choice| match choice {
            SearchChoice::Intent(level) => Some(level.clone()),
            SearchChoice::Flag(_) => None,
        });
        SearchContext {
            levels: levels.collect(),
            uses: uses(context, run, created),
            web: context.core.web.clone(),
            knowledge: context.core.knowledge.get().cloned(),
            turn: self.journal.searches.clone(),
            book: self.journal.usage.booking(),
        }
    }

    fn memories(&self, run: &AgentRun) -> Result<MemoryNamespaces> {
        let authorized = &self.context.request.authorized;
        let stores = &self.context.core.stores;
        let driver = stores.for_scope(SCOPE)?.driver().clone();
        let tenant = authorized.tenant();
        let most = run.hooks.limits().memory_value;
        let settings = |namespace| self.context.loaded.memory(namespace, most);
        let session = self.conversation.session.context();
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
            chat: match &self.output.shared_state {
                Some(state) => state.watch(session.memory_with(settings("chat"))?),
                None => session.memory_with(settings("chat"))?,
            },
            context: self.conversation.memory.clone(),
        })
    }
}

impl RequestContext {
    /// What an agent says of its tool servers: its package, or its `Create`.
    fn servers(&self, run: &AgentRun) -> Arc<Vec<ServerSelection>> {
        let created = self.settings.servers.as_ref();
        match created.filter(|created| created.run == run.index) {
            Some(created) => created.servers.clone(),
            None => Arc::new(run.agent.package.mcp.servers.clone()),
        }
    }

    fn properties(&self, run: &AgentRun) -> ContextProperties {
        let (request, settings) = (&self.request, &self.settings);
        ContextProperties {
            chat_id: self.ids.chat_id.clone(),
            assistant_id: run.agent.id.clone(),
            request_id: self.ids.request_id.clone(),
            context_id: self.ids.context_id.clone(),
            origin: RequestOrigin {
                locale: settings.locale.clone(),
                theme: settings.theme.clone(),
                route: settings.route.clone(),
                referer: run.referer(self),
                ..request.origin.clone()
            },
            metadata: settings.metadata.clone(),
            authorized: request.authorized.clone(),
            identity: self.identity.clone(),
        }
    }
}

impl AgentRun {
    /// `ctx.referer` of this agent.
    pub fn referer(&self, context: &RequestContext) -> String {
        match self.index {
            0 => context.request.origin.referer.clone(),
            _ => "agent".to_owned(),
        }
    }
}
