//! `ambit health`: whether a server can work, for those who watch it.

use super::CommandOutcome;
use super::http_client::{
    advice, cause, check_address, client, client_trusting, client_trusting_anybody,
};
use crate::command_error::{CommandError, Result};
use crate::output::Output;
use crate::settings::serve::own_url;
use clap::Args;
use reqwest::{ClientBuilder, StatusCode};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// How long the server may take; less than watchers give this program.
const TIME: Duration = Duration::from_secs(4);
/// What helps where the certificate of the server is not trusted.
const UNTRUSTED: &str =
    "; name the server as its certificate does, and its signer with --ca, or give --insecure";

/// Which server.
#[derive(Args, Debug)]
pub struct HealthArguments {
    /// The server, as http://127.0.0.1:8080; without it the one on this machine that listens on AMBIT_LISTEN, else on port 8080.
    /// Where AMBIT_TLS_CERT is set that is asked over HTTPS, and its certificate not checked
    url: Option<String>,
    /// The certificates (PEM) of who may have signed the server's, itself perhaps, instead of those that the system trusts
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Does not check the server's certificate
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
}

impl HealthArguments {
    /// A client that trusts the server as these say.
    fn client(&self) -> Result<ClientBuilder> {
        match &self.ca {
            Some(file) => client_trusting("--ca", file),
            None if self.insecure || self.url.is_none() => Ok(client_trusting_anybody()),
            None => client(),
        }
    }
}

/// Asks the server whether it is ready.
pub async fn run(arguments: &HealthArguments, out: &mut Output) -> Result<CommandOutcome> {
    let server = arguments.url.clone().map_or_else(own_url, Ok)?;
    check_address(&server)?;
    let url = format!("{}/readyz", server.trim_end_matches('/'));
    let refused = |reason: &dyn std::fmt::Display| {
        CommandError::Refused(format!("{server} is not ready: {reason}"))
    };
    // A proxy is there for the world; the server is usually on this machine.
    let client = arguments.client()?.no_proxy().timeout(TIME).build();
    let client = client.map_err(|error| refused(&cause(&error)))?;
    let answer = client.get(url).send().await;
    let answer = answer.map_err(|error| {
        let (cause, advice) = (cause(&error), advice(&error, UNTRUSTED));
        refused(&format_args!("{cause}{advice}"))
    });
    let status = answer?.status();
    if !status.is_success() {
        let advice = match status {
            StatusCode::NOT_FOUND => "; name the server alone, as http://127.0.0.1:8080",
            _ => "",
        };
        return Err(refused(&format_args!("it answers {status}{advice}")));
    }
    writeln!(out, "{server} is ready")?;
    Ok(CommandOutcome::Done)
}
