//! Servers of a test's choice, and what they tell of themselves.

use ambit_runtime::Authorized;
use ambit_runtime::app::App;
use ambit_runtime::mcp::{McpServerPool, McpServers, SampleSource};
use ambit_runtime::tool::{
    NoProcesses, ProcessCaller, ServerSelection, ServerTool, ToolCaller, ToolOutcome, Toolbox,
};
use ambit_runtime::trace::Trace;
use ambit_runtime::{Error, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// So long a test waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What has samples at the server `s`.
pub fn samples(kind: &'static str, name: &'static str) -> SampleSource<'static> {
    let server = "s";
    SampleSource { server, kind, name }
}

/// The program of the server.
pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py")
}

/// The interpreter itself, not what a shell finds it by, and the `PATH` that tests run with.
pub fn python() -> (&'static str, &'static str) {
    static PYTHON: OnceLock<String> = OnceLock::new();
    let told = PYTHON.get_or_init(|| {
        let mut python = std::process::Command::new("python3");
        let says = "import os, sys; print(sys.executable); print(os.environ['PATH'])";
        let out = python.args(["-c", says]).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    });
    told.trim().split_once('\n').unwrap()
}

/// A port that nobody listens on, of those that systems give to nobody who has not asked for it.
pub fn free_port() -> u16 {
    loop {
        let port = 20_000 + rand::random::<u16>() % 12_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// What servers tell of themselves.
pub struct Witness {
    pub port: u16,
    lines: mpsc::Receiver<String>,
    _listening: JoinSet<()>,
}

impl Witness {
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, lines) = mpsc::channel(1_000);
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            let mut followed = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                followed.spawn(follow(stream, tell.clone()));
            }
        });
        Self {
            port,
            lines,
            _listening: listening,
        }
    }

    /// The next line that begins like this, and what follows its beginning.
    pub async fn hear(&mut self, begin: &str) -> String {
        let heard = async {
            loop {
                let line = self.lines.recv().await.unwrap();
                if let Some(rest) = line.strip_prefix(begin) {
                    return rest.trim().to_owned();
                }
            }
        };
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        heard.unwrap_or_else(|_| panic!("nothing began with {begin:?}"))
    }

    /// All that has been told so far, up to this line.
    pub async fn until(&mut self, end: &str) -> Vec<String> {
        let mut all = Vec::new();
        let heard = async {
            loop {
                let line = self.lines.recv().await.unwrap();
                all.push(line);
                if all.last().unwrap() == end {
                    return;
                }
            }
        };
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        assert!(heard.is_ok(), "never {end:?} in {all:?}");
        all
    }
}

async fn follow(stream: TcpStream, tell: mpsc::Sender<String>) {
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tell.send(line).await.unwrap();
    }
    // Nobody listens any more where the test has ended.
    let _ = tell.send("gone".to_owned()).await;
}

/// A server's file over stdio, with this in its environment.
pub fn stdio(witness: &Witness, environment: &Value) -> Value {
    let mut env = json!({"WITNESS": witness.port.to_string()});
    for (name, value) in environment.as_object().unwrap() {
        env[name] = value.clone();
    }
    json!({"transport": "stdio", "command": python().0, "arguments": [program(), "stdio"], "env": env})
}

/// The servers of an app.
pub struct Bed {
    pub servers: Arc<McpServers>,
    pub caller: ToolCaller,
    pub pool: McpServerPool,
    pub root: TempDir,
}

impl Bed {
    /// An app of these files.
    pub fn of(files: &[(&str, String)]) -> Self {
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        let root = crate::place::files(&files);
        let pool = McpServerPool::new().unwrap();
        let servers = Arc::new(pool.servers(&load(&root)));
        Self {
            servers,
            caller: caller("ann"),
            pool,
            root,
        }
    }

    /// An app with one server, `s`.
    pub fn with(server: &Value) -> Self {
        Self::of(&[("mcps/s.mcp.yao", server.to_string())])
    }

    /// Calls a tool of `s`.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutcome> {
        self.call_as(&self.caller, tool, arguments).await
    }

    /// The same for somebody else.
    pub async fn call_as(
        &self,
        caller: &ToolCaller,
        tool: &str,
        arguments: Value,
    ) -> Result<ToolOutcome> {
        let tool = ServerTool {
            name: format!("s__{tool}"),
            server: "s".to_owned(),
            tool: tool.to_owned(),
            ..ServerTool::default()
        };
        Toolbox::call(self.servers.as_ref(), &tool, arguments, caller).await
    }

    /// The text of a good answer.
    pub async fn text(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await.unwrap();
        assert!(!outcome.is_error, "{}", outcome.text);
        outcome.text
    }

    /// The message of a failure.
    pub async fn failure(&self, tool: &str, arguments: Value) -> Error {
        self.call(tool, arguments).await.unwrap_err()
    }

    /// The names of the tools that `s` offers.
    pub async fn tools(&self) -> Result<Vec<String>> {
        let tools = self
            .servers
            .list(&[ServerSelection::of_entry(&json!("s"))], &self.caller)
            .await?;
        Ok(tools.into_iter().map(|tool| tool.tool).collect())
    }
}

/// The app of a folder.
pub fn load(root: &TempDir) -> Arc<App> {
    let path = python().1.to_owned();
    let environment = BTreeMap::from([
        ("PATH".to_owned(), path),
        ("CANARY".to_owned(), "seen".to_owned()),
    ]);
    Arc::new(App::load(root.path(), &environment).unwrap())
}

/// Somebody who asks.
pub fn caller(user: &str) -> ToolCaller {
    ToolCaller {
        authorized: Authorized {
            user_id: Some(user.to_owned()),
            ..Authorized::default()
        },
        agent: "hello".to_owned(),
        servers: Arc::default(),
        request_id: "r1".to_owned(),
        timeout: Duration::from_secs(60),
        node: Trace::off("").root(),
        processes: Arc::new(NoProcesses),
        progress: None,
    }
}

/// The same with processes.
pub fn with_processes(processes: impl ProcessCaller + 'static) -> ToolCaller {
    ToolCaller {
        processes: Arc::new(processes),
        ..caller("ann")
    }
}
