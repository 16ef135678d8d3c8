//! What a script may see and reach of a turn.

use crate::access::Authorized;
use crate::app::{Agent, App};
use crate::ask::Ask;
use crate::limits::Limits;
use crate::mcp;
use crate::net;
use crate::outbox::Speaker;
use crate::process::Catalogue;
use crate::request::Origin;
use crate::trace::Node;
use ambit_storage::SessionIdentity;
use ambit_storage::memory::Memory;
use serde_json::{Map, Value};
use std::sync::Arc;

/// One run context: what `ctx` shows, and what its methods reach. Scripts change nothing of it.
#[derive(Clone)]
pub struct Scope {
    /// What `ctx` shows.
    pub properties: Properties,
    /// `ctx.memory`.
    pub memory: Memories,
    /// Who speaks in `ctx.Send` and its like.
    pub speaker: Speaker,
    /// Where the nodes of its hooks hang.
    pub trace: Node,
    /// The app.
    pub app: Arc<App>,
    /// Its processes.
    pub processes: Arc<Catalogue>,
    /// The agent whose scripts run.
    pub agent: Arc<Agent>,
    /// What its scripts may use.
    pub limits: Limits,
    /// What reaches the hosts that the app lists.
    pub http: net::Client,
    /// The tool servers.
    pub mcp: Arc<mcp::Servers>,
    /// Those that the agent names and what it wants of them, as its package or `Create` says.
    pub servers: Arc<Vec<Value>>,
    /// Who is asked for what only a runtime can do.
    pub ask: Arc<dyn Ask>,
}

/// The plain properties of `ctx`.
#[derive(Clone, Debug)]
pub struct Properties {
    /// The chat's name.
    pub chat_id: String,
    /// The agent whose hook runs.
    pub assistant_id: String,
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// `locale`, `theme`, `route`, `accept`, `referer` and `client`.
    pub origin: Origin,
    /// Client-supplied data, and what `Create` added.
    pub metadata: Map<String, Value>,
    /// Who is asking.
    pub authorized: Authorized,
    /// The conversation.
    pub identity: SessionIdentity,
}

/// The four namespaces of memory.
#[derive(Clone)]
pub struct Memories {
    /// The user's.
    pub user: Memory,
    /// The team's.
    pub team: Memory,
    /// The conversation's.
    pub chat: Memory,
    /// The request's.
    pub context: Memory,
}

impl Memories {
    /// The namespaces by name, in the order of the reference.
    pub fn all(&self) -> [&Memory; 4] {
        [&self.user, &self.team, &self.chat, &self.context]
    }
}

/// Claims that scripts see. Others of a token are between it and the server.
const CLAIMS: &[&str] = &["client_id", "session_id", "sub", "scope", "remember_me"];

impl Scope {
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
