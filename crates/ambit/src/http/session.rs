//! Who is calling: what the console asks first, and how somebody logs in there.

use super::input::NoQuery;
use super::operations::Operations;
use super::routes::{Routes, routes};
use super::{ErrorBody, HttpError, SharedState, authorization};
use crate::auth::{CallerAccess, CallerSource};
use ambit_runtime::{ActingCaller, Authorized, DataConstraints};
use axum::extract::{Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![show_session, log_in, log_out]
}

/// Who is calling.
#[derive(Serialize, ToSchema)]
struct SessionInfo {
    /// What says who it is.
    #[schema(required)]
    mode: Option<CallerSource>,
    /// The person.
    #[schema(required)]
    user_id: Option<String>,
    /// The team they act in.
    #[schema(required)]
    team_id: Option<String>,
    /// The tenant they live in.
    #[schema(required)]
    tenant_id: Option<String>,
    /// The program, or the API key by its id.
    #[schema(required)]
    client_id: Option<String>,
    /// Their roles.
    roles: Vec<String>,
    /// What their credentials are for.
    #[schema(required)]
    scope: Option<String>,
    /// The limits of the data that they see in `GET /contexts`, or their usual ones where that is not granted.
    constraints: DataConstraints,
    /// Who acts as this caller, if it is somebody else.
    #[schema(required)]
    acted_by: Option<ActingCaller>,
    /// When that ends, in milliseconds since 1970.
    #[schema(required)]
    expires_at: Option<i64>,
    /// The operations that are granted, below the base path: `GET /contexts`.
    grants: Vec<String>,
    /// Where they log out who have no session of this server.
    #[schema(required)]
    logout_url: Option<String>,
    /// The origins that pictures, sounds and films in messages may come from in the console, `ambit.console.images` of the app.
    images: Vec<String>,
}

impl SessionInfo {
    fn of(
        server: &SharedState,
        access: &CallerAccess,
        operations: &Operations,
    ) -> Result<Self, HttpError> {
        let usual = access.known()?;
        let who = access.authorize("GET", "/contexts").unwrap_or(usual);
        let app = server.runtime.app();
        let images = app.settings.console.image_origins();
        let text = |name: &str| Some(who.claims.get(name)?.as_str()?.to_owned());
        Ok(Self {
            mode: access.source,
            client_id: text("client_id"),
            roles: roles(access, &who),
            scope: text("scope"),
            acted_by: who.acted_by(),
            expires_at: access.expires_at,
            grants: operations.granted(server, access),
            logout_url: server.auth.logout_url(),
            images: images.map(str::to_owned).collect(),
            user_id: who.user_id,
            team_id: who.team_id,
            tenant_id: who.tenant_id,
            constraints: who.constraints,
        })
    }
}

/// The roles that count; of the developer those among the claims.
fn roles(access: &CallerAccess, who: &Authorized) -> Vec<String> {
    let named = who.claims.get("roles").and_then(Value::as_array);
    let claims = named.into_iter().flatten().filter_map(Value::as_str);
    match access.source {
        Some(CallerSource::Dev) if !access.is_assumed() => claims.map(str::to_owned).collect(),
        _ => access.roles().to_vec(),
    }
}

/// Who is calling, and what they may do. A failure with the status 401 says in its `details` how somebody can log in: with `keys`, with
/// `tokens`, or at `login_url`.
#[utoipa::path(get, path = "/session", tag = "session", responses((status = 200, body = SessionInfo), (status = 401, body = ErrorBody)))]
async fn show_session(
    State(server): State<SharedState>,
    access: CallerAccess,
    Extension(operations): Extension<Operations>,
    _: NoQuery,
) -> Result<Json<SessionInfo>, HttpError> {
    Ok(Json(SessionInfo::of(&server, &access, &operations)?))
}

/// Logs in with the token or the API key of `Authorization`, for which a cookie stands from then on. It counts only with the header
/// `X-Ambit-Console: 1`, and only from pages of this server. More than ten refused logins of an address, or of a /64 of IPv6, in a minute
/// are answered 429.
#[utoipa::path(post, path = "/session", tag = "session",
    responses((status = 201, body = SessionInfo), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn log_in(
    State(server): State<SharedState>,
    Extension(operations): Extension<Operations>,
    _: NoQuery,
    request: Request,
) -> Result<impl IntoResponse, HttpError> {
    let (parts, _) = request.into_parts();
    let login = server.auth.log_in(authorization::asked(&parts)).await?;
    let info = SessionInfo::of(&server, &login.access, &operations)?;
    let cookie = cookie_header(Some(login.cookie));
    Ok((StatusCode::CREATED, cookie, Json(info)))
}

/// Ends the session that the request's cookie names.
#[utoipa::path(delete, path = "/session", tag = "session", responses((status = 204, description = "It has ended")))]
async fn log_out(
    State(server): State<SharedState>,
    access: CallerAccess,
    _: NoQuery,
    request: Request,
) -> Result<impl IntoResponse, HttpError> {
    let (parts, _) = request.into_parts();
    let ended = match access.source {
        Some(CallerSource::Session) => {
            let ended = server.auth.log_out(authorization::asked(&parts));
            ended.await?
        }
        _ => None,
    };
    Ok((StatusCode::NO_CONTENT, cookie_header(ended)))
}

/// `Set-Cookie`; a cookie of ours holds nothing that a header refuses.
fn cookie_header(cookie: Option<String>) -> HeaderMap {
    let value = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok());
    HeaderMap::from_iter(value.map(|value| (SET_COOKIE, value)))
}
