//! How servers are reached. Adding a way is one file and one row.

mod http;
mod message;
mod message_buffer;
mod server_process;
mod sse;
mod stdio;
mod stdio_transport;

use super::notifications::McpNotifications;
use super::session::McpClient;
use crate::app::{ConnectionSettings, TransportKind};
use crate::error::ServerFailure;
use crate::llm::Secrets;
use futures::future::BoxFuture;
use rmcp::model::ProtocolVersion;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::worker::WorkerQuitReason;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// A way to reach a server.
pub struct TransportEntry {
    /// Its name in files.
    pub kind: TransportKind,
    /// Whether its servers are too old for anything but `initialize`.
    pub is_old: bool,
    /// Opens a connection.
    pub open: OpenTransport,
}

/// Opens a connection to a server, whose notifications go to the second argument.
pub type OpenTransport = for<'a> fn(
    &'a ConnectionTarget,
    Arc<McpNotifications>,
    ClientLifecycleMode,
) -> BoxFuture<'a, ConnectResult>;

type StreamableError = StreamableHttpError<reqwest::Error>;

/// A connection, or why there is none.
pub type ConnectResult = Result<McpClient, ConnectFailure>;

/// All ways.
pub const TRANSPORTS: &[TransportEntry] = &[stdio::ROW, http::ROW, sse::ROW];

/// What all servers of an app have in common.
pub struct McpEnvironment {
    /// The app's folder.
    pub root: PathBuf,
    /// `PATH` of processes.
    pub path: Option<String>,
    /// Sends requests. It follows nobody anywhere: only the host that the server's file names is reached.
    pub http: reqwest::Client,
    /// Counts the processes that are started.
    pub processes: TaskTracker,
}

/// What a connection leads to.
pub struct ConnectionTarget {
    /// The server's id.
    pub id: String,
    /// How it is reached.
    pub transport: &'static TransportEntry,
    /// Its settings for one caller.
    pub settings: ConnectionSettings,
    /// What it has in common with the other servers.
    pub environment: Arc<McpEnvironment>,
    /// How long opening a connection may take, and each answer.
    pub timeout: Duration,
    /// What must not be told.
    pub secrets: Arc<Secrets>,
}

/// Why there is no connection.
#[derive(Clone, Debug)]
pub struct ConnectFailure {
    /// In words.
    pub message: String,
    /// For clients.
    pub kind: ServerFailure,
    /// An older server may have failed so on a word that it does not know.
    pub may_be_old: bool,
}

impl ConnectFailure {
    /// A failure that another version of the protocol would not mend.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: ServerFailure::CLOSED,
            may_be_old: false,
        }
    }

    /// The server has answered a request of HTTP with this status.
    pub fn with_status(self, status: u16) -> Self {
        let kind = ServerFailure::HttpError { code: status };
        Self { kind, ..self }
    }
}

/// Opens a connection, with the newest version of the protocol that the server knows.
pub async fn open(target: &ConnectionTarget) -> ConnectResult {
    let attempt = |mode| {
        let notifications = McpNotifications::new(&target.id, target.secrets.clone());
        (target.transport.open)(target, notifications, mode)
    };
    if target.transport.is_old {
        return attempt(ClientLifecycleMode::Initialize).await;
    }
    let newest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    match attempt(newest).await {
        Err(failure) if failure.may_be_old => attempt(ClientLifecycleMode::Initialize).await,
        opened => opened,
    }
}

/// Speaks over an open connection for the first time.
async fn greet<T>(
    notifications: &Arc<McpNotifications>,
    transport: T,
    mode: ClientLifecycleMode,
) -> ConnectResult
where
    T: rmcp::transport::Transport<RoleClient> + 'static,
{
    let client = notifications.clone();
    let greeted = client.serve_with_lifecycle(transport, mode).await;
    greeted.map_err(|error| ConnectFailure {
        may_be_old: may_be_old(&error),
        kind: kind(&error),
        message: match notifications.end() {
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

fn kind(error: &ClientInitializeError) -> ServerFailure {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            sending_failure(error.error.as_ref())
        }
        ClientInitializeError::JsonRpcError(error) => {
            ServerFailure::McpProtocolError { code: error.code.0 }
        }
        ClientInitializeError::ConnectionClosed(_) => ServerFailure::CLOSED,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => kind(fallback),
        _ => ServerFailure::UNREADABLE,
    }
}

/// How sending a message, or reading its answer, has failed.
pub fn sending_failure(error: &(dyn Error + 'static)) -> ServerFailure {
    let mut found = Some(error);
    while let Some(error) = found {
        if let Some(error) = of_http(error) {
            return http_failure(error);
        }
        match streamable(error) {
            Some(StreamableHttpError::HttpStatus(answer)) => {
                return ServerFailure::HttpError {
                    code: answer.status,
                };
            }
            Some(StreamableHttpError::AuthRequired(_)) => {
                return ServerFailure::HttpError { code: 401 };
            }
            Some(StreamableHttpError::InsufficientScope(_)) => {
                return ServerFailure::HttpError { code: 403 };
            }
            Some(_) => return ServerFailure::UNREADABLE,
            None => found = error.source(),
        }
    }
    ServerFailure::CLOSED
}

/// How a request of HTTP has failed.
pub fn http_failure(error: &reqwest::Error) -> ServerFailure {
    let code = error.status().map_or(0, |status| status.as_u16());
    ServerFailure::HttpError { code }
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
    match streamable(error) {
        Some(StreamableHttpError::Client(error)) => Some(error),
        _ => error.downcast_ref::<reqwest::Error>(),
    }
}

/// The error of streamable HTTP that an error is, or has ended a connection with.
fn streamable<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a StreamableError> {
    match error.downcast_ref::<WorkerQuitReason<StreamableError>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => Some(error),
        _ => error.downcast_ref::<StreamableError>(),
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
