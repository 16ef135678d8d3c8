//! Tools whose effects are lines in a file, so that they can be counted whoever ran them.

use ambit_runtime::Result;
use ambit_runtime::tool::{ServerSelection, ServerTool, ToolCaller, ToolOutcome, Toolbox};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};

/// The server `box`.
pub struct Tools {
    marks: PathBuf,
    gate: Arc<Gate>,
}

/// What holds the tool `wait`.
pub struct Gate {
    open: Semaphore,
    entered: mpsc::UnboundedSender<()>,
}

impl Gate {
    /// Lets one call through.
    pub fn open(&self) {
        self.open.add_permits(1);
    }
}

impl Tools {
    /// Tools that mark in this file, their gate, and what says that a call has come to it.
    pub fn new(marks: &Path) -> (Self, Arc<Gate>, mpsc::UnboundedReceiver<()>) {
        let (entered, came) = mpsc::unbounded_channel();
        let open = Semaphore::new(0);
        let gate = Arc::new(Gate { open, entered });
        let tools = Self {
            marks: marks.to_owned(),
            gate: gate.clone(),
        };
        (tools, gate, came)
    }

    fn mark(&self, text: &str) {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.marks);
        // In one piece: others write marks at the same time.
        let line = format!("{text}\n");
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

/// The marks so far.
pub fn marks(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const NAMES: [&str; 4] = ["mark", "wait", "shuffled", "see"];

#[async_trait]
impl Toolbox for Tools {
    async fn list(&self, servers: &[ServerSelection], _: &ToolCaller) -> Result<Vec<ServerTool>> {
        assert_eq!(servers, [ServerSelection::Whole("box".to_owned())]);
        let tool = |name: &str| ServerTool {
            name: name.to_owned(),
            server: "box".to_owned(),
            tool: name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            ..ServerTool::default()
        };
        Ok(NAMES.into_iter().map(tool).collect())
    }

    async fn call(
        &self,
        tool: &ServerTool,
        arguments: Value,
        _: &ToolCaller,
    ) -> Result<ToolOutcome> {
        let text = match tool.name.as_str() {
            "wait" => {
                // Nobody has to look.
                let _ = self.gate.entered.send(());
                self.gate.open.acquire().await.unwrap().forget();
                "waited".to_owned()
            }
            "shuffled" => {
                let at = arguments["at"].as_u64().unwrap();
                // Some turns of the executor later, in another order than asked.
                for _ in 0..(at * 7919) % 31 {
                    tokio::task::yield_now().await;
                }
                format!("done {at}")
            }
            "see" => "a cat".to_owned(),
            _ => format!("marked {}", arguments["text"].as_str().unwrap()),
        };
        self.mark(&text);
        Ok(ToolOutcome {
            data: json!({"said": text}),
            text,
            is_error: false,
            ..ToolOutcome::default()
        })
    }
}
