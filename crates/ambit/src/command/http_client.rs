//! How commands reach servers.

use crate::command_error::{CommandError, Result};
use ambit_runtime::net::tls;
use reqwest::tls::Certificate;
use reqwest::{Client, ClientBuilder};
use std::error::Error;
use std::io;
use std::path::Path;

/// What makes a certificate work.
const CERTIFICATE: &str = "; the server's certificate must be valid now, for this name, and of an authority that this system trusts; \
    SSL_CERT_FILE names a file with another one";

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

/// A server gives no answer. What is wrong, such as with its certificate, stands in what caused the error.
pub fn unreachable(error: &reqwest::Error) -> CommandError {
    let (mut why, mut hint) = (String::new(), "");
    let mut cause = error.source();
    while let Some(found) = cause {
        why.push_str(&format!(": {found}"));
        if is_of_certificate(found) {
            hint = CERTIFICATE;
        }
        cause = found.source();
    }
    CommandError::Refused(format!("the server cannot be reached: {error}{why}{hint}"))
}

/// Connections wrap what TLS says in errors of their own, once or twice, which do not give it as their source.
fn is_of_certificate(cause: &(dyn Error + 'static)) -> bool {
    let mut wrapper = cause.downcast_ref::<io::Error>();
    while let Some(wrapped) = wrapper.and_then(io::Error::get_ref) {
        if let Some(error) = wrapped.downcast_ref::<rustls::Error>() {
            return matches!(error, rustls::Error::InvalidCertificate(_));
        }
        wrapper = wrapped.downcast_ref::<io::Error>();
    }
    false
}
