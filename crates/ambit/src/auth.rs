//! Who is calling. A way to tell is one file here; which of them an app uses is said in its `openapi/openapi.yao`. Nothing
//! that a client says counts unless one of them vouches for it.

pub mod access;
pub mod api_keys;
mod assumed_callers;
mod browser_sessions;
mod caller_access;
pub mod config;
pub mod cors;
mod hashed_secret;
mod issuer;
mod login;
mod login_limit;
mod openapi_file;
mod proxy;
pub mod rate_limits;
mod remote_key_set;
mod request_site;
mod token;
mod unseen_agents;
mod verified_caller;

pub use assumed_callers::WantedCaller;
pub use caller_access::{CallerAccess, ResourceAuthority};
pub use config::AuthConfig;
pub use login::{BrowserLogin, LoginWays};
pub use openapi_file::FILES;
pub use request_site::is_local;
pub use verified_caller::CallerSource;

use crate::id::check_id;
use access::{AccessDecision, RequestTarget};
use ambit_runtime::ReloadCheck;
use ambit_runtime::app::{App, FileProblem};
use ambit_runtime::{ACTED_BY, Authorized, Error, ErrorCode, Result};
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::driver::Driver;
use api_keys::ApiKeys;
use assumed_callers::{AssumedCaller, AssumedCallers};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use browser_sessions::BrowserSessions;
use login_limit::LoginLimit;
use rate_limits::RateLimiter;
use request_site::RequestSite;
use serde_json::Value;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use verified_caller::VerifiedCaller;

/// Finds out who is calling, and whether they may.
pub struct Authenticator {
    present: SharedConfig,
    keys: ApiKeys,
    sessions: BrowserSessions,
    assumed: AssumedCallers,
    logins: LoginLimit,
    limits: Arc<RateLimiter>,
    /// A server that is reached by its developer alone stays so, and another never becomes one.
    is_development: bool,
}

/// What is in force; a reload of the app puts another in its place.
type SharedConfig = Arc<RwLock<Arc<AuthConfig>>>;

/// Somebody who was recognised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestCaller {
    /// Who it is, without constraints.
    pub authorized: Authorized,
    /// Their roles.
    pub roles: Vec<String>,
}

impl RequestCaller {
    /// Somebody whose `roles` are among their claims, as a list or as a text.
    pub fn of(authorized: Authorized) -> Result<Self> {
        let is_readable = match authorized.claims.get("roles") {
            None | Some(Value::String(_)) => true,
            Some(Value::Array(items)) => items.iter().all(Value::is_string),
            Some(_) => false,
        };
        match is_readable {
            true => Ok(Self {
                roles: authorized.roles(),
                authorized,
            }),
            false => Err(Error::invalid(
                "roles",
                "roles must be a string or a list of strings",
            )),
        }
    }
}

/// A request, as far as it says who may do it.
#[derive(Clone, Copy, Debug)]
pub struct AuthRequest<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its path, below the base path.
    pub path: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Where it comes from.
    pub peer: Option<IpAddr>,
    /// Whether its connection to this server is encrypted.
    pub is_tls: bool,
}

impl Authenticator {
    /// What an app's configuration asks for; API keys are in this store.
    pub fn new(config: AuthConfig, store: &Arc<dyn Driver>) -> Self {
        let is_development = config.development.is_some();
        let present: SharedConfig = Arc::new(RwLock::new(Arc::new(config)));
        Self {
            is_development,
            limits: Arc::new(RateLimiter::new(present.clone(), store)),
            present,
            keys: ApiKeys::new(store.clone()),
            sessions: BrowserSessions::new(store.clone()),
            assumed: AssumedCallers::new(store.clone()),
            logins: LoginLimit::default(),
        }
    }

    /// The same, for a server that may be reached by others: where this says no, nobody is its developer.
    pub fn allow_development(mut self, is_allowed: bool) -> Self {
        self.is_development &= is_allowed;
        self
    }

    /// Whether everybody who reaches the server is its developer.
    pub fn is_development(&self) -> bool {
        self.is_development
    }

    /// What judges the access rules of a new version of the app, and puts them in force with it.
    pub fn reload_check(&self) -> ReloadCheck {
        let present = self.present.clone();
        Box::new(move |app: &App| {
            let config = AuthConfig::of(app)?;
            check_unchanged(&current(&present), &config)?;
            let present = present.clone();
            Ok(Box::new(move || {
                *present.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
            }))
        })
    }

    /// What counts how much callers do.
    pub fn limits(&self) -> &Arc<RateLimiter> {
        &self.limits
    }

    /// The API keys of the installation.
    pub fn api_keys(&self) -> &ApiKeys {
        &self.keys
    }

    /// The present rules.
    pub fn config(&self) -> Arc<AuthConfig> {
        current(&self.present)
    }

    /// The address of whoever is behind the peer: what a trusted proxy says, else the peer itself.
    pub fn address(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let config = current(&self.present);
        let told = config.proxy.as_ref();
        told.and_then(|proxy| proxy.forwarded_address(headers, peer))
            .unwrap_or(peer)
    }

    /// Who may do this, with the limits of their data; an error where nobody may, or not they.
    pub async fn authorize(&self, asked: AuthRequest<'_>) -> Result<Authorized> {
        let config = current(&self.present);
        let target = RequestTarget::of(asked.method, asked.path);
        let is_public = config.rules.decide(target.as_ref(), None) == AccessDecision::Public;
        // Wrong credentials keep nobody from what is for everybody.
        if is_public && !self.is_development {
            return Ok(Authorized::default());
        }
        let access = self.access(asked).await?;
        access.authorize(asked.method, asked.path)
    }

