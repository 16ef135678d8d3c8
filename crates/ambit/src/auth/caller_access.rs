//! What a caller may do, asked endpoint by endpoint: a request that does what other routes do too is granted what these are.

use super::access::{AccessDecision, RequestTarget};
use super::assumed_callers::AssumedCaller;
use super::config::AuthConfig;
use super::verified_caller::{CallerSource, VerifiedCaller};
use super::{RequestCaller, unauthenticated};
use ambit_runtime::{Authorized, DataConstraints, Error, ErrorCode, Result};
use ambit_storage::clock::Millis;
use std::collections::BTreeSet;
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
    /// When the API key ends that the caller calls with, or has logged in with: a session may end earlier.
    pub key_ends_at: Option<Millis>,
    /// Whom the caller acts as.
    assumed: Option<Box<AssumedCaller>>,
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
        let key_ends_at = found.as_ref().and_then(|found| found.key_ends_at);
        let caller = found.map(|found| with_counting_roles(&config, found.caller));
        Self {
            config,
            caller: RecognisedCaller::Person(caller),
            limits: DataConstraints::default(),
            source,
            expires_at,
            key_ends_at,
            assumed: None,
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
            key_ends_at: None,
            assumed: None,
        }
    }

    /// The same caller acting as another.
    pub(super) fn acting_as(self, assumed: AssumedCaller) -> Self {
        Self {
            expires_at: Some(assumed.expires_at),
            assumed: Some(Box::new(assumed)),
            ..self
        }
    }

    /// Whether the caller acts as another.
    pub fn is_assumed(&self) -> bool {
        self.assumed.is_some()
    }

    /// Whoever the requests count as, with their usual limits; an error where nobody in particular calls.
    pub fn known(&self) -> Result<Authorized> {
        let own = self.actor()?;
        let assumed = self.assumed.as_ref();
        Ok(assumed.map_or(own, |assumed| assumed.person()))
    }

    /// Whoever calls, whomever they act as.
    pub(super) fn actor(&self) -> Result<Authorized> {
        match &self.caller {
            RecognisedCaller::Developer(person) => Ok(person.clone()),
            RecognisedCaller::Person(None) => Err(unauthenticated()),
            RecognisedCaller::Person(Some(caller)) => Ok(self.limited(Authorized {
                constraints: DataConstraints::usual(&caller.authorized),
                ..caller.authorized.clone()
            })),
        }
    }

    /// The roles that requests count with; the developer needs none.
    pub fn roles(&self) -> &[String] {
        if let Some(assumed) = &self.assumed {
            return assumed.roles.as_deref().unwrap_or_default();
        }
        match &self.caller {
            RecognisedCaller::Person(Some(caller)) => &caller.roles,
            RecognisedCaller::Person(None) | RecognisedCaller::Developer(_) => &[],
        }
    }

    /// The same within these limits, if they are any.
    pub(super) fn with_limits(self, limits: DataConstraints) -> Self {
        Self { limits, ..self }
    }

    /// Whoever may do this, with the limits of their data; an error where nobody may, or not they. Who acts as another must be
    /// granted it too, for all data: others' is none of theirs.
    pub fn authorize(&self, method: &str, path: &str) -> Result<Authorized> {
        let own = self.authorize_actor(method, path)?;
        let Some(assumed) = &self.assumed else {
            return Ok(own);
        };
        if self.source != Some(CallerSource::Dev) && !own.constraints.is_none() {
            return Err(narrow(method, path));
        }
        let granted = match assumed.ruled() {
            None => assumed.person(),
            Some(caller) => {
                let caller = with_counting_roles(&self.config, caller);
                self.granted(method, path, Some(&caller))?
            }
        };
        let constraints = assumed.constraints.clone();
        Ok(Authorized {
            constraints: constraints.unwrap_or(granted.constraints),
            ..granted
        })
    }

    fn authorize_actor(&self, method: &str, path: &str) -> Result<Authorized> {
        match &self.caller {
            RecognisedCaller::Developer(person) => Ok(person.clone()),
            RecognisedCaller::Person(caller) => {
                let granted = self.granted(method, path, caller.as_ref())?;
                Ok(self.limited(granted))
            }
        }
    }

    /// Somebody with the limits that the rules set them; an error where they do not grant it.
    fn granted(
        &self,
        method: &str,
        path: &str,
        caller: Option<&RequestCaller>,
    ) -> Result<Authorized> {
        let target = RequestTarget::of(method, path);
        match (self.config.rules.decide(target.as_ref(), caller), caller) {
            (AccessDecision::Public, _) => Ok(Authorized::default()),
            (AccessDecision::Granted(constraints), Some(caller)) => Ok(Authorized {
                constraints,
                ..caller.authorized.clone()
            }),
            (_, None) => Err(unauthenticated()),
            (_, Some(caller)) => Err(self.denied(method, path, caller)),
        }
    }

    fn denied(&self, method: &str, path: &str, who: &RequestCaller) -> Error {
        let is_known = |name: &str| self.config.rules.roles().any(|role| role == name);
        let roles = who.roles.iter().map(|name| match is_known(name) {
            true => name.clone(),
            false => format!("{name} (which the app does not have)"),
        });
        let roles: Vec<String> = roles.collect();
        let message = format!(
            "{method} {path} is not granted to the caller, whose roles are: {}{}; `ambit access explain` tells the operator why",
            roles.join(", "),
            self.cut(method, path, who).unwrap_or_default()
        );
        Error::new(ErrorCode::PermissionDenied, message)
    }

    /// What the credentials are for, where they are what keeps the caller from what the roles grant.
    fn cut(&self, method: &str, path: &str, who: &RequestCaller) -> Option<String> {
        let target = RequestTarget::of(method, path)?;
        let mut whole = who.clone();
        let scope = whole.authorized.claims.remove("scope")?;
        let rules = &self.config.rules;
        let AccessDecision::Granted(_) = rules.decide(Some(&target), Some(&whole)) else {
            return None;
        };
        let credentials = match self.source {
            Some(CallerSource::Key) => "the key is",
            _ => "the credentials are",
        };
        let needed = rules.cut_scopes(&target, who).join(" or ");
        Some(format!(
            "; these grant it, but {credentials} only for {scope}, without {needed}"
        ))
    }

    /// One request for each rule, of those that the caller may do.
    pub fn granted_targets(&self) -> Vec<RequestTarget> {
        let samples: BTreeSet<(&str, String)> = self.config.rules.samples().collect();
        let granted = samples
            .iter()
            .filter(|(method, path)| self.may(method, path));
        let targets = granted.filter_map(|(method, path)| RequestTarget::of(method, path));
        targets.collect()
    }

    /// Whether the caller may do this.
    pub fn may(&self, method: &str, path: &str) -> bool {
        self.authorize(method, path).is_ok()
    }

    /// Whether the caller may do all of this that another may, with at least as much of the data.
    pub fn covers(&self, other: RequestCaller, method: &str, path: &str) -> bool {
        let target = RequestTarget::of(method, path);
        let other = self.config.with_role(other);
        let decision = self.config.rules.decide(target.as_ref(), Some(&other));
        let AccessDecision::Granted(theirs) = decision else {
            return true;
        };
        let Ok(own) = self.authorize(method, path) else {
            return false;
        };
        let limits = &own.constraints;
        let is_same = own.user_id == other.authorized.user_id
            && own.team_id == other.authorized.team_id
            && (theirs == *limits || (theirs.owner_only && theirs.extra == limits.extra));
        self.source == Some(CallerSource::Dev) || limits.is_none() || is_same
    }

    fn limited(&self, mut granted: Authorized) -> Authorized {
        if !self.limits.is_none() {
            granted.constraints = self.limits.clone();
        }
        granted
    }
}

/// Writes the roles that count into the claim `roles`, which is what documents are judged by.
fn with_counting_roles(config: &AuthConfig, who: RequestCaller) -> RequestCaller {
    let mut who = config.with_role(who);
    // A text that says the same stays one, of which conversations may have their names.
    if who.authorized.roles() != who.roles {
        let roles = who.roles.clone().into();
        who.authorized.claims.insert("roles".to_owned(), roles);
    }
    who
}

fn narrow(method: &str, path: &str) -> Error {
    let message = format!(
        "{method} {path} is granted to the caller for a part of the data alone, so that they do it as nobody else"
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
