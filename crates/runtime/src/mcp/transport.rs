//! How servers are reached. Adding a way is one file and one row.

mod http;
mod message;
mod message_buffer;
mod server_process;
mod sse;
mod stdio;
mod stdio_transport;

use tokio_util::task::TaskTracker;

use super::notifications::McpNotifications;
use super::session::McpClient;
use crate::llm::Secrets;
use futures::future::BoxFuture;
use rmcp::model::ProtocolVersion;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::worker::WorkerQuitReason;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A way to reach a server.
pub struct TransportEntry {
    /// Its name in files.
    pub name: &'static str,
    /// Whether its servers are too old for anything but `initialize`.
    pub is_old: bool,
    /// Opens a connection.
    pub open: for<'a> fn(&'a ConnectOptions, ClientLifecycleMode) -> BoxFuture<'a, ConnectResult>,
}

/// A connection, or why there is none.
pub type ConnectResult = Result<McpClient, ConnectFailure>;

/// All ways.
pub const TRANSPORTS: &[TransportEntry] = &[stdio::ROW, http::ROW, sse::ROW];

/// What a connection is made of.
pub struct ConnectOptions {
    /// The server's settings for one caller.
    pub fields: Map<String, Value>,
    /// The app's folder.
    pub root: PathBuf,
    /// `PATH` of processes.
    pub path: Option<String>,
    /// Sends requests. It follows nobody anywhere: only the host that the server's file names is reached.
    pub http: reqwest::Client,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Counts the processes that are started.
    pub processes: TaskTracker,
    /// What hears the server.
    pub notifications: Arc<McpNotifications>,
    /// What must not be told.
    pub secrets: Arc<Secrets>,
}

/// Why there is no connection.
#[derive(Debug)]
pub struct ConnectFailure {
    /// In words.
    pub message: String,
    /// An older server may have failed so on a word that it does not know.
    pub may_be_old: bool,
}

impl ConnectFailure {
    /// A failure that another version of the protocol would not mend.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            may_be_old: false,
        }
    }
}

impl ConnectOptions {
    /// A text of the settings.
    pub fn text(&self, name: &str) -> &str {
        let text = self.fields.get(name).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    /// The texts of a field that holds an object.
    pub fn pairs(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.fields.get(name).and_then(Value::as_object);
        let pairs = fields.into_iter().flatten();
        pairs.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }
}

/// Opens a connection, with the newest version of the protocol that the server knows.
pub async fn open(transport: &TransportEntry, mut opening: ConnectOptions) -> ConnectResult {
    if transport.is_old {
        return (transport.open)(&opening, ClientLifecycleMode::Initialize).await;
    }
    let newest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    match (transport.open)(&opening, newest).await {
        Err(failure) if failure.may_be_old => {
            opening.notifications =
                McpNotifications::new(opening.notifications.name(), opening.secrets.clone());
            (transport.open)(&opening, ClientLifecycleMode::Initialize).await
        }
        opened => opened,
    }
}

/// Speaks over an open connection for the first time.
async fn greet<T>(
    opening: &ConnectOptions,
    transport: T,
    mode: ClientLifecycleMode,
) -> ConnectResult
where
    T: rmcp::transport::Transport<RoleClient> + 'static,
{
    let greeted = opening
        .notifications
        .clone()
        .serve_with_lifecycle(transport, mode);
    greeted.await.map_err(|error| ConnectFailure {
        may_be_old: may_be_old(&error),
        message: match opening.notifications.end() {
            Some(end) => end,
            None => words(&error),
        },
    })
}

/// Whether a server that knows no `server/discover` may have failed like this.
fn may_be_old(error: &ClientInitializeError) -> bool {
    !error.is_authorization_required()
        && matches!(
            error,
            ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. }
                | ClientInitializeError::ExpectedInitResult(_)
                | ClientInitializeError::UncorrelatedErrorResponse { .. }
        )
}

fn words(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "it refuses the credentials; check authorization_token and headers".to_owned();
    }
    match error {
        ClientInitializeError::TransportError { error, .. } => innermost(error.error.as_ref()),
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::ConnectionClosed(_) => "the connection was closed".to_owned(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => words(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it knows no version of the protocol that is known here".to_owned()
        }
        other => format!("it does not speak the protocol: {other}"),
    }
}

/// What an error says at its root, where it says most.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut found = error;
    loop {
        if let Some(error) = of_http(found) {
            return http_words(error);
        }
        match found.source() {
            Some(source) => found = source,
            None => return found.to_string(),
        }
    }
}

/// The error of HTTP that an error is, or wraps without saying so.
pub fn of_http<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a reqwest::Error> {
    type Streamable = StreamableHttpError<reqwest::Error>;
    let streamable = match error.downcast_ref::<WorkerQuitReason<Streamable>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => Some(error),
        _ => error.downcast_ref::<Streamable>(),
    };
    match streamable {
        Some(StreamableHttpError::Client(error)) => Some(error),
        _ => error.downcast_ref::<reqwest::Error>(),
    }
}

/// What is at the bottom of an error. It is of the system and names no address.
fn root(error: &(dyn Error + 'static)) -> String {
    let mut found = error;
    while let Some(source) = found.source() {
        found = source;
    }
    found.to_string()
}

/// Errors of HTTP name the whole address, which may hold a key.
fn http_words(error: &reqwest::Error) -> String {
    if let Some(status) = error.status() {
        format!("it answers with status {status}")
    } else if error.is_connect() {
        format!("it cannot be reached: {}", root(error))
    } else {
        "the connection to it broke".to_owned()
    }
}
