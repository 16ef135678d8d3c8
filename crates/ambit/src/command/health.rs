//! `ambit health`: whether a server can work, for those who watch it.

use super::CommandOutcome;
use super::http_client::client;
use crate::command_error::{CommandError, Result};
use crate::output::Output;
use crate::settings::serve::own_url;
use clap::Args;
use std::error::Error;
use std::io::Write;
use std::time::Duration;

/// How long the server may take; less than watchers give this program.
const TIME: Duration = Duration::from_secs(4);

/// Which server.
#[derive(Args, Debug)]
pub struct HealthArguments {
    /// The server, as http://127.0.0.1:8080; without it the one on this machine that listens on AMBIT_LISTEN, else on port 8080
    url: Option<String>,
}

/// Asks the server whether it is ready.
pub async fn run(arguments: &HealthArguments, out: &mut Output) -> Result<CommandOutcome> {
    let server = arguments.url.clone().map_or_else(own_url, Ok)?;
    let url = format!("{}/readyz", server.trim_end_matches('/'));
    let refused = |reason: &dyn std::fmt::Display| {
        CommandError::Refused(format!("{server} is not ready: {reason}"))
    };
    // A proxy is there for the world; the server is usually on this machine.
    let client = client()?.no_proxy().timeout(TIME).build();
    let client = client.map_err(|error| refused(&cause(&error)))?;
    let answer = client.get(url).send().await;
    let status = answer.map_err(|error| refused(&cause(&error)))?.status();
    if !status.is_success() {
        return Err(refused(&format_args!("it answers {status}")));
    }
    writeln!(out, "{server} is ready")?;
    Ok(CommandOutcome::Done)
}

/// What is at the bottom of an error.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}
