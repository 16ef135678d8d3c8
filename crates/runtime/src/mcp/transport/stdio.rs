//! `stdio`: a child process with only the given environment and `PATH`.

use super::server_process::ServerProcess;
use super::stdio_transport::StdioTransport;
use super::{ConnectFailure, ConnectResult, ConnectionTarget, TransportEntry, greet};
use crate::app::TransportKind;
use crate::mcp::notifications::McpNotifications;
use futures::FutureExt;
use rmcp::ClientLifecycleMode;
use std::io::ErrorKind;
use std::process::Stdio;
use std::sync::Arc;
use tokio::process::Command;

pub const ROW: TransportEntry = TransportEntry {
    kind: TransportKind::Stdio,
    is_old: false,
    open: |target, notifications, mode| open(target, notifications, mode).boxed(),
};

async fn open(
    target: &ConnectionTarget,
    notifications: Arc<McpNotifications>,
    mode: ClientLifecycleMode,
) -> ConnectResult {
    let (settings, environment) = (&target.settings, &target.environment);
    let program = &settings.command;
    let mut command = Command::new(program);
    command.args(&settings.arguments).env_clear();
    // Where it is set, the program is looked for there too.
    command.envs(environment.path.iter().map(|path| ("PATH", path)));
    command.envs(&settings.env).current_dir(&environment.root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let process = ServerProcess::start(command, &notifications, &environment.processes);
    let transport = process.and_then(|it| StdioTransport::new(it, notifications.clone()));
    let transport = transport.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "; is it installed and on the PATH?",
            _ => "",
        };
        let message = format!("its command \"{program}\" cannot be started: {error}{hint}");
        ConnectFailure::new(message)
    })?;
    greet(&notifications, transport, mode).await
}
