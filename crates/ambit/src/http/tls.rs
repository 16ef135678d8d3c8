//! TLS of the server itself: its certificate and key, which are read again while it runs.

use ambit_runtime::lock::lock;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio_rustls::TlsAcceptor;

/// What clients may speak over it.
const PROTOCOL: &[u8] = b"http/1.1";

/// Where a certificate and its key are, both as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and behind it those of who signed it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// TLS with the certificate and key of files. Connections that begin behind a reload get the new ones; others go on as they began.
pub struct ServerTls {
    files: TlsFiles,
    state: Mutex<TlsState>,
}

struct TlsState {
    acceptor: TlsAcceptor,
    /// What was read last, whether it could be used or not.
    read: PemPair,
}

/// What stands in the files.
#[derive(PartialEq, Eq)]
struct PemPair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl ServerTls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// Says which file cannot be used and why, or that the key is of another certificate.
    pub fn open(files: TlsFiles) -> Result<Self, String> {
        let read = PemPair::read(&files)?;
        let acceptor = read.acceptor(&files)?;
        let state = Mutex::new(TlsState { acceptor, read });
        Ok(Self { files, state })
    }

    /// Reads the files again, if they have changed. Where they cannot be used the log says so, and the server goes on as before.
    pub fn reload(&self) {
        match self.replace() {
            Ok(true) => tracing::info!("the certificate and key of the server are read again"),
            Ok(false) => {}
            Err(reason) => tracing::error!(
                "the server goes on with the certificate and key that it has: {reason}"
            ),
        }
    }

    /// What begins the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.state().acceptor.clone()
    }

    /// Whether there was something new.
    fn replace(&self) -> Result<bool, String> {
        let read = PemPair::read(&self.files)?;
        if self.state().read == read {
            return Ok(false);
        }
        let acceptor = read.acceptor(&self.files);
        let mut state = self.state();
        // What cannot be used is told once.
        state.read = read;
        state.acceptor = acceptor?;
        Ok(true)
    }

    fn state(&self) -> MutexGuard<'_, TlsState> {
        lock(&self.state)
    }
}

/// Keys are not printed.
impl fmt::Debug for ServerTls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("ServerTls").field(&self.files).finish()
    }
}

impl PemPair {
    fn read(files: &TlsFiles) -> Result<Self, String> {
        let text = |path: &Path| std::fs::read(path).map_err(|error| unusable(path, error));
        Ok(Self {
            certificate: text(&files.certificate)?,
            key: text(&files.key)?,
        })
    }

    fn acceptor(&self, files: &TlsFiles) -> Result<TlsAcceptor, String> {
        let chain = CertificateDer::pem_slice_iter(&self.certificate);
        let chain = chain.collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| unusable(&files.certificate, error))?;
        if chain.is_empty() {
            return Err(unusable(
                &files.certificate,
                "there is no certificate (PEM)",
            ));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key);
        let key = key.map_err(|error| unusable(&files.key, error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(|error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            format!("{certificate} and {key} are no certificate and its key: {error}")
        })?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Arc::new(config).into())
    }
}

fn unusable(path: &Path, reason: impl fmt::Display) -> String {
    format!("{} cannot be used: {reason}", path.display())
}
