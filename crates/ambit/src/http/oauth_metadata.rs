//! The server as a resource that OAuth protects (RFC 9728): where tokens for its tool server are had.

use super::input::{Id, NoQuery, PathId};
use super::routes::{Routes, routes};
use super::{ErrorBody, HttpError, ServerState, SharedState};
use crate::auth::{ResourceAuthority, is_local};
use ambit_runtime::{Error, ErrorCode, Result};
use axum::Json;
use axum::extract::State;
use axum::http::header::{HOST, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Where the document is.
const PATH: &str = "/.well-known/oauth-protected-resource";
/// The scope that callers are told of, where the rules have it.
const SCOPE: &str = "mcp:use:own";
/// The route that is protected, below the base path.
const ROUTE: (&str, &str) = ("POST", "/mcp");

/// The routes.
pub fn routes() -> Routes {
    routes![show_resource, show_resource_of_route]
}

/// A resource that OAuth protects.
#[derive(Serialize, ToSchema)]
struct ProtectedResource {
    /// Its address.
    resource: String,
    /// Who issues tokens for it.
    authorization_servers: Vec<String>,
    /// `header`.
    bearer_methods_supported: [&'static str; 1],
    /// The scopes of which a token needs one.
    scopes_supported: Vec<String>,
}

/// Where tokens for `POST /v1/mcp` are had.
#[utoipa::path(get, path = "/.well-known/oauth-protected-resource", tag = "operation", security(()),
    responses((status = 200, description = "The protected resource", body = ProtectedResource), (status = 404, body = ErrorBody)))]
async fn show_resource(
    State(server): State<SharedState>,
    headers: HeaderMap,
    _: NoQuery,
) -> Result<Json<ProtectedResource>, HttpError> {
    let authority = authority(&server).ok_or_else(unprotected)?;
    let address = address(&server, &headers)?;
    Ok(Json(ProtectedResource {
        resource: format!("{address}{}{}", server.settings.base, ROUTE.1),
        authorization_servers: authority.issuers,
        bearer_methods_supported: ["header"],
        scopes_supported: authority.scopes,
    }))
}

/// The same, where clients look for it who know the route.
#[utoipa::path(get, path = "/.well-known/oauth-protected-resource/{base}/mcp", tag = "operation", security(()), params(("base" = Id, Path)),
    responses((status = 200, description = "The protected resource", body = ProtectedResource), (status = 404, body = ErrorBody)))]
async fn show_resource_of_route(
    State(server): State<SharedState>,
    PathId(base): PathId,
    headers: HeaderMap,
    query: NoQuery,
) -> Result<Json<ProtectedResource>, HttpError> {
    match format!("/{}", base.0) == server.settings.base {
        true => show_resource(State(server), headers, query).await,
        false => Err(unprotected().into()),
    }
}

fn unprotected() -> Error {
    let message =
        "nobody issues tokens for what is here: the app has no tool server, or names no issuers";
    Error::new(ErrorCode::NotFound, message)
}

/// The answer to a request that is not granted: it says where a token is had that would be.
pub fn refuse(server: &ServerState, request: &Parts, error: Error) -> Response {
    let challenge = challenge(server, &request.headers, &error);
    let mut response = HttpError::from(error).into_response();
    if let Some(challenge) = challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

fn challenge(server: &ServerState, headers: &HeaderMap, error: &Error) -> Option<HeaderValue> {
    let authority = authority(server)?;
    let failure = match error.code {
        ErrorCode::Unauthenticated => "",
        ErrorCode::PermissionDenied => "error=\"insufficient_scope\", ",
        _ => return None,
    };
    let base = &server.settings.base;
    // A base of several parts is in no path of ours.
    let path = match base.matches('/').count() {
        1 => format!("{PATH}{base}{}", ROUTE.1),
        _ => PATH.to_owned(),
    };
    let address = address(server, headers).ok()?;
    let mut scopes = authority.scopes.iter();
    let scope = scopes.find(|scope| *scope == SCOPE);
    let scope = scope.or(authority.scopes.first());
    let scope = scope.map(|scope| format!(", scope=\"{scope}\""));
    let scope = scope.unwrap_or_default();
    let text = format!("Bearer {failure}resource_metadata=\"{address}{path}\"{scope}");
    HeaderValue::from_str(&text).ok()
}

/// Who issues tokens for the tool server, where the app has one.
fn authority(server: &ServerState) -> Option<ResourceAuthority> {
    let is_served = server.runtime.app().settings.mcp_server.enabled;
    let (method, path) = ROUTE;
    let authority = server.auth.resource_authority(method, path);
    authority.filter(|_| is_served)
}

/// The address that clients know the server by: `ambit.public_url`, else the name that this one has used, if it is one.
fn address(server: &ServerState, headers: &HeaderMap) -> Result<String> {
    if let Some(told) = &server.runtime.app().settings.public_url {
        return Ok(told.trim_end_matches('/').to_owned());
    }
    let host = headers.get(HOST);
    let host = host.map(|host| {
        let name = Authority::try_from(host.as_bytes()).ok();
        // What is in front of `@` is a user's name, of which a header Host has none.
        let name = name.filter(|name| !name.as_str().contains('@'));
        let message =
            "the header Host must be the name or address of a server, with or without a port";
        name.ok_or_else(|| Error::invalid("host", message))
    });
    let host = host.transpose()?;
    let host = host.as_ref().map_or("localhost", Authority::as_str);
    let scheme = match is_local(host) {
        true => "http",
        false => "https",
    };
    Ok(format!("{scheme}://{host}"))
}
