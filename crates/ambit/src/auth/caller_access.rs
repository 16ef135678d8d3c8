//! What a caller may do, asked endpoint by endpoint: a request that does what other routes do too is granted what these are.

use super::access::{AccessDecision, RequestTarget};
use super::config::AuthConfig;
use super::verified_caller::{CallerSource, VerifiedCaller};
use super::{RequestCaller, unauthenticated};
use ambit_runtime::{Authorized, DataConstraints, Error, ErrorCode, Result};
use ambit_storage::clock::Millis;
use std::sync::Arc;

/// A caller, to be asked what they may do.
#[derive(Clone)]
pub struct CallerAccess {
    config: Arc<AuthConfig>,
    caller: RecognisedCaller,
    /// Limits that count in the place of those of the rules.
    limits: DataConstraints,
    /// What says who it is; none of nobody in particular.
    pub source: Option<CallerSource>,
    /// When that ends, in milliseconds since 1970, if it does.
    pub expires_at: Option<Millis>,
}

/// Who was recognised.
#[derive(Clone)]
enum RecognisedCaller {
    /// The developer, who may do everything.
    Developer(Authorized),
    /// Somebody, or nobody in particular.
    Person(Option<RequestCaller>),
}

impl CallerAccess {
    /// Somebody, or nobody in particular.
    pub(super) fn new(config: Arc<AuthConfig>, found: Option<VerifiedCaller>) -> Self {
        let source = found.as_ref().map(|found| found.source);
        let expires_at = found.as_ref().and_then(|found| found.expires_at);
        let caller = found.map(|found| config.with_role(found.caller));
        Self {
            config,
            caller: RecognisedCaller::Person(caller),
            limits: DataConstraints::default(),
            source,
            expires_at,
        }
    }

    /// The developer, who may do everything.
    pub(super) fn of_developer(config: Arc<AuthConfig>, person: Authorized) -> Self {
        Self {
            config,
            caller: RecognisedCaller::Developer(person),
            limits: DataConstraints::default(),
            source: Some(CallerSource::Dev),
            expires_at: None,
        }
    }

    /// Whoever calls, with their usual limits; an error where nobody in particular does.
    pub fn known(&self) -> Result<Authorized> {
        match &self.caller {
            RecognisedCaller::Developer(person) => Ok(person.clone()),
            RecognisedCaller::Person(None) => Err(unauthenticated()),
            RecognisedCaller::Person(Some(caller)) => Ok(self.limited(Authorized {
                constraints: DataConstraints::usual(&caller.authorized),
                ..caller.authorized.clone()
            })),
        }
    }

    /// The caller's roles; the developer needs none.
    pub fn roles(&self) -> &[String] {
        match &self.caller {
            RecognisedCaller::Person(Some(caller)) => &caller.roles,
            RecognisedCaller::Person(None) | RecognisedCaller::Developer(_) => &[],
        }
    }

    /// The same within these limits, if they are any.
    pub(super) fn with_limits(self, limits: DataConstraints) -> Self {
        Self { limits, ..self }
    }

    /// Whoever may do this, with the limits of their data; an error where nobody may, or not they.
    pub fn authorize(&self, method: &str, path: &str) -> Result<Authorized> {
        let caller = match &self.caller {
            RecognisedCaller::Developer(person) => return Ok(person.clone()),
            RecognisedCaller::Person(caller) => caller.as_ref(),
        };
        let target = RequestTarget::of(method, path);
        match (self.config.rules.decide(target.as_ref(), caller), caller) {
            (AccessDecision::Public, _) => Ok(self.limited(Authorized::default())),
            (AccessDecision::Granted(constraints), Some(caller)) => Ok(self.limited(Authorized {
                constraints,
                ..caller.authorized.clone()
            })),
            (_, None) => Err(unauthenticated()),
            (_, Some(caller)) => Err(denied(method, path, caller)),
        }
    }

    /// Whether the caller may do this.
    pub fn may(&self, method: &str, path: &str) -> bool {
        self.authorize(method, path).is_ok()
    }

    fn limited(&self, mut granted: Authorized) -> Authorized {
        if !self.limits.is_none() {
            granted.constraints = self.limits.clone();
        }
        granted
    }
}

fn denied(method: &str, path: &str, who: &RequestCaller) -> Error {
    let roles = who.roles.join(", ");
    let message = format!(
        "{method} {path} is not granted to the caller, whose roles are: {roles}; `ambit access explain` tells the operator why"
    );
    Error::new(ErrorCode::PermissionDenied, message)
}

/// Who issues tokens for a resource, and for which scopes (RFC 9728).
pub struct ResourceAuthority {
    /// The issuers.
    pub issuers: Vec<String>,
    /// The scopes that a request to the resource needs one of.
    pub scopes: Vec<String>,
}

impl ResourceAuthority {
    /// For what is reached by this request; none where nobody issues tokens.
    pub(super) fn of(config: &AuthConfig, method: &str, path: &str) -> Option<Self> {
        let issuers = config.issuers.iter().map(|issuer| issuer.name.clone());
        let issuers: Vec<String> = issuers.collect();
        let target = RequestTarget::of(method, path);
        let scopes = target.map(|target| config.rules.scopes_for(&target));
        (!issuers.is_empty()).then(|| Self {
            issuers,
            scopes: scopes.unwrap_or_default(),
        })
    }
}
