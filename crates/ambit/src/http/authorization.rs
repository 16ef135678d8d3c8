//! Who may call a row of routes. What is not granted is denied.

use super::{
    ClientConnection, HttpError, SharedState, anthropic, mcp, oauth_metadata, rate_limits,
};
use crate::auth::{AuthRequest, CallerAccess, unauthenticated};
use ambit_runtime::{Authorized, Error, ErrorCode};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Who may call the routes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Everybody, without credentials, whatever the app's rules say.
    Anybody,
    /// Whom the app's rules grant it.
    Ruled,
    /// The same, or everybody where the settings say so.
    Measures,
    /// Whom the app's rules grant it, where the app has a tool server; who is refused is told where tokens are had.
    McpServer,
    /// Every caller, whatever the app's rules say; the route that logs in judges that by itself.
    Session,
}

/// Who calls as the program around the server says, before anything was granted.
#[derive(Clone)]
struct KnownCaller(Authorized);

/// The caller of a route that is not for anybody, and the server that is called.
pub struct ApiCaller {
    /// The server.
    pub server: SharedState,
    /// Who calls.
    pub who: Authorized,
}

impl FromRequestParts<SharedState> for ApiCaller {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &SharedState,
    ) -> Result<Self, HttpError> {
        let who = parts.extensions.get::<Authorized>().cloned();
        Ok(Self {
            who: who.ok_or_else(unauthenticated)?,
            server: server.clone(),
        })
    }
}

impl FromRequestParts<SharedState> for CallerAccess {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &SharedState,
    ) -> Result<Self, HttpError> {
        Ok(match parts.extensions.get::<KnownCaller>() {
            Some(KnownCaller(known)) => {
                let access = server.auth.access_of_known(known.clone(), asked(parts));
                access.await?
            }
            None => server.auth.access(asked(parts)).await?,
        })
    }
}

/// Lets a request through to the routes of a row, or refuses it.
pub async fn check(
    State((server, right)): State<(SharedState, RouteAccess)>,
    request: Request,
    next: Next,
) -> Response {
    let is_open = match right {
        RouteAccess::Anybody => true,
        RouteAccess::Measures => server.settings.has_public_metrics,
        RouteAccess::Session => request.method() == Method::POST,
        RouteAccess::Ruled | RouteAccess::McpServer => false,
    };
    if is_open {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let method = parts.method.clone();
    anthropic::take_key(&mut parts);
    if right == RouteAccess::McpServer
        && let Err(error) = mcp::check_source(&server, &parts)
    {
        return HttpError::from(error).into_response();
    }
    let admitted = match right {
        RouteAccess::Session => admit_caller(&server, &parts).await,
        _ => admit(&server, &parts).await,
    };
    if let Some(known) = parts.extensions.remove::<Authorized>() {
        parts.extensions.insert(KnownCaller(known));
    }
    let who = match admitted {
        Ok(who) => {
            note_caller(&who);
            let counted = rate_limits::count_request(&server, &who).await;
            let counted = counted.and_then(|()| rate_limits::check_answers(&server, &who, &method));
            if let Err(error) = counted {
                return HttpError::from(error).into_response();
            }
            parts.extensions.insert(who.clone());
            who
        }
        Err(error) => {
            let error = with_read_header(error, &parts);
            return match right {
                RouteAccess::McpServer => oauth_metadata::refuse(&server, &parts, error),
                _ => HttpError::from(error).into_response(),
            };
        }
    };
    let answer = next.run(Request::from_parts(parts, body)).await;
    let held = rate_limits::hold_answer(&server, &who, &method, answer);
    held.unwrap_or_else(|error| HttpError::from(error).into_response())
}

/// Names the header that is read, to who has put a key into that of Anthropic's clients.
fn with_read_header(error: Error, request: &Parts) -> Error {
    let headers = &request.headers;
    let is_elsewhere = headers.contains_key("x-api-key") && !headers.contains_key(AUTHORIZATION);
    match error.code == ErrorCode::Unauthenticated && is_elsewhere {
        true => Error {
            message: "no valid credentials: x-api-key is read on the routes of Anthropic's Messages alone; send the key as Authorization: Bearer"
                .to_owned(),
            ..error
        },
        false => error,
    }
}

/// Has the log say who calls, and who acts as the caller.
fn note_caller(who: &Authorized) {
    let span = tracing::Span::current();
    span.record("user.id", who.user_id.as_deref());
    if let Some(actor) = who.acted_by() {
        span.record("acted_by.user_id", actor.user_id);
        span.record("acted_by.client_id", actor.client_id);
    }
}

async fn admit(server: &SharedState, request: &Parts) -> Result<Authorized, Error> {
    server.auth.check_site(&request.headers)?;
    // Nothing but a layer of the program around the server can have said so.
    match request.extensions.get::<Authorized>() {
        Some(known) => {
            let admitted = server.auth.authorize_known(known.clone(), asked(request));
            admitted.await
        }
        None => server.auth.authorize(asked(request)).await,
    }
}

/// Whoever calls, whatever they may do; who is nobody is told how to log in.
async fn admit_caller(server: &SharedState, request: &Parts) -> Result<Authorized, Error> {
    server.auth.check_site(&request.headers)?;
    let access = match request.extensions.get::<Authorized>() {
        Some(known) => {
            let access = server.auth.access_of_known(known.clone(), asked(request));
            access.await
        }
        None => server.auth.access(asked(request)).await,
    };
    access.and_then(|access| access.known()).map_err(|error| {
        let ways = serde_json::to_value(server.auth.login_ways()).unwrap_or_default();
        let is_unknown = error.code == ErrorCode::Unauthenticated;
        Error {
            details: is_unknown.then(|| Box::new(ways)).or(error.details),
            ..error
        }
    })
}

/// A request as the rules judge it.
pub(super) fn asked(request: &Parts) -> AuthRequest<'_> {
    let peer = request.extensions.get::<ConnectInfo<ClientConnection>>();
    AuthRequest {
        method: request.method.as_str(),
        // Within routes below the base path, the path is what follows it.
        path: request.uri.path(),
        headers: &request.headers,
        peer: peer.map(|ConnectInfo(peer)| peer.address.ip()),
        is_tls: peer.is_some_and(|ConnectInfo(peer)| peer.is_tls),
    }
}
