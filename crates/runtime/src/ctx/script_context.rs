//! What a script may see and reach of a turn.

use crate::access::Authorized;
use crate::app::{App, AppAgent};
use crate::ctx::TurnHost;
use crate::error::Disclosure;
use crate::limits::AgentLimits;
use crate::mcp;
use crate::net;
use crate::outbox::AgentOutbox;
use crate::process::ProcessRegistry;
use crate::request::RequestOrigin;
use crate::search::SearchContext;
use crate::tool::ServerSelection;
use crate::trace::TraceNode;
use ambit_storage::SessionIdentity;
use ambit_storage::memory::Memory;
use serde_json::{Map, Value};
use std::sync::Arc;

/// One run context: what `ctx` shows, and what its methods reach. Scripts change nothing of it.
#[derive(Clone)]
pub struct ScriptContext {
    /// What `ctx` shows.
    pub properties: ContextProperties,
    /// `ctx.memory`.
    pub memory: MemoryNamespaces,
    /// Who speaks in `ctx.Send` and its like.
    pub outbox: AgentOutbox,
    /// Where the nodes of its hooks hang.
    pub trace: TraceNode,
    pub app: Arc<App>,
    pub processes: Arc<ProcessRegistry>,
    /// The agent whose scripts run.
    pub agent: Arc<AppAgent>,
    /// What its scripts may use.
    pub limits: AgentLimits,
    /// What reaches the hosts that the app lists.
    pub http: net::HttpClient,
    /// The tool servers.
    pub mcp: Arc<mcp::McpServers>,
    /// Those that the agent names and what it wants of them, as its package or `Create` says.
    pub servers: Arc<Vec<ServerSelection>>,
    /// What its searches are made with.
    pub search: SearchContext,
    /// Who is asked for what only a runtime can do.
    pub turn_host: Arc<dyn TurnHost>,
    /// How much is told of what goes on inside its scripts.
    pub disclosure: Disclosure,
}

/// The plain properties of `ctx`.
#[derive(Clone, Debug)]
pub struct ContextProperties {
    /// The chat's name.
    pub chat_id: String,
    /// The agent whose hook runs.
    pub assistant_id: String,
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// `locale`, `theme`, `route`, `accept`, `referer` and `client`.
    pub origin: RequestOrigin,
    /// Client-supplied data, and what `Create` added.
    pub metadata: Map<String, Value>,
    /// Who is asking.
    pub authorized: Authorized,
    /// The conversation.
    pub identity: SessionIdentity,
}

/// The four namespaces of memory.
#[derive(Clone)]
pub struct MemoryNamespaces {
    /// The user's.
    pub user: Memory,
    /// The team's.
    pub team: Memory,
    /// The conversation's.
    pub chat: Memory,
    /// The request's.
    pub context: Memory,
}

impl MemoryNamespaces {
    /// The namespaces by name, in the order of the reference.
    pub fn all(&self) -> [&Memory; 4] {
        [&self.user, &self.team, &self.chat, &self.context]
    }
}

/// Claims that scripts see. Others of a token are between it and the server.
const CLAIMS: &[&str] = &[
    "client_id",
    "session_id",
    "sub",
    "scope",
    "remember_me",
    "acted_by",
];

impl ScriptContext {
    /// `ctx.authorized`: a copy, absent keys left out.
    pub fn authorized(&self) -> Value {
        let authorized = &self.properties.authorized;
        let claims = authorized.claims.iter();
        let seen = Authorized {
            claims: claims
                .filter(|(name, _)| CLAIMS.contains(&name.as_str()))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            ..authorized.clone()
        };
        serde_json::to_value(seen).unwrap_or_default()
    }
}
