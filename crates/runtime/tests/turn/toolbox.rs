//! Tools of a test's choice.

use ambit_runtime::event::AfterToolExecution;
use ambit_runtime::tool::{ServerSelection, ServerTool, ToolCaller, ToolOutcome, Toolbox};
use ambit_runtime::{Error, ErrorCode, Result};
use ambit_storage::event::{EventBus, ListenerOptions};
use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a call does.
pub type Act = Arc<dyn Fn(String, Value) -> BoxFuture<'static, Result<ToolOutcome>> + Send + Sync>;

/// One server with these tools.
#[derive(Clone)]
pub struct Tools {
    names: Vec<String>,
    act: Act,
    /// Tools that were called, with their arguments.
    pub called: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Tools {
    /// Tools that all do this.
    pub fn new(
        names: &[&str],
        act: impl Fn(String, Value) -> BoxFuture<'static, Result<ToolOutcome>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            act: Arc::new(act),
            called: Arc::default(),
        }
    }

    /// Tools that answer with their arguments; `fail` fails as a tool, `broken` as a server, `hang` never answers.
    pub fn usual() -> Self {
        Self::new(&["show", "fail", "broken", "hang"], |name, arguments| {
            Box::pin(async move {
                match name.as_str() {
                    "hang" => std::future::pending().await,
                    "fail" => Ok(ToolOutcome {
                        data: Value::Null,
                        text: "it does not work".to_owned(),
                        is_error: true,
                        ..ToolOutcome::default()
                    }),
                    "broken" => Err(Error::new(ErrorCode::McpError, "MCP server \"s\": gone")),
                    _ => Ok(outcome(arguments)),
                }
            })
        })
    }

    /// The names of the tools that were called.
    pub fn names(&self) -> Vec<String> {
        self.called
            .lock()
            .unwrap()
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    }
}

/// A good outcome.
pub fn outcome(data: Value) -> ToolOutcome {
    ToolOutcome {
        text: data.to_string(),
        data,
        is_error: false,
        ..ToolOutcome::default()
    }
}

#[async_trait]
impl Toolbox for Tools {
    async fn list(
        &self,
        servers: &[ServerSelection],
        _caller: &ToolCaller,
    ) -> Result<Vec<ServerTool>> {
        if servers.is_empty() {
            return Ok(Vec::new());
        }
        let tool = |name: &String| ServerTool {
            name: format!("s__{name}"),
            server: "s".to_owned(),
            tool: name.clone(),
            description: format!("does {name}"),
            parameters: json!({"type": "object"}),
            ..ServerTool::default()
        };
        Ok(self.names.iter().map(tool).collect())
    }

    async fn call(
        &self,
        tool: &ServerTool,
        arguments: Value,
        _caller: &ToolCaller,
    ) -> Result<ToolOutcome> {
        let call = (tool.tool.clone(), arguments.clone());
        self.called.lock().unwrap().push(call);
        (self.act)(tool.tool.clone(), arguments).await
    }
}

/// A listener that may take as long as it likes over the end of a call.
pub fn patient(
    listener: impl Fn(Arc<AfterToolExecution>) -> BoxFuture<'static, ambit_storage::Result<()>>
    + Send
    + Sync
    + 'static,
) -> impl Fn(&EventBus) + Send + Sync + 'static {
    let listener = Arc::new(listener);
    move |bus: &EventBus| {
        let options = ListenerOptions {
            deadline: Duration::from_secs(3_600),
            ..ListenerOptions::default()
        };
        let listener = listener.clone();
        bus.after_with(options, move |event| listener(event));
    }
}
