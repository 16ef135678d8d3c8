//! `sse`: the older transport of the protocol. Messages come as events of one long answer, whose first event says where
//! messages are sent to.

use super::http::headers;
use super::message::{self, ServerMessage};
use super::message_buffer::{MessageBuffer, RawMessage};
use super::{
    ConnectFailure, ConnectResult, ConnectionTarget, TransportEntry, greet, http_failure,
    http_words,
};
use crate::app::TransportKind;
use crate::llm::sse::{SseEvent, SseParser};
use crate::mcp::notifications::McpNotifications;
use futures::FutureExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, StatusCode};
use rmcp::service::TxJsonRpcMessage;
use rmcp::{ClientLifecycleMode, RoleClient};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use url::Url;

/// Messages that wait to be read.
const WAITING: usize = 64;
/// How long the address for messages may take to come.
const FIRST: Duration = Duration::from_secs(10);
const EVENTS: &str = "text/event-stream";

pub const ROW: TransportEntry = TransportEntry {
    kind: TransportKind::Sse,
    is_old: true,
    open: |target, notifications, mode| open(target, notifications, mode).boxed(),
};

/// An open connection.
struct SseTransport {
    client: Client,
    headers: HeaderMap,
    to: Url,
    messages: mpsc::Receiver<ServerMessage>,
    reader: JoinSet<()>,
    notifications: Arc<McpNotifications>,
    /// No call of this server lasts longer, so nobody waits for what is sent.
    timeout: Duration,
}

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct SseSendError(String, #[source] Option<reqwest::Error>);

async fn open(
    target: &ConnectionTarget,
    notifications: Arc<McpNotifications>,
    mode: ClientLifecycleMode,
) -> ConnectResult {
    let headers = headers(&target.settings)?;
    let wrong = |_| ConnectFailure::new("its \"url\" is no address");
    let url = Url::parse(&target.settings.url).map_err(wrong)?;
    let client = target.environment.http.clone();
    let request = client.get(url.clone()).headers(headers.clone());
    let response = request.header(ACCEPT, EVENTS).send().await;
    let broken = |error: reqwest::Error| ConnectFailure {
        kind: http_failure(&error),
        ..ConnectFailure::new(http_words(&error))
    };
    let response = response.map_err(broken)?;
    let mut events = SseEvents::of(response)?;
    let first = tokio::time::timeout(FIRST, events.next()).await;
    let first = match first.ok().flatten() {
        Some(SseItem::Event(event)) if event.name == "endpoint" => Some(event),
        _ => None,
    };
    let first =
        first.ok_or_else(|| ConnectFailure::new("it does not say where messages are sent to"))?;
    let to = url.join(first.data.trim()).ok();
    // Another host would get this one's credentials.
    let to = to.filter(|to| to.origin() == url.origin());
    let to = to.ok_or_else(|| ConnectFailure::new("it wants messages sent to another host"))?;
    let (tell, messages) = mpsc::channel(WAITING);
    let mut reader = JoinSet::new();
    reader.spawn(async move {
        while let Some(item) = events.next().await {
            let message = match item {
                SseItem::Event(event) => message::read(event.data.as_bytes()),
                SseItem::TooLong(refusal) => Some(*refusal),
            };
            let Some(message) = message else { continue };
            if tell.send(message).await.is_err() {
                return;
            }
        }
    });
    let transport = SseTransport {
        client,
        headers,
        to,
        messages,
        reader,
        notifications: notifications.clone(),
        timeout: target.timeout,
    };
    greet(&notifications, transport, mode).await
}

/// The events of an answer.
struct SseEvents {
    response: Response,
    parser: SseParser,
    line: MessageBuffer,
    ready: VecDeque<SseItem>,
}

/// What an answer tells.
enum SseItem {
    Event(SseEvent),
    /// In place of an answer in an event that is too long.
    TooLong(Box<ServerMessage>),
}

impl SseEvents {
    fn of(response: Response) -> Result<Self, ConnectFailure> {
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let message = "it refuses the credentials; check authorization_token and headers";
            return Err(ConnectFailure::new(message).with_status(status.as_u16()));
        }
        if !status.is_success() {
            let message = format!("it answers with status {status}");
            return Err(ConnectFailure::new(message).with_status(status.as_u16()));
        }
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with(EVENTS) {
            return Err(ConnectFailure::new(
                "it answers with something else than events",
            ));
        }
        Ok(Self {
            response,
            parser: SseParser::default(),
            line: MessageBuffer::default(),
            ready: VecDeque::new(),
        })
    }

    async fn next(&mut self) -> Option<SseItem> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            let bytes = self.response.chunk().await.ok()??;
            for part in bytes.split_inclusive(is_end) {
                self.line.push(part);
                if part.last().is_some_and(is_end) {
                    self.end_line()?;
                }
            }
        }
    }

    /// `None` where it cannot be told whose answer is lost, so that all who wait have to know.
    fn end_line(&mut self) -> Option<()> {
        match self.line.take() {
            RawMessage::Whole(line) => {
                let events = self.parser.push(&line).ok()?;
                self.ready.extend(events.into_iter().map(SseItem::Event));
            }
            RawMessage::Ends(head, tail) => {
                let refusal = message::too_long(&head, &tail).ok()?;
                self.ready.push_back(SseItem::TooLong(Box::new(refusal)));
            }
        }
        Some(())
    }
}

fn is_end(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

impl rmcp::transport::Transport<RoleClient> for SseTransport {
    type Error = SseSendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseSendError>> + Send + 'static {
        self.notifications.sends();
        let request = self.client.post(self.to.clone());
        let request = request.headers(self.headers.clone()).json(&message);
        let request = request.timeout(self.timeout);
        async move {
            let response = request.send().await;
            let response =
                response.map_err(|error| SseSendError(http_words(&error), Some(error)))?;
            match response.status() {
                status if status.is_success() => Ok(()),
                status => Err(SseSendError(
                    format!("it answers with status {status}"),
                    None,
                )),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), SseSendError> {
        self.reader.abort_all();
        Ok(())
    }
}
