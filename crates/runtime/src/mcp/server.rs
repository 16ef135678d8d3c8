//! One server of an app, for all who use it.

use super::connection::ToolChange;
use super::external::ExternalServer;
use super::process::ProcessServer;
use super::program::ProgramServer;
use super::request::{AnswerDeadline, McpListKind, McpRequest};
use super::transport::{McpEnvironment, TRANSPORTS};
use crate::app::McpServerFile;
use crate::error::Result;
use crate::tool::{McpLists, McpSample, ToolCaller, ToolServer};
use serde_json::{Map, Value};
use std::sync::Arc;
use url::Url;

/// A server.
pub struct McpServer {
    about: Arc<McpServerFile>,
    environment: Arc<McpEnvironment>,
    kind: McpServerKind,
}

enum McpServerKind {
    Processes(ProcessServer),
    Program(ProgramServer),
    External(ExternalServer),
}

impl McpServer {
    /// What a file describes, or the program around the runtime.
    pub fn new(
        about: Arc<McpServerFile>,
        environment: Arc<McpEnvironment>,
        program: Option<&ToolServer>,
    ) -> Self {
        let kind = about.settings.transport();
        let transport = TRANSPORTS.iter().find(|row| Some(row.kind) == kind);
        let kind = match (program, transport) {
            (Some(program), _) => McpServerKind::Program(ProgramServer::new(program.clone())),
            (None, Some(transport)) => {
                let (about, environment) = (about.clone(), environment.clone());
                McpServerKind::External(ExternalServer::new(about, transport, environment))
            }
            (None, None) => McpServerKind::Processes(ProcessServer::new(about.clone())),
        };
        Self {
            about,
            environment,
            kind,
        }
    }

    /// Whether this is what a file describes now.
    pub fn is(&self, about: &McpServerFile, environment: &McpEnvironment) -> bool {
        let here = (&self.environment.root, &self.environment.path);
        *self.about == *about && here == (&environment.root, &environment.path)
    }

    /// Whether it may be used at all.
    pub fn is_on(&self) -> bool {
        self.about.settings.enabled
    }

    /// The server, if it is outside.
    pub fn external(&self) -> Option<&ExternalServer> {
        match &self.kind {
            McpServerKind::External(server) => Some(server),
            McpServerKind::Processes(_) | McpServerKind::Program(_) => None,
        }
    }

    /// What a call says of the trace that it is part of, where the server's host may know.
    pub fn trace_meta(&self, caller: &ToolCaller) -> Map<String, Value> {
        let url = Url::parse(&self.about.settings.connection.url).ok();
        let url = url.filter(|_| self.external().is_some());
        let (Some(trace), Some(url)) = (caller.node.outgoing(), url) else {
            return Map::new();
        };
        let headers = trace.headers(&url);
        headers
            .map(|(name, text)| (name.to_owned(), text.into()))
            .collect()
    }

    /// The app's own processes, if they are the server.
    pub fn processes(&self) -> Option<&ProcessServer> {
        match &self.kind {
            McpServerKind::Processes(server) => Some(server),
            McpServerKind::Program(_) | McpServerKind::External(_) => None,
        }
    }

    /// Examples of a tool or a resource.
    pub fn samples(&self, kind: &str, name: &str) -> Option<&[McpSample]> {
        self.processes()?.samples(kind, name)
    }

    /// The tools that have come and gone since the caller's agent asked last. An app's own do so with its files alone.
    pub fn changed(&self, caller: &ToolCaller) -> Vec<ToolChange> {
        let server = self.external();
        let connection = server.and_then(|server| server.connection(&caller.authorized).ok());
        connection.map_or_else(Vec::new, |it| it.changed(&caller.agent))
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
        AnswerDeadline::new(self.about.settings.timeout.min(caller.timeout))
    }

    /// A whole list, in time.
    pub async fn list_within(
        &self,
        limit: AnswerDeadline,
        what: McpListKind,
        caller: &ToolCaller,
    ) -> Result<Arc<McpLists>> {
        match &self.kind {
            McpServerKind::Processes(server) => Ok(server.lists()),
            McpServerKind::Program(server) => Ok(server.lists()),
            McpServerKind::External(server) => {
                let connection = server.connection(&caller.authorized)?;
                connection.list(what, limit).await
            }
        }
    }

    /// An answer, in time.
    pub async fn ask_within(
        &self,
        limit: AnswerDeadline,
        request: McpRequest,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let answer = match &self.kind {
            McpServerKind::Processes(server) => limit.keep(server.ask(request, caller)).await,
            McpServerKind::Program(server) => limit.keep(server.ask(request, caller)).await,
            McpServerKind::External(server) => {
                let connection = server.connection(&caller.authorized)?;
                return connection.ask(request, limit).await;
            }
        };
        answer.unwrap_or_else(|| Err(limit.missed(&self.about.id)))
    }
}
