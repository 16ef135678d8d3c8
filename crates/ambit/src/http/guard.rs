//! Who may call a row of routes. What is not granted is denied.

use super::{Failure, Peer, Shared};
use crate::auth::Caller;
use ambit_runtime::access::Constraints;
use ambit_runtime::{Authorized, Code, Error};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// Who may call the routes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Everybody, without credentials.
    Anybody,
    /// Callers with the role `user`, for their own data; admins for all of their tenant.
    User,
    /// Callers with the role `admin`.
    Admin,
    /// The same, or everybody where the settings say so.
    Operator,
}

/// The caller of a route that is not for anybody.
pub struct Who(pub Authorized);

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let who = parts.extensions.get::<Authorized>().cloned();
        who.map(Self).ok_or_else(|| unauthenticated().into())
    }
}

/// Lets a request through to the routes of a row, or refuses it.
pub async fn check(
    State((server, right)): State<(Shared, Right)>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_open = match right {
        Right::Anybody => true,
        Right::Operator => server.settings.has_public_metrics,
        Right::User | Right::Admin => false,
    };
    if !is_open {
        let peer = request.extensions().get::<ConnectInfo<Peer>>();
        let peer = peer.map(|ConnectInfo(peer)| peer.address.ip());
        let found = server.auth.authenticate(request.headers(), peer).await;
        let found = match server.auth.is_development() {
            true => found.and_then(|found| check_origin(request.headers()).map(|()| found)),
            false => found,
        };
        match found.and_then(|found| grant(found, right)) {
            Ok(who) => request.extensions_mut().insert(who),
            Err(error) => return Failure::from(error).into_response(),
        };
    }
    next.run(request).await
}

/// Keeps pages of other sites, which a developer's browser may be looking at, away from a server that takes everybody for
/// its developer.
fn check_origin(headers: &HeaderMap) -> Result<(), Error> {
    for name in [HOST, ORIGIN] {
        let Some(value) = headers.get(&name) else {
            continue;
        };
        if !value.to_str().is_ok_and(is_local) {
            let message = format!(
                "in development mode requests come from this machine alone; their {name} is another"
            );
            return Err(Error::new(Code::PermissionDenied, message));
        }
    }
    Ok(())
}

/// `localhost:8080`, `http://127.0.0.1:8080`, `[::1]` and the like.
fn is_local(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let address = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback = address
        .parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback());
    is_loopback || address.eq_ignore_ascii_case("localhost")
}

/// What the caller may reach by a route with this right.
fn grant(found: Option<Caller>, right: Right) -> Result<Authorized, Error> {
    let who = found.ok_or_else(unauthenticated)?;
    let is_admin = who.roles.iter().any(|role| role == "admin");
    let is_user = who.roles.iter().any(|role| role == "user");
    let is_granted = match right {
        Right::Anybody => true,
        Right::User => is_user || is_admin || who.is_development,
        Right::Admin | Right::Operator => is_admin || who.is_development,
    };
    if !is_granted {
        let message = "this route is not granted to any of the caller's roles";
        return Err(Error::new(Code::PermissionDenied, message));
    }
    let mut authorized = who.authorized;
    authorized.constraints = match is_admin {
        true => Constraints::default(),
        false => constraints(&authorized),
    };
    Ok(authorized)
}

/// What a caller may reach where nothing else is said: their team's data, or their own.
fn constraints(who: &Authorized) -> Constraints {
    let is_member = who.team_id.is_some();
    Constraints {
        team_only: is_member,
        owner_only: !is_member,
        ..Constraints::default()
    }
}

fn unauthenticated() -> Error {
    let message = "no valid credentials; send Authorization: Bearer with a token or an API key";
    Error::new(Code::Unauthenticated, message)
}
