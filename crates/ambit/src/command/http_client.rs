//! How commands reach servers.

use crate::command_error::{CommandError, Result};
use ambit_runtime::net::tls;
use reqwest::{Client, ClientBuilder};

/// A client that trusts whom this system trusts.
pub fn client() -> Result<ClientBuilder> {
    let tls =
        tls().map_err(|error| CommandError::Refused(format!("TLS cannot be used: {error}")))?;
    Ok(Client::builder().tls_backend_preconfigured(tls))
}

pub fn unreachable(error: &reqwest::Error) -> CommandError {
    CommandError::Refused(format!("the server cannot be reached: {error}"))
}
