//! TLS as the system trusts it.

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// The settings of all connections that go out. A system without roots still reaches hosts over plain HTTP; over TLS it
/// reaches none.
pub fn tls() -> Result<ClientConfig, rustls::Error> {
    let builder = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
    };
    let trusting = match builder()?.with_platform_verifier() {
        Ok(trusting) => trusting,
        Err(error) => {
            tracing::warn!(%error, "the system has no certificates: nothing can be reached over https");
            builder()?.with_root_certificates(RootCertStore::empty())
        }
    };
    Ok(trusting.with_no_client_auth())
}
