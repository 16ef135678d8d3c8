//! Messages as lines over the ends of a process.

use super::message::{self, ServerMessage};
use super::message_buffer::{MessageBuffer, RawMessage};
use super::server_process::ServerProcess;
use crate::mcp::notifications::McpNotifications;
use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

/// How long what an ended process has written is waited for.
const REST: Duration = Duration::from_millis(300);

/// A process that is spoken to in lines.
pub struct StdioTransport {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    stdout: BufReader<ChildStdout>,
    /// The line so far. It outlives a call of `receive` that is dropped.
    line: MessageBuffer,
    /// Until when the rest of an ended process is read.
    until: Option<Instant>,
    process: ServerProcess,
    notifications: Arc<McpNotifications>,
    has_complained: bool,
}

impl StdioTransport {
    /// Speaks over the ends of this process.
    pub fn new(
        mut process: ServerProcess,
        notifications: Arc<McpNotifications>,
    ) -> io::Result<Self> {
        let child = process.child();
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the process has no ends"));
        };
        Ok(Self {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            stdout: BufReader::with_capacity(64 << 10, stdout),
            line: MessageBuffer::default(),
            until: None,
            process,
            notifications,
            has_complained: false,
        })
    }

    /// Reads on; true at the end of a line, `Err` at the end of all. Nothing is lost if this is dropped.
    async fn read(&mut self) -> Result<bool, String> {
        let bytes = match self.until {
            Some(until) => timeout_at(until, self.stdout.fill_buf()).await.ok(),
            None => tokio::select! {
                bytes = self.stdout.fill_buf() => Some(bytes),
                why = self.process.ended() => {
                    self.notifications.ended(why);
                    self.until = Some(Instant::now() + REST);
                    return Ok(false);
                }
            },
        };
        let Some(Ok(bytes)) = bytes else {
            return Err("its output cannot be read".to_owned());
        };
        if bytes.is_empty() {
            // Mostly it has ended, and how it has ended says more.
            let ended = timeout_at(Instant::now() + REST, self.process.ended()).await;
            return Err(ended.unwrap_or_else(|_| "it has closed its output".to_owned()));
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        self.line.push(&bytes[..taken]);
        self.stdout.consume(taken);
        Ok(end.is_some())
    }

    /// What the line that has ended says, if it says anything; `Err` where nobody knows whose answer is lost.
    fn take(&mut self) -> Result<Option<ServerMessage>, String> {
        let line = match self.line.take() {
            RawMessage::Whole(line) => line,
            RawMessage::Ends(head, tail) => return message::too_long(&head, &tail).map(Some),
        };
        let line = line.trim_ascii();
        let message = message::read(line);
        let is_noise = message.is_none() && !line.is_empty();
        if is_noise && !std::mem::replace(&mut self.has_complained, true) {
            tracing::warn!(
                server = %self.notifications.name(),
                "the server writes to its output what is no message; it belongs to stderr"
            );
        }
        Ok(message)
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let stdin = self.stdin.clone();
        let notifications = self.notifications.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let Some(stdin) = stdin.as_mut() else {
                return Err(io::ErrorKind::NotConnected.into());
            };
            // A part of a line is no message, so only a whole one counts.
            stdin.write_all(&line).await?;
            notifications.sends();
            stdin.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        loop {
            let broken = match self.read().await {
                Ok(false) => continue,
                Ok(true) => match self.take() {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => continue,
                    Err(why) => why,
                },
                Err(why) => why,
            };
            self.notifications.ended(broken);
            return None;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Whoever sends holds it for as long as the server does not read, which may be for ever.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            drop(stdin.take());
        }
        self.process.end().await;
        Ok(())
    }
}
