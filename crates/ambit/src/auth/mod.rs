//! Who is calling. A way to tell is one file here; which of them an app uses is said in its `openapi/openapi.yao`. Nothing
//! that a client says counts unless one of them vouches for it.

pub mod config;
mod file;
pub mod keys;
mod proxy;
mod token;

pub use config::Config;
pub use proxy::Network;

use ambit_runtime::{Authorized, Code, Error, Result};
use ambit_storage::driver::Driver;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use keys::Keys;
use proxy::Proxy;
use std::net::IpAddr;
use std::sync::Arc;
use token::Issuer;

/// Finds out who is calling.
pub struct Authenticator {
    /// Everybody is this person: the server is reached by its developer alone.
    development: Option<Authorized>,
    issuers: Vec<Issuer>,
    keys: Option<Keys>,
    proxy: Option<Proxy>,
    default_role: String,
}

/// Somebody who was recognised.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// Who it is, without constraints.
    pub authorized: Authorized,
    /// Their roles; the default role if they have none.
    pub roles: Vec<String>,
    /// Every route is theirs: the server runs for its developer alone.
    pub is_development: bool,
}

impl Authenticator {
    /// What an app's configuration asks for; API keys are in this store.
    pub fn new(config: Config, store: &Arc<dyn Driver>) -> Self {
        Self {
            development: config.development,
            issuers: config.issuers,
            keys: config.has_api_keys.then(|| Keys::new(store.clone())),
            proxy: config.proxy,
            default_role: config.default_role,
        }
    }

    /// Whether everybody who reaches the server is its developer.
    pub fn is_development(&self) -> bool {
        self.development.is_some()
    }

    /// The address of whoever is behind the peer: what a trusted proxy says, else the peer itself.
    pub fn address(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let told = self.proxy.as_ref();
        told.and_then(|proxy| proxy.behind(headers, peer))
            .unwrap_or(peer)
    }

    /// The caller; `None` without credentials, an error with wrong ones.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<Option<Caller>> {
        if let Some(person) = &self.development {
            return Ok(Some(Caller {
                authorized: person.clone(),
                roles: Vec::new(),
                is_development: true,
            }));
        }
        let found = match bearer(headers)? {
            Some(token) if token.starts_with(keys::PREFIX) => Some(self.by_key(token).await?),
            Some(token) => Some(self.by_token(token)?),
            None => self.by_proxy(headers, peer)?,
        };
        Ok(found.map(|found| self.with_role(found)))
    }

    fn by_token(&self, token: &str) -> Result<Found> {
        token::check(&self.issuers, token)
    }

    async fn by_key(&self, secret: &str) -> Result<Found> {
        match &self.keys {
            Some(keys) => keys
                .find(secret)
                .await?
                .ok_or_else(|| refused("the API key is unknown or has ended")),
            None => Err(refused("this server takes no API keys")),
        }
    }

    fn by_proxy(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Option<Found>> {
        match (&self.proxy, peer) {
            (Some(proxy), Some(peer)) => proxy.find(headers, peer),
            _ => Ok(None),
        }
    }

    fn with_role(&self, found: Found) -> Caller {
        let mut roles = found.roles;
        if roles.is_empty() {
            roles.push(self.default_role.clone());
        }
        Caller {
            authorized: found.authorized,
            roles,
            is_development: false,
        }
    }
}

/// Somebody, as one of the ways told it.
#[derive(Debug)]
struct Found {
    authorized: Authorized,
    roles: Vec<String>,
}

/// Credentials that are not accepted. What exactly is wrong with them helps whoever holds them and nobody else.
fn refused(why: &str) -> Error {
    Error::new(
        Code::Unauthenticated,
        format!("the credentials are not accepted: {why}"),
    )
}

/// The token behind `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    let token = token.trim();
    match scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() {
        true => Ok(Some(token)),
        false => Err(refused(
            "send Authorization: Bearer with a token or an API key",
        )),
    }
}

/// Claims besides ids and roles that have a name of their own wherever a caller comes from.
const CLAIMS: [&str; 3] = ["client_id", "session_id", "scope"];

/// The roles that a text names, separated by spaces or commas.
fn roles(text: &str) -> Vec<String> {
    let names = text.split([' ', ',']).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// An id that came with credentials: 1 to 200 bytes without U+0000.
fn id(name: &str, text: &str) -> Result<String> {
    match crate::http::check_id(name, text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => Err(refused(&error.message)),
    }
}
