//! `http`: the streamable HTTP of the protocol.

use super::message_buffer::LONGEST;
use super::{ConnectFailure, ConnectOptions, ConnectResult, TransportEntry, greet};
use futures::FutureExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use rmcp::ClientLifecycleMode;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

/// Calls under way over one connection, which all users may share; further ones wait.
const CALLS: usize = 1_024;

pub const ROW: TransportEntry = TransportEntry {
    name: "http",
    is_old: false,
    open: |opening, mode| open(opening, mode).boxed(),
};

async fn open(opening: &ConnectOptions, mode: ClientLifecycleMode) -> ConnectResult {
    let headers = headers(opening)?;
    let config = StreamableHttpClientTransportConfig::with_uri(opening.text("url"))
        .custom_headers(
            headers
                .into_iter()
                .filter_map(|(name, value)| Some((name?, value)))
                .collect(),
        )
        .max_concurrent_requests(CALLS)
        .max_sse_event_size(LONGEST);
    let transport = StreamableHttpClientTransport::with_client(opening.http.clone(), config);
    greet(opening, transport, mode).await
}

/// The headers of every request: those of the file, and its token.
pub fn headers(opening: &ConnectOptions) -> Result<HeaderMap, ConnectFailure> {
    let mut headers = HeaderMap::new();
    let token = opening.text("authorization_token");
    let token = match token.contains(' ') || token.is_empty() {
        true => token.to_owned(),
        false => format!("Bearer {token}"),
    };
    let token =
        Some((AUTHORIZATION.as_str(), token.as_str())).filter(|(_, token)| !token.is_empty());
    for (name, value) in token.into_iter().chain(opening.pairs("headers")) {
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
