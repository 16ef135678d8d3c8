//! `ambit.mcp_server` of `app.yao`: what of the app other programs' agents may use as tools.

use crate::config;
use crate::config::ValueKind;
use std::time::Duration;

config! {
    /// The app as a tool server: `POST /v1/mcp`.
    pub struct AppMcpServer {
        /// Whether it is served.
        enabled: bool,
        /// The agents that are offered, by their ids; `*` stands for any characters.
        #[guard]
        agents: Vec<String> = ["*"],
        /// The kinds of tools that are offered.
        #[guard]
        tools: Vec<String> = ["agent", "memory", "chat", "kb"] as ValueKind::List(&ValueKind::OneOf(&["agent", "memory", "chat", "kb"])),
        /// What hosts are told about the server, for their models.
        instructions: Option<String>,
        /// The origins of web pages that may call it, beside the server's own: `https://app.example.com`.
        origins: Vec<String>,
        /// How long a call runs before it becomes a task, where the client knows tasks.
        task_after: Duration = "10s",
    }
}
