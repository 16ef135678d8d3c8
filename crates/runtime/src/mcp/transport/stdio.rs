//! `stdio`: a child process with only the given environment and `PATH`.

use super::lines::Lines;
use super::process::Process;
use super::{Failure, Opened, Opening, Transport, greet};
use futures::FutureExt;
use rmcp::ClientLifecycleMode;
use serde_json::Value;
use std::io::ErrorKind;
use std::process::Stdio;
use tokio::process::Command;

pub const ROW: Transport = Transport {
    name: "stdio",
    is_old: false,
    open: |opening, mode| open(opening, mode).boxed(),
};

async fn open(opening: &Opening, mode: ClientLifecycleMode) -> Opened {
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
    let process = Process::start(command, opening);
    let lines = process.and_then(|process| Lines::new(process, opening.ears.clone()));
    let lines = lines.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "; is it installed and on the PATH?",
            _ => "",
        };
        let message = format!("its command \"{program}\" cannot be started: {error}{hint}");
        Failure::new(message)
    })?;
    greet(opening, lines, mode).await
}
