//! `http`: the streamable HTTP of the protocol.

use super::message_buffer::LONGEST;
use super::{ConnectFailure, ConnectResult, ConnectionTarget, TransportEntry, greet};
use crate::app::{ConnectionSettings, TransportKind};
use crate::mcp::notifications::McpNotifications;
use futures::FutureExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use rmcp::ClientLifecycleMode;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::sync::Arc;

/// Calls under way over one connection, which all users may share; further ones wait.
const CALLS: usize = 1_024;

pub const ROW: TransportEntry = TransportEntry {
    kind: TransportKind::Http,
    is_old: false,
    open: |target, notifications, mode| open(target, notifications, mode).boxed(),
};

async fn open(
    target: &ConnectionTarget,
    notifications: Arc<McpNotifications>,
    mode: ClientLifecycleMode,
) -> ConnectResult {
    let headers = headers(&target.settings)?;
    let config = StreamableHttpClientTransportConfig::with_uri(target.settings.url.as_str())
        .custom_headers(
            headers
                .into_iter()
                .filter_map(|(name, value)| Some((name?, value)))
                .collect(),
        )
        .max_concurrent_requests(CALLS)
        .max_sse_event_size(LONGEST);
    let http = target.environment.http.clone();
    let transport = StreamableHttpClientTransport::with_client(http, config);
    greet(&notifications, transport, mode).await
}

/// The headers of every request: those of the file, and its token.
pub fn headers(settings: &ConnectionSettings) -> Result<HeaderMap, ConnectFailure> {
    let mut headers = HeaderMap::new();
    let token = match settings.authorization_token.as_str() {
        "" => None,
        token if token.contains(' ') => Some(token.to_owned()),
        token => Some(format!("Bearer {token}")),
    };
    let token = token.iter().map(|token| (AUTHORIZATION.as_str(), token));
    let given = settings.headers.iter();
    for (name, value) in token.chain(given.map(|(name, value)| (name.as_str(), value))) {
        let refused = |_| ConnectFailure::new(format!("its header \"{name}\" cannot be sent"));
        let wrong = |_| {
            ConnectFailure::new(format!(
                "its header \"{name}\" has a value that no header may have"
            ))
        };
        let name = HeaderName::try_from(name).map_err(refused)?;
        let mut value = HeaderValue::try_from(value).map_err(wrong)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