    /// Whether somebody whom the program around the server has recognised may do this. Limits of their data that
    /// it has set count in the place of those of the rules.
    pub async fn authorize_known(
        &self,
        known: Authorized,
        asked: AuthRequest<'_>,
    ) -> Result<Authorized> {
        let access = self.access_of_known(known, asked).await?;
        access.authorize(asked.method, asked.path)
    }

    /// Whoever sends this request, to be asked what they may do.
    pub async fn access(&self, asked: AuthRequest<'_>) -> Result<CallerAccess> {
        let config = current(&self.present);
        if let Some(person) = config.development.clone().filter(|_| self.is_development) {
            let access = CallerAccess::of_developer(config, person);
            return self.assume(access, asked.headers).await;
        }
        let found = self.caller(&config, asked).await?;
        let access = CallerAccess::new(config, found);
        self.assume(access, asked.headers).await
    }

    /// The same for somebody whom the program around the server has recognised.
    pub async fn access_of_known(
        &self,
        known: Authorized,
        asked: AuthRequest<'_>,
    ) -> Result<CallerAccess> {
        let config = current(&self.present);
        let limits = known.constraints.clone();
        let who = VerifiedCaller::proxied(RequestCaller::of(known)?);
        let access = CallerAccess::new(config, Some(who)).with_limits(limits);
        self.assume(access, asked.headers).await
    }

    /// The caller acting as whom the request names, if it does.
    async fn assume(&self, access: CallerAccess, headers: &HeaderMap) -> Result<CallerAccess> {
        // Nobody in particular acts as nobody.
        let Ok(actor) = access.actor() else {
            return Ok(access);
        };
        Ok(match self.assumed.find(&actor, headers).await? {
            Some(assumed) => access.acting_as(assumed),
            None => access,
        })
    }

    /// Lets a caller act as another for an hour; the answer is the token, and what the two may do.
    pub async fn act_as(
        &self,
        access: CallerAccess,
        wanted: WantedCaller,
    ) -> Result<(String, CallerAccess)> {
        let assumed = AssumedCaller::of(&access, wanted)?;
        let token = self.assumed.begin(&assumed).await?;
        Ok((token, access.acting_as(assumed)))
    }

    /// Who issues tokens for what is reached by this request, and the scopes that they need; none where nobody issues any.
    pub fn resource_authority(&self, method: &str, path: &str) -> Option<ResourceAuthority> {
        ResourceAuthority::of(&current(&self.present), method, path)
    }

    /// Refuses pages of other sites where everybody who reaches the server is its developer.
    pub fn check_site(&self, headers: &HeaderMap) -> Result<()> {
        match self.is_development {
            true => request_site::check_development(headers),
            false => Ok(()),
        }
    }

    /// The caller; `None` without credentials, an error with wrong ones.
    async fn caller(
        &self,
        config: &AuthConfig,
        asked: AuthRequest<'_>,
    ) -> Result<Option<VerifiedCaller>> {
        if let Some(secret) = bearer(asked.headers)? {
            return self.bearer_caller(config, secret).await.map(Some);
        }
        let site = RequestSite::of(asked, config.proxy.as_ref());
        if let (Some(proxy), Some(peer)) = (&config.proxy, asked.peer)
            && let Some(found) = proxy.find(asked.headers, peer)?
        {
            request_site::check_proxied(asked.method, asked.headers, &site, &config.origins)?;
            return Ok(Some(VerifiedCaller::proxied(found)));
        }
        self.session_caller(config, &site, asked.headers).await
    }

    /// Who sends this token or API key.
    async fn bearer_caller(&self, config: &AuthConfig, secret: &str) -> Result<VerifiedCaller> {
        if !secret.starts_with(api_keys::PREFIX) {
            return token::check(&config.issuers, secret).await;
        }
        if !config.has_api_keys {
            return Err(refused("this server takes no API keys"));
        }
        let hash = api_keys::hash(secret);
        let found = self.keys.find(&hash).await?;
        let found = found.ok_or_else(|| refused("the API key is unknown or has ended"))?;
        self.keys.note_use(&hash).await;
        Ok(found.verified(hash))
    }
}

fn current(present: &SharedConfig) -> Arc<AuthConfig> {
    present
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// What a server that runs cannot change: where its routes are, and whether it is its developer's alone.
fn check_unchanged(old: &AuthConfig, new: &AuthConfig) -> Result<(), FileProblem> {
    if old.base != new.base {
        return Err(openapi_file::wrong(
            "\"baseurl\" changes where the routes are, which needs a restart of the server",
        ));
    }
    match old.development.is_some() == new.development.is_some() {
        true => Ok(()),
        false => Err(openapi_file::wrong(
            "\"auth\" begins or ends development mode, which needs a restart of the server",
        )),
    }
}

/// Somebody has to be calling, and nobody is.
pub fn unauthenticated() -> Error {
    let message = "no valid credentials; send Authorization: Bearer with a token or an API key";
    Error::new(ErrorCode::Unauthenticated, message)
}

/// Credentials that are not accepted. What exactly is wrong with them helps whoever holds them and nobody else.
fn refused(why: &str) -> Error {
    Error::new(
        ErrorCode::Unauthenticated,
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

/// Names that mean something in `authorized` and are no claims.
const RESERVED: [&str; 5] = ["user_id", "team_id", "tenant_id", "constraints", ACTED_BY];

/// A tenant that came with credentials. The one of those who have none is nobody's by name.
fn tenant(text: &str) -> Result<String> {
    match text == DEFAULT_TENANT {
        true => Err(refused(
            "the tenant \"default\" is that of callers without one; leave it out",
        )),
        false => id("tenant_id", text),
    }
}

/// An id that came with credentials: 1 to 200 bytes without U+0000.
fn id(name: &str, text: &str) -> Result<String> {
    match check_id(name, text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => Err(refused(&error.message)),
    }
}
