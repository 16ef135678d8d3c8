//! The access rules of the app, and why something is granted.

use super::input::{BodyFields, JsonBody, NoQuery, Text};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, SharedState, has_route};
use crate::auth::RequestCaller;
use crate::auth::access::{
    AccessDecision, AskedCaller, RulesView, explain, read_caller, read_target, unknown_caller,
};
use ambit_runtime::{Authorized, Result};
use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![show_rules, explain_request]
}

/// The rules that are in force.
#[utoipa::path(get, path = "/access/rules", tag = "access", responses((status = 200, body = RulesView)))]
async fn show_rules(
    ApiCaller { server, .. }: ApiCaller,
    _: NoQuery,
) -> Result<Json<RulesView>, HttpError> {
    Ok(Json(server.auth.config().rules.view()))
}

/// A request by somebody.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AccessQuestion {
    /// The id of a key, roles with commas between them, or the caller as JSON with `roles` and `scope`.
    who: Text,
    /// A method and a path, `GET /chat/sessions`.
    what: Text,
}

impl BodyFields for AccessQuestion {}

/// What the rules say of a request.
#[derive(Serialize, ToSchema)]
struct AccessExplanation {
    /// Whether it is granted.
    granted: bool,
    /// The answer, and behind it its reasons.
    lines: Vec<String>,
}

/// Why a request by somebody is granted or denied: what `ambit access explain` says.
#[utoipa::path(post, path = "/access/explain", tag = "access", request_body = AccessQuestion,
    responses((status = 200, body = AccessExplanation), (status = 400, body = ErrorBody)))]
async fn explain_request(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
    body: JsonBody<AccessQuestion>,
) -> Result<Json<AccessExplanation>, HttpError> {
    let config = server.auth.config();
    let target = read_target(&config, &body.value.what.0)?;
    let asked = asked_caller(&server, &who, &body.value.who.0).await?;
    let asked = config.with_role(asked);
    let mut lines = Vec::new();
    if !has_route(&target) {
        lines.push(format!("{target} is no route of this server"));
    }
    lines.extend(explain(&config.rules, &target, &asked));
    let decision = config.rules.decide(Some(&target), Some(&asked));
    let granted = matches!(
        decision,
        AccessDecision::Public | AccessDecision::Granted(_)
    );
    Ok(Json(AccessExplanation { granted, lines }))
}

/// Who is meant; keys are those of the caller's tenant.
async fn asked_caller(server: &SharedState, who: &Authorized, text: &str) -> Result<RequestCaller> {
    let config = server.auth.config();
    let id = match read_caller(&config.rules, text)? {
        AskedCaller::Described(caller) => return Ok(*caller),
        AskedCaller::KeyHolder(id) => id,
    };
    let mut keys = server.auth.api_keys().list().await?.into_iter();
    let found = keys.find(|key| key.id == id && key.tenant_id == who.tenant_id);
    let found = found.ok_or_else(|| unknown_caller(&config.rules, text))?;
    Ok(found.caller())
}
