//! The servers that all versions of an app share: a reload leaves what it did not change connected.

use super::McpServers;
use super::external::ExternalServer;
use super::server::McpServer;
use super::transport::McpEnvironment;
use crate::app::App;
use crate::error::{Error, Result};
use crate::lock::lock;
use crate::net;
use crate::tool::ToolServer;
use reqwest::redirect::Policy;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// How long a connection over the network may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long one that nobody uses is kept; servers and what stands before them drop them too.
const KEEP: Duration = Duration::from_secs(60);

/// How long the end of processes is waited for: a second for each to end by itself, another behind the signal that nobody
/// survives.
const LAST: Duration = Duration::from_secs(3);

/// Servers that are in use.
pub struct McpServerPool {
    http: reqwest::Client,
    processes: TaskTracker,
    programs: BTreeMap<String, ToolServer>,
    known: Mutex<BTreeMap<String, Vec<Weak<McpServer>>>>,
}

impl McpServerPool {
    /// No servers yet.
    pub fn new() -> Result<Self> {
        let failed = |error: &dyn std::error::Error| {
            Error::internal(format!("no HTTP client can be made: {error}"))
        };
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(net::tls().map_err(|error| failed(&error))?)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(KEEP)
            // The app's file names the host; an answer names no other, and credentials go nowhere else.
            .redirect(Policy::none())
            .no_proxy()
            .user_agent(concat!("ambit/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            http: http.map_err(|error| failed(&error))?,
            processes: TaskTracker::new(),
            programs: BTreeMap::new(),
            known: Mutex::default(),
        })
    }

    /// The same with servers of the program around the runtime.
    pub fn with_programs(self, servers: Vec<ToolServer>) -> Self {
        let servers = servers
            .into_iter()
            .map(|server| (server.id().to_owned(), server));
        Self {
            programs: servers.collect(),
            ..self
        }
    }

    /// The ids of the program's servers.
    pub(crate) fn program_ids(&self) -> Vec<String> {
        self.programs.keys().cloned().collect()
    }

    /// The servers of a version of the app. Nothing is connected before it is used.
    pub fn servers(&self, app: &Arc<App>) -> McpServers {
        let environment = Arc::new(McpEnvironment {
            root: app.root.clone(),
            path: app.variables.get("PATH").map(str::to_owned),
            http: self.http.clone(),
            processes: self.processes.clone(),
        });
        let mut known = self.known();
        let mut servers = BTreeMap::new();
        for about in app.servers.values().flatten() {
            let same = known.entry(about.id.clone()).or_default();
            same.retain(|server| server.strong_count() > 0);
            let there = same.iter().filter_map(Weak::upgrade);
            let there = { there }.find(|server| server.is(about, &environment));
            let server = there.unwrap_or_else(|| {
                let program = self.programs.get(&about.id);
                let server = McpServer::new(about.clone(), environment.clone(), program);
                let server = Arc::new(server);
                same.push(Arc::downgrade(&server));
                server
            });
            servers.insert(about.id.clone(), server);
        }
        McpServers {
            app: app.clone(),
            servers,
        }
    }

    /// Closes all connections, and waits until the processes behind them have ended.
    pub async fn close(&self) {
        let servers: Vec<Arc<McpServer>> = {
            let known = self.known();
            known.values().flatten().filter_map(Weak::upgrade).collect()
        };
        let external = servers.iter().filter_map(|server| server.external());
        external.for_each(ExternalServer::close);
        drop(servers);
        // What lasts longer is killed when its connection is dropped.
        self.processes.close();
        let _in_time = tokio::time::timeout(LAST, self.processes.wait()).await;
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Weak<McpServer>>>> {
        lock(&self.known)
    }
}
