//! What everything that a request does shares: who asks, what they may do over the other routes, and which version of the app
//! answers.

use crate::auth::CallerAccess;
use crate::http::SharedState;
use crate::http::chat::RequestParameters;
use ambit_runtime::app::{App, AppMcpServer};
use ambit_runtime::{Authorized, Result};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Map;
use std::sync::Arc;

/// What a request does its work with.
pub struct McpContext {
    /// The server.
    pub server: SharedState,
    /// What the caller may do.
    pub access: CallerAccess,
    /// What the request says beside its body.
    pub given: RequestParameters,
    /// The app.
    pub app: Arc<App>,
}

impl McpContext {
    /// What the app says of its tool server.
    pub fn settings(&self) -> &AppMcpServer {
        &self.app.settings.mcp_server
    }

    /// Whether tools of this kind are offered.
    pub fn offers(&self, kind: &str) -> bool {
        self.settings().tools.iter().any(|offered| offered == kind)
    }

    /// The caller of another route, with the limits that it has there; none where they may not call it.
    pub fn caller_of(&self, method: &str, path: &str) -> Option<Authorized> {
        self.access.authorize(method, path).ok()
    }

    /// The caller's language.
    pub fn locale(&self) -> Result<String> {
        self.given.locale(None, None, &Map::new())
    }
}

/// A text as one part of a path.
pub fn path_part(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
