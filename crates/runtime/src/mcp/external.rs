//! A server outside, and the connections to it: one for each set of credentials.

use super::connection::McpConnection;
use super::transport::{ConnectionTarget, McpEnvironment, TransportEntry};
use crate::access::Authorized;
use crate::app::{McpServerFile, caller_variables};
use crate::error::Result;
use crate::llm::Secrets;
use crate::lock::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A connection of one caller's own is closed when nobody has used it for so long.
const IDLE: Duration = Duration::from_secs(300);
/// The most connections of callers of their own to one server.
const CONNECTIONS: usize = 64;

/// A server that is reached over a transport.
pub struct ExternalServer {
    about: Arc<McpServerFile>,
    transport: &'static TransportEntry,
    environment: Arc<McpEnvironment>,
    /// By what tells their callers apart.
    connections: Mutex<BTreeMap<Vec<String>, Arc<McpConnection>>>,
}

impl ExternalServer {
    /// What a file describes. Nothing is connected before it is used.
    pub fn new(
        about: Arc<McpServerFile>,
        transport: &'static TransportEntry,
        environment: Arc<McpEnvironment>,
    ) -> Self {
        Self {
            about,
            transport,
            environment,
            connections: Mutex::default(),
        }
    }

    /// The connection for this caller. Callers share one only where the server cannot tell them apart.
    pub fn connection(&self, who: &Authorized) -> Result<Arc<McpConnection>> {
        let filled = caller_variables::fill(&self.about, who)?;
        let mut connections = lock(&self.connections);
        if let Some(connection) = connections.get(&filled.key) {
            return Ok(connection.clone());
        }
        if connections.len() >= CONNECTIONS {
            let oldest = connections.iter().min_by_key(|(_, it)| it.used());
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|key| connections.remove(&key));
        }
        let settings = filled.connection;
        let credentials = settings.personal().map(|(_, text)| text);
        let secrets = Secrets::of_service(credentials, &settings.arguments, &settings.url);
        let connection = Arc::new(McpConnection::new(ConnectionTarget {
            id: self.about.id.clone(),
            transport: self.transport,
            secrets: Arc::new(secrets),
            settings,
            environment: self.environment.clone(),
            timeout: self.about.settings.timeout,
        }));
        connections.insert(filled.key, connection.clone());
        Ok(connection)
    }

    /// Closes what nobody has used for a while, of connections that only one caller can use.
    pub fn close_idle(&self) {
        let is_used = |connection: &McpConnection| connection.used().elapsed() < IDLE;
        lock(&self.connections).retain(|key, connection| key.is_empty() || is_used(connection));
    }

    /// Closes all connections.
    pub fn close(&self) {
        let connections = lock(&self.connections);
        connections
            .values()
            .for_each(|connection| connection.close());
    }
}
