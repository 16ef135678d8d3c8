//! A caller as credentials vouch for one.

use super::RequestCaller;
use ambit_runtime::Authorized;
use ambit_storage::clock::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What says who is calling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallerSource {
    /// Everybody is the developer.
    Dev,
    /// A proxy, or the program around the server.
    Proxy,
    /// A token of an issuer.
    Token,
    /// An API key.
    Key,
    /// A cookie of somebody who has logged in.
    Session,
}

/// Somebody, and what vouches for them.
#[derive(Clone, Debug)]
pub(super) struct VerifiedCaller {
    pub caller: RequestCaller,
    pub source: CallerSource,
    /// When that ends, if it does.
    pub expires_at: Option<Millis>,
    /// When the API key ends that they call with, or have logged in with.
    pub key_ends_at: Option<Millis>,
    /// What a session of the same caller is made of; none where there can be none.
    pub credential: Option<SessionCredential>,
}

/// What a session stands for, as it is stored: judged anew at each request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum SessionCredential {
    /// An API key.
    Key {
        /// Its id.
        id: String,
        /// The hash that it is stored by.
        hash: String,
    },
    /// A token.
    Token(Box<TokenClaims>),
}

/// What a token has said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TokenClaims {
    /// Who has issued it.
    pub issuer: String,
    /// Whom it is for.
    pub authorized: Authorized,
    /// Their roles.
    pub roles: Vec<String>,
    /// When it ends.
    pub expires_at: Option<Millis>,
}

impl VerifiedCaller {
    /// Somebody whom a proxy names.
    pub fn proxied(caller: RequestCaller) -> Self {
        Self {
            caller,
            source: CallerSource::Proxy,
            expires_at: None,
            key_ends_at: None,
            credential: None,
        }
    }
}
