//! How commands reach servers.

use crate::command_error::{CommandError, Result};
use ambit_runtime::net::tls;
use reqwest::tls::Certificate;
use reqwest::{Client, ClientBuilder, Url};
use rustls::CertificateError;
use std::error::Error;
use std::path::Path;

/// What helps where nothing listens, as far as a command can know.
const NOTHING_LISTENS: &str = "; start it with `ambit serve`, or name where it listens";
/// What helps where a certificate is none that a server may show.
const NO_SERVER_CERTIFICATE: &str =
    "; a certificate that signs itself must be a server's: make it with basicConstraints CA:FALSE";

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
    let untrusted = "; name it as its certificate does, and its signer in SSL_CERT_FILE";
    let (cause, advice) = (cause(error), advice(error, untrusted));
    CommandError::Refused(format!("the server cannot be reached: {cause}{advice}"))
}

/// What helps where a request failed; `untrusted` where the server's certificate is not trusted.
pub fn advice(error: &reqwest::Error, untrusted: &'static str) -> &'static str {
    let cause = cause(error);
    if let Some(advice) = tls_error(cause).and_then(|error| tls_advice(error, untrusted)) {
        return advice;
    }
    if error.is_connect() {
        return NOTHING_LISTENS;
    }
    let is_plain = error.url().is_some_and(|url| url.scheme() == "http");
    let is_garbled = error.is_request() && !error.is_timeout() && !cause.is::<std::io::Error>();
    match is_plain && is_garbled {
        true => "; if the server speaks HTTPS, write https://",
        false => "",
    }
}

fn tls_advice(error: &rustls::Error, untrusted: &'static str) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(_)) => {
            Some(NO_SERVER_CERTIFICATE)
        }
        rustls::Error::InvalidCertificate(_) => Some(untrusted),
        rustls::Error::InvalidMessage(_) => {
            Some("; if the server speaks plain HTTP, write http://")
        }
        _ => None,
    }
}

/// What is at the bottom of an error.
pub fn cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

/// What TLS says of the server, where it failed at that.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(error);
    }
    // It is the source of none where it stands in an error of input or output.
    let carrier = error.downcast_ref::<std::io::Error>()?;
    tls_error(carrier.get_ref()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::OtherError;
    use std::sync::Arc;

    #[test]
    fn who_shows_a_certificate_is_told_what_helps_with_it() {
        let authority = CertificateError::Other(OtherError(Arc::new(std::fmt::Error)));
        for (refused, expected) in [
            (CertificateError::UnknownIssuer, "; trust it"),
            (authority, NO_SERVER_CERTIFICATE),
        ] {
            let error = std::io::Error::other(rustls::Error::InvalidCertificate(refused));
            let told = tls_error(&error).and_then(|error| tls_advice(error, "; trust it"));
            assert_eq!(told, Some(expected));
        }
    }
}
