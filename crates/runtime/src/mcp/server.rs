//! One server of an app, for all who use it.

use super::connection::{ConnectionTarget, McpConnection, ToolChange};
use super::process::ProcessServer;
use super::program::ProgramServer;
use super::request::{AnswerDeadline, McpListKind, McpRequest};
use super::transport::{TRANSPORTS, TransportEntry};
use crate::access::Authorized;
use crate::app;
use crate::app::caller_variables;
use crate::app::read::units;
use crate::error::Result;
use crate::llm::Secrets;
use crate::lock::lock;
use crate::tool::{McpLists, McpSample, ToolCaller, ToolServer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// How long an answer may take where the file says nothing.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A connection of one caller's own is closed when nobody has used it for so long.
const IDLE: Duration = Duration::from_secs(300);
/// The most connections of callers of their own to one server.
const LINKS: usize = 64;

/// What all servers of an app have in common.
#[derive(Clone)]
pub struct McpEnvironment {
    /// The app's folder.
    pub root: PathBuf,
    /// `PATH` of processes.
    pub path: Option<String>,
    /// Sends requests.
    pub http: reqwest::Client,
    /// Counts the processes that are started.
    pub processes: TaskTracker,
    /// The servers of the program around the runtime, by id.
    pub programs: Arc<BTreeMap<String, ToolServer>>,
}

/// A server.
pub struct McpServer {
    /// What its file says.
    pub about: Arc<app::McpServerFile>,
    environment: McpEnvironment,
    kind: McpServerKind,
    timeout: Duration,
}

enum McpServerKind {
    Processes(ProcessServer),
    Program(ProgramServer),
    Outside {
        transport: &'static TransportEntry,
        links: Mutex<BTreeMap<Vec<String>, Arc<McpConnection>>>,
    },
}

impl McpServer {
    /// What a file describes.
    pub fn new(about: Arc<app::McpServerFile>, ground: McpEnvironment) -> Self {
        let row = TRANSPORTS.iter().find(|row| row.name == about.transport);
        let timeout = about.fields.get("timeout").and_then(units::milliseconds);
        let kind = match (ground.programs.get(&about.id), row) {
            (Some(program), _) => McpServerKind::Program(ProgramServer::new(program.clone())),
            (None, Some(transport)) => McpServerKind::Outside {
                transport,
                links: Mutex::default(),
            },
            (None, None) => McpServerKind::Processes(ProcessServer::new(about.clone())),
        };
        Self {
            kind,
            about,
            environment: ground,
            timeout: timeout.map_or(TIMEOUT, Duration::from_millis),
        }
    }

    /// Whether this is what a file describes now.
    pub fn is(&self, about: &app::McpServerFile, ground: &McpEnvironment) -> bool {
        let here = (&self.environment.root, &self.environment.path);
        *self.about == *about && here == (&ground.root, &ground.path)
    }

    /// Whether it may be used at all.
    pub fn is_on(&self) -> bool {
        self.about.fields.get("enabled") != Some(&Value::Bool(false))
    }

    /// Whether it is not the app's own processes.
    pub fn is_outside(&self) -> bool {
        matches!(self.kind, McpServerKind::Outside { .. })
    }

    /// Examples of a tool or a resource.
    pub fn samples(&self, kind: &str, name: &str) -> Option<&[McpSample]> {
        match &self.kind {
            McpServerKind::Processes(mapped) => mapped.samples(kind, name),
            McpServerKind::Program(_) | McpServerKind::Outside { .. } => None,
        }
    }

    /// All that a resource of the app's own processes can be called by.
    pub fn resource_names(&self, name: &str) -> Option<[&str; 3]> {
        match &self.kind {
            McpServerKind::Processes(mapped) => mapped.names_of(name),
            McpServerKind::Program(_) | McpServerKind::Outside { .. } => None,
        }
    }

    /// The tools that have come and gone since the caller's agent asked last. An app's own do so with its files alone.
    pub fn changed(&self, caller: &ToolCaller) -> Vec<ToolChange> {
        let link = self.link(&caller.authorized);
        let link = link.ok().flatten();
        link.map_or_else(Vec::new, |link| link.changed(&caller.agent))
    }

    /// Closes what nobody has used for a while, of connections that only one caller can use.
    pub fn close_idle(&self) {
        if let McpServerKind::Outside { links, .. } = &self.kind {
            let is_used = |link: &McpConnection| link.used().elapsed() < IDLE;
            lock(links).retain(|key, link| key.is_empty() || is_used(link));
        }
    }

    /// Closes all connections.
    pub fn close(&self) {
        if let McpServerKind::Outside { links, .. } = &self.kind {
            lock(links).values().for_each(|link| link.close());
        }
    }

    /// The link for this caller. Callers share one only where the server cannot tell them apart.
    fn link(&self, who: &Authorized) -> Result<Option<Arc<McpConnection>>> {
        let McpServerKind::Outside { transport, links } = &self.kind else {
            return Ok(None);
        };
        let filled = caller_variables::fill(&self.about, who)?;
        let mut links = lock(links);
        if let Some(link) = links.get(&filled.key) {
            return Ok(Some(link.clone()));
        }
        if links.len() >= LINKS {
            let oldest = links.iter().min_by_key(|(_, link)| link.used());
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|key| links.remove(&key));
        }
        let place = ConnectionTarget {
            id: self.about.id.clone(),
            transport,
            secrets: Arc::new(Secrets::of_server(&filled.fields)),
            fields: filled.fields,
            root: self.environment.root.clone(),
            path: self.environment.path.clone(),
            http: self.environment.http.clone(),
            timeout: self.timeout,
            processes: self.environment.processes.clone(),
        };
        let link = Arc::new(McpConnection::new(place));
        links.insert(filled.key, link.clone());
        Ok(Some(link))
    }

    /// A whole list.
    pub async fn list(&self, what: McpListKind, caller: &ToolCaller) -> Result<Arc<McpLists>> {
        self.list_within(self.limit(caller), what, caller).await
    }

    /// An answer. Dropping the future cancels the work.
    pub async fn ask(&self, request: McpRequest, caller: &ToolCaller) -> Result<Value> {
        self.ask_within(self.limit(caller), request, caller).await
    }

    /// How long an answer to this caller may take from now on.
    pub fn limit(&self, caller: &ToolCaller) -> AnswerDeadline {
        AnswerDeadline::new(self.timeout.min(caller.timeout))
    }

    /// A whole list, in time.
    pub async fn list_within(
        &self,
        limit: AnswerDeadline,
        what: McpListKind,
        caller: &ToolCaller,
    ) -> Result<Arc<McpLists>> {
        match (&self.kind, self.link(&caller.authorized)?) {
            (_, Some(link)) => link.list(what, limit).await,
            (McpServerKind::Processes(mapped), None) => Ok(mapped.lists()),
            (McpServerKind::Program(program), None) => Ok(program.lists()),
            (McpServerKind::Outside { .. }, None) => Ok(Arc::default()),
        }
    }

    /// An answer, in time.
    pub async fn ask_within(
        &self,
        limit: AnswerDeadline,
        request: McpRequest,
        caller: &ToolCaller,
    ) -> Result<Value> {
        match (&self.kind, self.link(&caller.authorized)?) {
            (_, Some(link)) => link.ask(request, limit).await,
            (McpServerKind::Processes(mapped), None) => {
                let answer = limit.keep(mapped.ask(request, caller)).await;
                answer.unwrap_or_else(|| Err(limit.missed(&self.about.id)))
            }
            (McpServerKind::Program(program), None) => {
                let answer = limit.keep(program.ask(request, caller)).await;
                answer.unwrap_or_else(|| Err(limit.missed(&self.about.id)))
            }
            (McpServerKind::Outside { .. }, None) => Ok(Value::Null),
        }
    }
}
