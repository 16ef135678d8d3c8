//! Acting as somebody else: for an hour, requests of one caller count as another's. What either of the two may not do stays
//! refused, and who acts is a claim of the assumed caller.

use super::verified_caller::CallerSource;
use super::{CallerAccess, RESERVED, RequestCaller, hashed_secret};
use ambit_runtime::{
    ACTED_BY, ActingCaller, Authorized, DataConstraints, Error, ErrorCode, Result,
};
use ambit_storage::address::{self, Space};
use ambit_storage::clock::{Clock, Millis};
use ambit_storage::driver::{Driver, ValuePart};
use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The header with the token of `AssumedCallers::assume`.
const ACT_AS: HeaderName = HeaderName::from_static("x-ambit-act-as");
/// How long somebody acts as another.
const LIFE: Millis = 60 * 60 * 1_000;

/// Whom somebody wants to act as.
#[derive(Clone, Debug, Default)]
pub struct WantedCaller {
    /// The person.
    pub user_id: Option<String>,
    /// The team they act in.
    pub team_id: Option<String>,
    /// The tenant, which is the caller's own; in development any.
    pub tenant_id: Option<String>,
    /// Their roles; in development all is granted without any.
    pub roles: Option<Vec<String>>,
    /// What their credentials are for.
    pub scope: Option<String>,
    /// Claims besides.
    pub claims: Map<String, Value>,
    /// The limits of their data, in development alone.
    pub constraints: Option<DataConstraints>,
}

/// Somebody who is acted as, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AssumedCaller {
    /// The digest of who acts.
    by: String,
    pub authorized: Authorized,
    /// None where all is granted, as in development without roles.
    pub roles: Option<Vec<String>>,
    /// Limits that count in the place of those of the rules.
    pub constraints: Option<DataConstraints>,
    pub expires_at: Millis,
}

/// Who is acted as in an installation.
pub(super) struct AssumedCallers {
    store: Arc<dyn Driver>,
}

impl AssumedCallers {
    pub fn new(store: Arc<dyn Driver>) -> Self {
        Self { store }
    }

    /// Lets a caller act as another; the answer is the token.
    pub async fn begin(&self, assumed: &AssumedCaller) -> Result<String> {
        let space = Space::assumed_callers();
        hashed_secret::issue(self.store.as_ref(), &space, assumed, LIFE).await
    }

    /// Whom the caller of a request acts as, if they do.
    pub async fn find(
        &self,
        actor: &Authorized,
        headers: &HeaderMap,
    ) -> Result<Option<AssumedCaller>> {
        let Some(token) = headers.get(ACT_AS) else {
            return Ok(None);
        };
        let secret = token.to_str().unwrap_or_default();
        let key = hashed_secret::place(&Space::assumed_callers(), secret);
        let stored = self.store.get(&key, ValuePart::Whole).await?;
        let stored = stored.map(|stored| stored.value.to::<AssumedCaller>());
        let is_live = |found: &AssumedCaller| {
            found.by == fingerprint(actor) && Clock::default().now() < found.expires_at
        };
        match stored.transpose()?.filter(is_live) {
            Some(found) => Ok(Some(found)),
            None => Err(ended()),
        }
    }
}

impl AssumedCaller {
    /// Whom a caller may act as; an error where they may not.
    pub fn of(access: &CallerAccess, wanted: WantedCaller) -> Result<Self> {
        let actor = access.actor()?;
        if access.is_assumed() {
            let message = "the caller acts as somebody already; leave X-Ambit-Act-As out";
            return Err(denied(message.to_owned()));
        }
        let is_developer = access.source == Some(CallerSource::Dev);
        let tenant_id = wanted.tenant_id.or(actor.tenant_id.clone());
        if !is_developer && tenant_id != actor.tenant_id {
            let message =
                "tenant_id is not the caller's own, and nobody acts as somebody of another tenant";
            return Err(denied(message.to_owned()));
        }
        if !is_developer && wanted.constraints.is_some() {
            let message = "constraints are chosen in development mode alone; leave them out";
            return Err(Error::invalid("constraints", message));
        }
        let mut claims = wanted.claims;
        let mut no_claims = RESERVED.into_iter().chain(["roles"]);
        if let Some(name) = no_claims.find(|name| claims.contains_key(*name)) {
            let message = format!("\"{name}\" is no claim of its own; leave it out of claims");
            return Err(Error::invalid("claims", message));
        }
        claims.extend(wanted.scope.map(|scope| ("scope".to_owned(), scope.into())));
        let text = |name: &str| Some(actor.claims.get(name)?.as_str()?.to_owned());
        let acted_by = ActingCaller {
            user_id: actor.user_id.clone(),
            client_id: text("client_id"),
        };
        claims.insert(ACTED_BY.to_owned(), json!(acted_by));
        Ok(Self {
            by: fingerprint(&actor),
            authorized: Authorized {
                user_id: wanted.user_id,
                team_id: wanted.team_id,
                tenant_id,
                claims,
                constraints: DataConstraints::default(),
            },
            roles: match is_developer {
                true => wanted.roles,
                false => Some(wanted.roles.unwrap_or_default()),
            },
            constraints: wanted.constraints,
            expires_at: Clock::default().now() + LIFE,
        })
    }

    /// Whom requests count as, with the limits that were chosen, else the usual ones.
    pub fn person(&self) -> Authorized {
        let chosen = self.constraints.clone();
        Authorized {
            constraints: chosen.unwrap_or_else(|| DataConstraints::usual(&self.authorized)),
            ..self.authorized.clone()
        }
    }

    /// The same as rules judge it; none where all is granted.
    pub fn ruled(&self) -> Option<RequestCaller> {
        Some(RequestCaller {
            authorized: self.authorized.clone(),
            roles: self.roles.clone()?,
        })
    }
}

/// Names a caller: what tells two of them apart.
fn fingerprint(who: &Authorized) -> String {
    let client = who.claims.get("client_id").and_then(Value::as_str);
    let parts = [&who.tenant_id, &who.team_id, &who.user_id].map(|part| part.as_deref());
    let parts = parts.into_iter().chain([client]);
    let parts: Vec<String> = parts.map(|part| format!("{part:?}")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    address::digest(&parts)
}

fn denied(message: String) -> Error {
    Error::new(ErrorCode::PermissionDenied, message)
}

/// The request must not count as the caller's own instead.
fn ended() -> Error {
    let mut error = denied(
        "X-Ambit-Act-As names nobody whom the caller acts as now; it ends after an hour, begin anew or leave the header out".to_owned(),
    );
    error.details = Some(Box::new(json!({ "act_as": "ended" })));
    error
}
