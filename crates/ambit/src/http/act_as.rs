//! Acting as somebody else.

use super::input::{BodyFields, Id, JsonBody, NoQuery};
use super::operations::Operations;
use super::routes::{Routes, routes};
use super::{ErrorBody, HttpError, SharedState};
use crate::auth::{CallerAccess, WantedCaller};
use ambit_runtime::DataConstraints;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![act_as]
}

/// Whom the caller acts as.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WantedCallerBody {
    /// The person.
    user_id: Option<Id>,
    /// The team they act in.
    team_id: Option<Id>,
    /// The tenant, which is the caller's own; in development mode any.
    tenant_id: Option<Id>,
    /// Their roles; in development mode all is granted without any.
    roles: Option<Vec<String>>,
    /// What their credentials are for.
    scope: Option<String>,
    /// Claims besides.
    #[serde(default)]
    #[schema(required = false)]
    claims: Map<String, Value>,
    /// The limits of their data, in development mode alone; an empty object limits nothing.
    constraints: Option<DataConstraints>,
}

impl BodyFields for WantedCallerBody {}

/// The caller acts as somebody else now.
#[derive(Serialize, ToSchema)]
struct AssumedCallerToken {
    /// The value of the header `X-Ambit-Act-As`.
    token: String,
    /// When that ends, in milliseconds since 1970.
    #[schema(required)]
    expires_at: Option<i64>,
    /// The operations that are granted to both.
    grants: Vec<String>,
}

/// Lets the caller act as somebody else for an hour, with each request that has the token in the header `X-Ambit-Act-As`. What is not
/// granted to both is refused, and turns say in `acted_by` who acts.
#[utoipa::path(post, path = "/session/act-as", tag = "session", request_body = WantedCallerBody,
    responses((status = 201, body = AssumedCallerToken), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn act_as(
    State(server): State<SharedState>,
    access: CallerAccess,
    Extension(operations): Extension<Operations>,
    _: NoQuery,
    body: JsonBody<WantedCallerBody>,
) -> Result<(StatusCode, Json<AssumedCallerToken>), HttpError> {
    let wanted = body.value;
    let wanted = WantedCaller {
        user_id: wanted.user_id.map(|id| id.0),
        team_id: wanted.team_id.map(|id| id.0),
        tenant_id: wanted.tenant_id.map(|id| id.0),
        roles: wanted.roles,
        scope: wanted.scope,
        claims: wanted.claims,
        constraints: wanted.constraints,
    };
    let (token, access) = server.auth.act_as(access, wanted).await?;
    let answer = AssumedCallerToken {
        token,
        expires_at: access.expires_at,
        grants: operations.granted(&server, &access),
    };
    Ok((StatusCode::CREATED, Json(answer)))
}
