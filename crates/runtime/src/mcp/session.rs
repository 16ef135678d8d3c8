//! One open connection: what the server offers, asked once until it says that it has changed, and calls.

use super::notifications::{McpNotifications, changes, listen};
use super::progress::call_tool;
use super::request::{McpListKind, McpRequest};
use super::transport::{innermost, of_http, sending_failure};
use crate::error::{Error, ErrorCode, ServerFailure};
use crate::llm::Secrets;
use crate::schema::size;
use crate::tool::{McpLists, ProgressListener};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, MetaObject,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, RequestMetaObject,
    ServerCapabilities,
};
use rmcp::service::RunningService;
use rmcp::{ClientCacheConfig, RoleClient, ServiceError};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Pages of one list.
const PAGES: usize = 1_000;
/// Bytes of one list.
const LIST: usize = 16 << 20;
/// How long a server may take to confirm that it tells of changes.
const CONFIRMED: Duration = Duration::from_secs(2);
/// What is said of a server that asks back.
const INPUT_REQUIRED: &str = "it wants to know more, and nobody is there to tell it";

/// The client of an open connection.
pub type McpClient = RunningService<RoleClient, Arc<McpNotifications>>;

/// An open connection. Dropped, it is closed.
pub struct McpSession {
    running: McpClient,
    notifications: Arc<McpNotifications>,
    lists: [tokio::sync::Mutex<Option<CachedList>>; 3],
    capabilities: ServerCapabilities,
    opened: Instant,
    _listening: JoinSet<()>,
}

/// A list as the server gave it.
struct CachedList {
    lists: Arc<McpLists>,
    /// How often it had changed then.
    change: u64,
    until: Option<Instant>,
}

