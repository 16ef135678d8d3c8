//! What `sslmode` and `sslrootcert` of an address ask for, as libpq understands them, done by rustls.
//!
//! Two things differ. A certificate names its hosts as alternative names; the common name is not looked at, as browsers
//! do not. And where `sslmode` verifies and no file is named, the system's certificates count, not those of a file in
//! the home folder.

use crate::{Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The file name that stands for the certificates of the system.
const SYSTEM: &str = "system";
const MODES: &[(&str, TlsMode)] = &[
    ("disable", TlsMode::Disable),
    ("prefer", TlsMode::Prefer),
    ("require", TlsMode::Require),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-full", TlsMode::VerifyFull),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum TlsMode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// The parameters of an address that are about TLS.
#[derive(Default)]
pub(super) struct TlsParameters {
    mode: Option<TlsMode>,
    roots: Option<String>,
}

impl TlsParameters {
    /// Takes a parameter of the address; `false` where it is about something else.
    pub(super) fn take(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "sslmode" => self.mode = Some(mode(value)?),
            "sslrootcert" => {
                let text = percent_encoding::percent_decode_str(value).decode_utf8();
                let text = text.map_err(|_| Error::invalid(name, "is not the name of a file"))?;
                self.roots = Some(text.into_owned());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What the client is to ask of the server, and how it is verified.
    pub(super) fn connector(&self) -> Result<(SslMode, MakeRustlsConnect)> {
        let is_system = self.roots.as_deref() == Some(SYSTEM);
        let file = self.roots.as_deref().filter(|_| !is_system);
        let mode = match self.mode {
            None if is_system => TlsMode::VerifyFull,
            None | Some(TlsMode::Prefer) if file.is_some() => return Err(without_effect()),
            // As libpq does: a file of certificates is there to be used.
            Some(TlsMode::Require) if file.is_some() => TlsMode::VerifyCa,
            Some(TlsMode::Prefer | TlsMode::Require | TlsMode::VerifyCa) if is_system => {
                return Err(weak_system());
            }
            Some(TlsMode::VerifyCa) if file.is_none() => return Err(weak_system()),
            mode => mode.unwrap_or(TlsMode::Prefer),
        };
        let mut config = match mode {
            TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => unverified(),
            TlsMode::VerifyCa | TlsMode::VerifyFull => match file {
                Some(file) => verified_by(file, mode == TlsMode::VerifyFull),
                None => verified_by_system(),
            },
        }?;
        // Wanted for `sslnegotiation=direct`.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        let asked = match mode {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        };
        Ok((asked, MakeRustlsConnect::new(config)))
    }
}

fn mode(value: &str) -> Result<TlsMode> {
    let found = MODES.iter().find(|(name, _)| *name == value);
    found.map(|(_, mode)| *mode).ok_or_else(|| {
        let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        Error::invalid("sslmode", format!("\"{value}\" must be one of {names}"))
    })
}

fn without_effect() -> Error {
    let reason =
        "needs sslmode=verify-full, verify-ca or require: with less, the server is not verified";
    Error::invalid("sslrootcert", reason)
}

fn weak_system() -> Error {
    let reason = "must be verify-full where the certificates of the system count: anybody can get one of those. \
                  Less needs a file of certificates (sslrootcert)";
    Error::invalid("sslmode", reason)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn unusable(error: rustls::Error) -> Error {
    Error::unavailable("TLS for PostgreSQL", error)
}

fn with_verifier(verifier: impl ServerCertVerifier + 'static) -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = builder.dangerous();
    let config = builder.with_custom_certificate_verifier(Arc::new(verifier));
    Ok(config.with_no_client_auth())
}

/// Encrypted for whoever answers.
fn unverified() -> Result<ClientConfig> {
    with_verifier(AnyServer(provider()))
}

fn verified_by_system() -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let trusting = builder.with_platform_verifier().map_err(unusable)?;
    Ok(trusting.with_no_client_auth())
}

fn verified_by(file: &str, names: bool) -> Result<ClientConfig> {
    let unreadable = |why: String| Error::invalid("sslrootcert", format!("\"{file}\" {why}"));
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(|_| unreadable("holds no certificate (PEM)".to_owned()))?;
    with_verifier(KnownServer {
        chain,
        certificates,
        names,
    })
}

/// Lets every server pass. What it signs proves nothing then, so old kinds of signatures do not matter either.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Lets those servers pass whose certificate is one of the file's, or signed by one of them.
#[derive(Debug)]
struct KnownServer {
    chain: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
    /// Whether the certificate must name the host.
    names: bool,
}

impl ServerCertVerifier for KnownServer {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        revocation: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        // One that a server has signed itself is no end of a chain for rustls.
        if self.certificates.contains(certificate) {
            if self.names {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        let verified = self
            .chain
            .verify_server_cert(certificate, others, name, revocation, now);
        match verified {
            // The chain is verified first.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.names => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.chain
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.chain
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

/// What would make a handshake succeed that failed like this.
pub(super) fn advice(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let handshake = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    let rustls::Error::InvalidCertificate(found) = handshake.downcast_ref::<rustls::Error>()?
    else {
        return None;
    };
    Some(match found {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "connect by a host name that the server's certificate names as an alternative name, \
             or verify only who signed it (sslmode=verify-ca)"
        }
        CertificateError::UnknownIssuer => {
            "name the file with the certificate of who signed the server's (sslrootcert=FILE)"
        }
        _ => {
            "the server needs another certificate, or sslrootcert must hold the very one that it shows"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<SslMode> {
        let mut parameters = TlsParameters::default();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap();
            assert!(parameters.take(name, value)?);
        }
        parameters.connector().map(|(mode, _)| mode)
    }

    #[test]
    fn what_would_not_verify_is_refused_where_it_was_asked_for() {
        for (query, message) in [
            ("sslmode=allow", "must be one of disable, prefer"),
            ("sslrootcert=ca.pem", "needs sslmode=verify-full"),
            (
                "sslmode=prefer&sslrootcert=ca.pem",
                "needs sslmode=verify-full",
            ),
            ("sslmode=verify-ca", "must be verify-full"),
            ("sslmode=require&sslrootcert=system", "must be verify-full"),
            (
                "sslmode=verify-full&sslrootcert=/no/ca.pem",
                "\"/no/ca.pem\" cannot be read",
            ),
            (
                "sslmode=verify-full&sslrootcert=%2Fdev%2Fnull",
                "holds no certificate",
            ),
        ] {
            let error = read(query).expect_err(query).to_string();
            assert!(error.contains(message), "{query}: {error}");
        }
    }

    #[test]
    fn modes_ask_for_tls_as_libpq_does() {
        for (query, mode) in [
            ("sslmode=disable", SslMode::Disable),
            ("sslmode=prefer", SslMode::Prefer),
            ("sslmode=require", SslMode::Require),
            ("sslmode=verify-full", SslMode::Require),
            ("sslrootcert=system", SslMode::Require),
        ] {
            assert_eq!(read(query).ok(), Some(mode), "{query}");
        }
    }
}
