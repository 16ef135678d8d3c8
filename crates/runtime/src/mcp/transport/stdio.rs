//! `stdio`: a child process with only the given environment and `PATH`.

use super::server_process::ServerProcess;
use super::stdio_transport::StdioTransport;
use super::{ConnectFailure, ConnectOptions, ConnectResult, TransportEntry, greet};
use futures::FutureExt;
use rmcp::ClientLifecycleMode;
use serde_json::Value;
use std::io::ErrorKind;
use std::process::Stdio;
use tokio::process::Command;

pub const ROW: TransportEntry = TransportEntry {
    name: "stdio",
    is_old: false,
    open: |opening, mode| open(opening, mode).boxed(),
};

async fn open(opening: &ConnectOptions, mode: ClientLifecycleMode) -> ConnectResult {
    let program = opening.text("command");
    let mut command = Command::new(program);
    let arguments = opening.fields.get("arguments").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten();
    command.args(arguments.filter_map(Value::as_str));
    command.env_clear();
    // Where it is set, the program is looked for there too.
    command.envs(opening.path.iter().map(|path| ("PATH", path)));
    command
        .envs(opening.pairs("env"))
        .current_dir(&opening.root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let process = ServerProcess::start(command, opening);
    let lines =
        process.and_then(|process| StdioTransport::new(process, opening.notifications.clone()));
    let lines = lines.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "; is it installed and on the PATH?",
            _ => "",
        };
        let message = format!("its command \"{program}\" cannot be started: {error}{hint}");
        ConnectFailure::new(message)
    })?;
    greet(opening, lines, mode).await
}