impl CachedList {
    /// Whether it holds after so many changes.
    fn is_current(&self, change: u64) -> bool {
        self.change == change && self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct McpFailure {
    /// What the caller is told.
    pub error: Error,
    /// The server has seen nothing of the request.
    pub is_unsent: bool,
    /// The connection is of no more use.
    pub is_over: bool,
}

impl McpSession {
    /// Of an open connection.
    pub async fn new(running: McpClient) -> Self {
        let notifications = running.service().clone();
        let off = ClientCacheConfig::disabled();
        running.set_response_cache_config(off).await;
        let info = running.peer_info();
        let capabilities = info.as_ref().map(|info| info.capabilities.clone());
        let capabilities = capabilities.unwrap_or_default();
        let mut listening = JoinSet::new();
        let is_newest = info.is_some_and(|info| !info.protocol_version.has_initialize());
        if let Some(filter) = changes(&capabilities).filter(|_| is_newest) {
            notifications.set_interrupted(true);
            let (confirm, confirmed) = oneshot::channel();
            let peer = running.peer().clone();
            listening.spawn(listen(peer, notifications.clone(), filter, confirm));
            // What is asked before that would have to be asked again.
            let _in_time = tokio::time::timeout(CONFIRMED, confirmed).await;
        }
        Self {
            running,
            notifications,
            lists: Default::default(),
            capabilities,
            opened: Instant::now(),
            _listening: listening,
        }
    }

    /// Whether it can be used, as far as is known.
    pub fn is_open(&self) -> bool {
        !self.running.is_transport_closed() && !self.running.is_closed()
    }

    /// How long it has lasted.
    pub fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Why it cannot be used any more.
    pub fn end(&self) -> String {
        self.notifications
            .end()
            .unwrap_or_else(|| "the connection was closed".to_owned())
    }

    /// Closes it.
    pub fn close(&self) {
        self.running.cancellation_token().cancel();
    }

    /// A list, asked for only if it is not known.
    pub async fn list(&self, what: McpListKind) -> Result<Arc<McpLists>, McpFailure> {
        let mut cached = self.lists[what as usize].lock().await;
        let change = self.notifications.change(what);
        if let Some(list) = &*cached
            && list.is_current(change)
            && !self.notifications.is_interrupted()
        {
            return Ok(list.lists.clone());
        }
        let FetchedList { lists, fresh, .. } = self.fetch(what).await?;
        let lists = Arc::new(lists);
        *cached = Some(CachedList {
            lists: lists.clone(),
            change,
            until: fresh.map(|fresh| Instant::now() + fresh),
        });
        Ok(lists)
    }

    async fn fetch(&self, what: McpListKind) -> Result<FetchedList, McpFailure> {
        let mut list = FetchedList::default();
        let is_offered = match what {
            McpListKind::Tools => self.capabilities.tools.is_some(),
            McpListKind::Resources => self.capabilities.resources.is_some(),
            McpListKind::Prompts => self.capabilities.prompts.is_some(),
        };
        if !is_offered {
            return Ok(list);
        }
        let refused = |why| self.refused(&format!("its list of {} {why}", what.name()));
        let (mut cursor, mut seen) = (None, BTreeSet::new());
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let next = self.page(what, page, &mut list).await?;
            if list.bytes > LIST {
                return Err(refused(format!("is larger than {} MiB", LIST >> 20)));
            }
            let Some(next) = next else {
                return Ok(list);
            };
            if !seen.insert(next.clone()) {
                return Err(refused("begins again".to_owned()));
            }
            cursor = Some(next);
        }
        Err(refused("has no end".to_owned()))
    }

    /// Adds a page to a list; returns where the next one is.
    async fn page(
        &self,
        what: McpListKind,
        page: PaginatedRequestParams,
        list: &mut FetchedList,
    ) -> Result<Option<String>, McpFailure> {
        let page = Some(page);
        let failed = |error| self.failed(error);
        macro_rules! page {
            ($result:expr, $items:ident) => {{
                let result = $result.await.map_err(failed)?;
                for item in &result.$items {
                    let item = plain(item);
                    list.bytes += size(&item);
                    let item = serde_json::from_value(item);
                    let item = item.map_err(|_| failed(ServiceError::UnexpectedResponse))?;
                    list.lists.$items.push(item);
                }
                let fresh = result.ttl_ms.map(Duration::from_millis);
                list.fresh = [list.fresh, fresh].into_iter().flatten().min();
                result.next_cursor
            }};
        }
        Ok(match what {
            McpListKind::Tools => page!(self.running.list_tools(page), tools),
            McpListKind::Resources => page!(self.running.list_resources(page), resources),
            McpListKind::Prompts => page!(self.running.list_prompts(page), prompts),
        })
    }

    /// Asks something. Dropping the future tells the server that nobody waits any more.
    pub async fn ask(&self, request: &McpRequest) -> Result<Value, McpFailure> {
        let before = self.notifications.sent();
        let mut answer = self.answer(request).await;
        if let Err(failure) = &mut answer
            && failure.is_over
        {
            let after = self.notifications.sent();
            failure.is_unsent |= before > 0 && after == before;
        }
        answer
    }

    async fn answer(&self, request: &McpRequest) -> Result<Value, McpFailure> {
        macro_rules! answer {
            ($Response:ident, $asked:expr) => {
                match $asked.await {
                    Ok($Response::Complete(result)) => Ok(plain(&result)),
                    Ok(_) => Err(self.refused(INPUT_REQUIRED)),
                    Err(error) => Err(self.failed(error)),
                }
            };
        }
        match request {
            McpRequest::Call {
                tool,
                arguments,
                meta,
                progress,
            } => {
                let params = CallToolRequestParams::new(tool.clone());
                let mut params = params.with_arguments(arguments.clone());
                if !meta.is_empty() {
                    params.meta = Some(RequestMetaObject(MetaObject(meta.clone())));
                }
                answer!(CallToolResponse, self.call_tool(params, progress.as_ref()))
            }
            McpRequest::Read { uri } => {
                let params = ReadResourceRequestParams::new(uri.clone());
                answer!(
                    ReadResourceResponse,
                    self.running.read_resource_once(params)
                )
            }
            McpRequest::Prompt { name, arguments } => {
                let mut params = GetPromptRequestParams::new(name.clone());
                params.arguments = Some(arguments.clone());
                answer!(GetPromptResponse, self.running.get_prompt_once(params))
            }
        }
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        progress: Option<&ProgressListener>,
    ) -> Result<CallToolResponse, ServiceError> {
        match progress {
            Some(listener) => call_tool(&self.running, &self.notifications, params, listener).await,
            None => self.running.call_tool_once(params).await,
        }
    }

    fn refused(&self, why: &str) -> McpFailure {
        McpFailure {
            error: failure(self.notifications.name(), self.notifications.secrets(), why),
            is_unsent: false,
            is_over: false,
        }
    }

    fn failed(&self, error: ServiceError) -> McpFailure {
        let kind = kind(&error);
        let (why, is_unsent, is_over) = match error {
            ServiceError::McpError(error) => (error.message.into_owned(), false, false),
            ServiceError::TransportClosed => (self.end(), false, true),
            ServiceError::TransportSend(error) => {
                let is_unsent = is_unsent(error.error.as_ref());
                let why = self
                    .notifications
                    .end()
                    .unwrap_or_else(|| innermost(error.error.as_ref()));
                (why, is_unsent, is_unsent)
            }
            ServiceError::UnexpectedResponse => {
                ("its answer cannot be understood".to_owned(), false, false)
            }
            other => (other.to_string(), false, false),
        };
        let refused = self.refused(&why);
        McpFailure {
            error: match kind {
                Some(kind) => kind.because(refused.error),
                None => refused.error,
            },
            is_unsent,
            is_over,
        }
    }
}

/// The pages of a list so far.
#[derive(Default)]
struct FetchedList {
    lists: McpLists,
    bytes: usize,
    /// How long it may be kept.
    fresh: Option<Duration>,
}

/// How the server has failed, where it is that which has.
fn kind(error: &ServiceError) -> Option<ServerFailure> {
    match error {
        ServiceError::McpError(error) => {
            Some(ServerFailure::McpProtocolError { code: error.code.0 })
        }
        ServiceError::TransportClosed => Some(ServerFailure::CLOSED),
        ServiceError::TransportSend(error) => Some(sending_failure(error.error.as_ref())),
        ServiceError::UnexpectedResponse => Some(ServerFailure::UNREADABLE),
        _ => None,
    }
}

/// What whoever uses a server is told.
pub fn failure(server: &str, secrets: &Secrets, why: &str) -> Error {
    let why = secrets.hide(why);
    Error::new(
        ErrorCode::McpError,
        format!("MCP server \"{server}\": {why}"),
    )
}

fn plain(value: &impl Serialize) -> Value {
    // What came as JSON can be written as JSON.
    serde_json::to_value(value).unwrap_or_else(|_| json!({}))
}

/// Whether a message has not left this machine.
fn is_unsent(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut found = Some(error);
    while let Some(error) = found {
        if let Some(error) = of_http(error) {
            return error.is_connect();
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return matches!(
                error.kind(),
                ErrorKind::BrokenPipe | ErrorKind::NotConnected
            );
        }
        found = error.source();
    }
    false
}
