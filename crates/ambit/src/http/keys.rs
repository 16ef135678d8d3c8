//! API keys of the caller's tenant.

use super::input::{BodyFields, Id, JsonBody, NoQuery, PathId, Text, Time};
use super::operations::Operations;
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, SharedState};
use crate::auth::CallerAccess;
use crate::auth::api_keys::{ApiKeyRecord, ApiKeyUse};
use ambit_runtime::{Authorized, Error, ErrorCode, Result};
use ambit_storage::clock::Clock;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![list_keys, make_key, remove_key]
}

/// Keys.
#[derive(Serialize, ToSchema)]
struct KeyList {
    /// The oldest first.
    items: Vec<KeyView>,
}

/// What is told of a key: never the key.
#[derive(Serialize, ToSchema)]
struct KeyView {
    /// Its name for people.
    id: String,
    /// What it is for.
    #[schema(required)]
    label: Option<String>,
    /// The person it acts for.
    #[schema(required)]
    user_id: Option<String>,
    /// Their team.
    #[schema(required)]
    team_id: Option<String>,
    /// Its roles.
    roles: Vec<String>,
    /// Its scopes, separated by spaces.
    #[schema(required)]
    scope: Option<String>,
    /// When it was made, in milliseconds since 1970.
    created_at: i64,
    /// Who made it, if that was over HTTP.
    #[schema(required)]
    created_by: Option<String>,
    /// When it ends.
    #[schema(required)]
    expires_at: Option<i64>,
    /// When it was last used, to the minute.
    #[schema(required)]
    last_used_at: Option<i64>,
}

impl From<ApiKeyUse> for KeyView {
    fn from(key: ApiKeyUse) -> Self {
        let record = key.record;
        Self {
            id: record.id,
            label: record.label,
            user_id: record.user_id,
            team_id: record.team_id,
            roles: record.roles,
            scope: record.scope,
            created_at: record.created_at,
            created_by: record.created_by,
            expires_at: record.expires_at,
            last_used_at: key.last_used_at,
        }
    }
}

/// A key that was made.
#[derive(Serialize, ToSchema)]
struct NewKey {
    /// The key, which is shown this once.
    key: String,
    #[serde(flatten)]
    view: KeyView,
}

/// Whom a key is to stand for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewKeyBody {
    /// What it is for.
    label: Option<Text>,
    /// The person it acts for.
    user_id: Option<Id>,
    /// Their team.
    team_id: Option<Id>,
    /// Its roles.
    #[serde(default)]
    #[schema(required = false)]
    roles: Vec<String>,
    /// Its scopes, separated by spaces, of those that its roles grant; without it all.
    scope: Option<Text>,
    /// When it ends.
    expires_at: Option<Time>,
}

impl BodyFields for NewKeyBody {
    fn check(&self) -> Result<()> {
        if self.user_id.is_none() && self.roles.is_empty() {
            let message = "user_id is missing: a key acts for a user, or has a role";
            return Err(Error::invalid("user_id", message));
        }
        let is_name = |text: &String| !text.is_empty() && !text.contains([' ', ',']);
        if let Some(wrong) = self.roles.iter().find(|name| !is_name(name)) {
            let message = format!("roles has \"{wrong}\", which is no name of a role");
            return Err(Error::invalid("roles", message));
        }
        let is_over = |end: &Time| end.0 <= Clock::default().now();
        match self.expires_at.as_ref().is_some_and(is_over) {
            true => Err(Error::invalid("expires_at", "expires_at is over already")),
            false => Ok(()),
        }
    }
}

/// Whether a key is among those that a caller sees.
fn is_visible(key: &ApiKeyRecord, who: &Authorized) -> bool {
    let limits = &who.constraints;
    let is_own = key.user_id.is_some() && key.user_id == who.user_id;
    let is_team = key.team_id.is_some() && key.team_id == who.team_id;
    key.tenant_id == who.tenant_id
        && (limits.is_none() || is_own || (is_team && limits.team_only && !limits.owner_only))
}

