//! What scripts ask of the runtime from inside a turn.

use crate::chats;
use crate::ctx::DetachedContextOptions;
use crate::ctx::{ContextProperties, MemoryNamespaces, ScriptContext};
use crate::error::{Error, ErrorCode, Result};
use crate::limits::AgentLimits;
use crate::outbox::MessageAuthor;
use crate::runtime_core::RuntimeCore;
use crate::search::SearchContext;
use crate::trace::Trace;
use ambit_storage::memory::Memory;
use ambit_storage::{LiveAgent, ids};
use std::sync::Arc;

impl RuntimeCore {
    /// The conversation of this name, where it is another than the caller's. One that they may not use does not exist.
    async fn asked_chat(
        &self,
        caller: &ScriptContext,
        chat: Option<&str>,
        agent: &str,
    ) -> Result<Option<LiveAgent>> {
        let ContextProperties {
            chat_id,
            authorized,
            ..
        } = &caller.properties;
        let Some(chat) = chat.filter(|chat| *chat != chat_id) else {
            return Ok(None);
        };
        let name = chats::ChatName {
            chat_id: chat,
            assistant_id: Some(agent),
            context: None,
        };
        let unknown = |_| Error::new(ErrorCode::NotFound, format!("chat \"{chat}\" not found"));
        let ambit = self.loaded().acting_as(&authorized.caller());
        chats::get(&ambit, authorized, name)
            .await
            .map_err(unknown)?;
        chats::open(&ambit, authorized, agent, Some(chat))
            .await
            .map(Some)
    }

    /// A detached context.
    pub(crate) async fn open_context(
        &self,
        caller: &ScriptContext,
        wanted: DetachedContextOptions,
    ) -> Result<Arc<ScriptContext>> {
        let before = &caller.properties;
        let loaded = self.loaded();
        let agent = wanted.assistant_id.as_ref();
        let (agent, _) = loaded.agent(agent.unwrap_or(&before.assistant_id))?;
        let who = &before.authorized;
        let chat = self
            .asked_chat(caller, wanted.chat_id.as_deref(), &agent.id)
            .await?;
        let most = AgentLimits::of(&loaded.app, &agent).memory_value;
        let settings = |namespace| loaded.memory(namespace, most);
        let context_id = format!("{}.m{}", before.request_id, ids::unguessable());
        let clock = self.stores.options().clock.clone();
        let memory = MemoryNamespaces {
            chat: match &chat {
                Some(session) => session.context().memory_with(settings("chat"))?,
                None => caller.memory.chat.clone(),
            },
            context: Memory::request(clock, who.tenant(), &context_id, settings("context"))?,
            ..caller.memory.clone()
        };
        let mut origin = before.origin.clone();
        if let Some(locale) = wanted.locale {
            origin.locale = locale;
        }
        let properties = ContextProperties {
            chat_id: wanted.chat_id.unwrap_or_else(|| before.chat_id.clone()),
            assistant_id: agent.id.clone(),
            context_id: context_id.clone(),
            origin,
            metadata: wanted.metadata.unwrap_or_else(|| before.metadata.clone()),
            identity: match &chat {
                Some(session) => session.context().identity().clone(),
                None => before.identity.clone(),
            },
            ..before.clone()
        };
        Ok(Arc::new(ScriptContext {
            properties,
            memory,
            outbox: caller.outbox.outbox().for_author(MessageAuthor {
                is_silent: true,
                ..caller.outbox.author().clone()
            }),
            trace: Trace::off(&context_id).root(),
            limits: AgentLimits::of(&loaded.app, &agent),
            http: loaded.http.clone(),
            app: loaded.app.clone(),
            processes: loaded.processes.clone(),
            servers: Arc::new(agent.package.mcp.servers.clone()),
            agent,
            mcp: loaded.mcp.clone(),
            search: SearchContext {
                levels: Vec::new(),
                ..caller.search.clone()
            },
            turn_host: caller.turn_host.clone(),
            disclosure: caller.disclosure,
        }))
    }
}
