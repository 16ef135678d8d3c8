//! How commands reach servers.

use crate::command_error::{CommandError, Result};
use ambit_runtime::net::tls;
use reqwest::tls::Certificate;
use reqwest::{Client, ClientBuilder, Url};
use std::error::Error;
use std::path::Path;

/// What helps where nothing listens, as far as a command can know.
pub const NOTHING_LISTENS: &str = "; start it with `ambit serve`, or name where it listens";

/// A client that trusts whom this system trusts.
pub fn client() -> Result<ClientBuilder> {
    let tls =
        tls().map_err(|error| CommandError::Refused(format!("TLS cannot be used: {error}")))?;
    Ok(Client::builder().tls_backend_preconfigured(tls))
}

/// A client that trusts those alone whose certificates are in this file, which `option` names.
pub fn client_trusting(option: &str, file: &Path) -> Result<ClientBuilder> {
    let unusable = |why: String| {
        let file = file.display();
        let reason = format!("names {file}, which {why}; name a file of certificates (PEM)");
        CommandError::option(option, reason)
    };
    let text = std::fs::read(file);
    let text = text.map_err(|error| unusable(format!("cannot be read: {error}")))?;
    let certificates = Certificate::from_pem_bundle(&text);
    let certificates = certificates.map_err(|_| unusable("is damaged".to_owned()))?;
    if certificates.is_empty() {
        return Err(unusable("holds none".to_owned()));
    }
    Ok(builder().tls_certs_only(certificates))
}

/// A client that takes whatever certificate it is shown.
pub fn client_trusting_anybody() -> ClientBuilder {
    builder().tls_danger_accept_invalid_certs(true)
}

/// A client whose trust reqwest is told: it takes what encrypts from the process then.
fn builder() -> ClientBuilder {
    // There is one already where this was called before.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder()
}

/// Refuses what is no address of a server.
pub fn check_address(url: &str) -> Result<()> {
    let parsed = Url::parse(url).ok();
    let is_address =
        parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    match is_address {
        true => Ok(()),
        false => Err(CommandError::Refused(format!(
            "\"{url}\" is no address of a server; write it as http://127.0.0.1:8080"
        ))),
    }
}

/// Why a server does not answer, and what helps.
pub fn unreachable(error: &reqwest::Error) -> CommandError {
    let cause = cause(error);
    let advice = match (is_untrusted(cause), error.is_connect()) {
        (true, _) => "; name it as its certificate does, and its signer in SSL_CERT_FILE",
        (false, true) => NOTHING_LISTENS,
        (false, false) => "",
    };
    CommandError::Refused(format!("the server cannot be reached: {cause}{advice}"))
}

/// What is at the bottom of an error.
pub fn cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

/// Whether it is the certificate of the server that was refused.
pub fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(error, rustls::Error::InvalidCertificate(_));
    }
    // It is the source of none where it stands in an error of input or output.
    let carrier = error.downcast_ref::<std::io::Error>();
    let carried = carrier.and_then(std::io::Error::get_ref);
    carried.is_some_and(|carried| is_untrusted(carried))
}
