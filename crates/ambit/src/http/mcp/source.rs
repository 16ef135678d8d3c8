//! Whether a request comes from where it may: a page of another site, or a name that was made to lead to this machine, is
//! refused before anything is done.

use crate::auth::is_local;
use crate::http::{ClientConnection, SharedState};
use ambit_runtime::{Error, ErrorCode, Result};
use axum::extract::ConnectInfo;
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;

/// Refuses a request to a tool server that the app does not have, and one from elsewhere than it may come.
pub fn check_source(server: &SharedState, request: &Parts) -> Result<()> {
    let app = server.runtime.app();
    let settings = &app.settings.mcp_server;
    if !settings.enabled {
        let message = "the app is no tool server; ambit.mcp_server.enabled of app.yao makes it one";
        return Err(Error::new(ErrorCode::NotFound, message));
    }
    let public = app.settings.public_url.as_deref().map(authority);
    let host = text(&request.headers, HOST.as_str())?;
    let peer = request.extensions.get::<ConnectInfo<ClientConnection>>();
    let is_local_only = peer.is_some_and(|ConnectInfo(peer)| peer.is_local_only);
    let is_own = |name: &str| public.is_some_and(|public| public.eq_ignore_ascii_case(name));
    if let Some(host) = host.filter(|host| is_local_only && !is_local(host) && !is_own(host)) {
        return Err(foreign(format!(
            "the server is reached from this machine alone, and \"{host}\" is no name of it"
        )));
    }
    let Some(origin) = text(&request.headers, ORIGIN.as_str())? else {
        return Ok(());
    };
    let name = authority(origin);
    // A name that leads here for a page alone (DNS rebinding) is in both headers: only those are the server's own that nobody else
    // can have, and the public one.
    let is_same = |host: &str| is_local(host) && host.eq_ignore_ascii_case(name);
    let is_same = host.is_some_and(is_same) || is_own(name);
    let is_allowed = settings
        .origins
        .iter()
        .any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin));
    match is_same || is_allowed {
        true => Ok(()),
        false => Err(foreign(format!(
            "pages of \"{origin}\" may not call this server; ambit.mcp_server.origins of app.yao says which may"
        ))),
    }
}

/// What follows the scheme, up to the path.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>> {
    let value = headers.get(name).map(|value| value.to_str());
    value
        .transpose()
        .map_err(|_| foreign(format!("the header {name} is no text")))
}

fn foreign(message: String) -> Error {
    Error::new(ErrorCode::PermissionDenied, message)
}