/// The keys of the caller's tenant.
#[utoipa::path(get, path = "/keys", tag = "access", responses((status = 200, body = KeyList)))]
async fn list_keys(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
) -> Result<Json<KeyList>, HttpError> {
    let keys = server.auth.api_keys().list_uses().await?.into_iter();
    let keys = keys.filter(|key| is_visible(&key.record, &who));
    Ok(Json(KeyList {
        items: keys.map(KeyView::from).collect(),
    }))
}

/// Makes a key in the caller's tenant, which can do no more than the caller. The key is shown this once.
#[utoipa::path(post, path = "/keys", tag = "access", request_body = NewKeyBody,
    responses((status = 201, body = NewKey), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn make_key(
    ApiCaller { server, who }: ApiCaller,
    access: CallerAccess,
    Extension(operations): Extension<Operations>,
    _: NoQuery,
    body: JsonBody<NewKeyBody>,
) -> Result<(StatusCode, Json<NewKey>), HttpError> {
    let wanted = body.value;
    let record = ApiKeyRecord {
        label: wanted.label.map(|text| text.0),
        user_id: wanted.user_id.map(|id| id.0),
        team_id: wanted.team_id.map(|id| id.0),
        tenant_id: who.tenant_id.clone(),
        roles: wanted.roles,
        scope: wanted.scope.map(|text| text.0),
        created_by: who.user_id.clone(),
        expires_at: wanted.expires_at.map(|end| end.0),
        ..ApiKeyRecord::default()
    };
    check_rights(&server, &access, &operations, &record)?;
    check_end(&access, &record)?;
    let (key, record) = server.auth.api_keys().make_recorded(record).await?;
    let view = KeyView::from(ApiKeyUse {
        record,
        last_used_at: None,
    });
    Ok((StatusCode::CREATED, Json(NewKey { key, view })))
}

/// Refuses a key that could do what the caller cannot.
fn check_rights(
    server: &SharedState,
    access: &CallerAccess,
    operations: &Operations,
    record: &ApiKeyRecord,
) -> Result<()> {
    let denied = |message: String| Err(Error::new(ErrorCode::PermissionDenied, message));
    if access.is_assumed() {
        let message = "nobody makes keys as somebody else: they would go on when that has ended";
        return denied(message.to_owned());
    }
    let config = server.auth.config();
    let routes = operations.iter();
    let routes = routes.map(|operation| (operation.method.as_str(), operation.path.clone()));
    for (method, path) in routes.chain(config.rules.samples()) {
        if !access.covers(record.clone().caller(), method, &path) {
            return denied(format!(
                "the key could do more than its maker: {method} {path}; give it other roles, or a scope that leaves this out"
            ));
        }
    }
    Ok(())
}

/// Refuses a key that would outlast the one that the caller calls with, or has logged in with.
fn check_end(access: &CallerAccess, record: &ApiKeyRecord) -> Result<()> {
    let Some(end) = access.key_ends_at else {
        return Ok(());
    };
    if record.expires_at.is_some_and(|wanted| wanted <= end) {
        return Ok(());
    }
    let message = format!(
        "the key would outlast its maker's, which ends at {end}; give it an expires_at that is no later"
    );
    Err(Error::new(ErrorCode::PermissionDenied, message).with_param("expires_at"))
}

/// Ends a key of the caller's tenant at once, and the sessions that were begun with it.
#[utoipa::path(delete, path = "/keys/{id}", tag = "access", params(("id" = Id, Path)),
    responses((status = 204, description = "It has ended"), (status = 404, body = ErrorBody)))]
async fn remove_key(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<StatusCode, HttpError> {
    let keys = server.auth.api_keys();
    let mut known = keys.list().await?.into_iter();
    let is_seen = known.any(|key| key.id == id.0 && is_visible(&key, &who));
    match is_seen && keys.remove(&id.0).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Error::not_found("key", &id.0).into()),
    }
}
