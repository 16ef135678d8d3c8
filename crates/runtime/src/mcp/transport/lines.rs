//! Messages as lines over the ends of a process.

use super::process::Process;
use crate::mcp::ears::Ears;
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

/// Bytes of one message.
pub const MESSAGE: usize = 16 << 20;
/// Bytes at either end of a message that is too long in which its id is looked for.
const MARGIN: usize = 512;
/// How long what an ended process has written is waited for.
const REST: Duration = Duration::from_millis(300);

type Received = RxJsonRpcMessage<RoleClient>;

/// A process that is spoken to in lines.
pub struct Lines {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    stdout: BufReader<ChildStdout>,
    /// The line so far. It outlives a call of `receive` that is dropped.
    line: Vec<u8>,
    /// The last bytes of a line that is too long to be kept.
    tail: Option<Vec<u8>>,
    /// Until when the rest of an ended process is read.
    until: Option<Instant>,
    process: Process,
    ears: Arc<Ears>,
    has_complained: bool,
}

/// What came of a line.
enum Line {
    Message(Box<Received>),
    Nothing,
    Broken(String),
}

impl Lines {
    /// Speaks over the ends of this process.
    pub fn new(mut process: Process, ears: Arc<Ears>) -> io::Result<Self> {
        let child = process.child();
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the process has no ends"));
        };
        Ok(Self {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            stdout: BufReader::with_capacity(64 << 10, stdout),
            line: Vec::new(),
            tail: None,
            until: None,
            process,
            ears,
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
                    self.ears.ended(why);
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
        let part = &bytes[..taken];
        match &mut self.tail {
            Some(tail) => {
                tail.extend_from_slice(part);
                let surplus = tail.len().saturating_sub(MARGIN);
                tail.drain(..surplus);
            }
            None if self.line.len() + taken > MESSAGE => {
                let from = taken.saturating_sub(MARGIN);
                self.tail = Some(part[from..].to_vec());
                self.line.truncate(MARGIN);
                self.line.shrink_to_fit();
            }
            None => self.line.extend_from_slice(part),
        }
        self.stdout.consume(taken);
        Ok(end.is_some())
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        let Some(tail) = self.tail.take() else {
            return self.message(&line);
        };
        let too_large = format!("its answer is larger than {} MiB", MESSAGE >> 20);
        match id_at(&line, &tail) {
            Some(id) => refusal(too_large, id),
            None => Line::Broken(too_large),
        }
    }

    fn message(&mut self, line: &[u8]) -> Line {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Line::Nothing;
        }
        let error = match serde_json::from_slice::<Received>(line) {
            Ok(message) => return Line::Message(Box::new(message)),
            Err(error) => error,
        };
        if let Ok(value) = serde_json::from_slice::<Value>(line)
            && let Some(id) = value.get("id").and_then(Value::as_i64)
            && value.get("method").is_none()
        {
            return refusal(format!("its answer cannot be understood: {error}"), id);
        }
        if !std::mem::replace(&mut self.has_complained, true) {
            tracing::warn!(
                server = %self.ears.name(),
                "the server writes to its output what is no message; it belongs to stderr"
            );
        }
        Line::Nothing
    }
}

/// What takes the place of an answer that is none.
fn refusal(text: String, id: i64) -> Line {
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, text, None);
    let message = Received::error(error, Some(RequestId::Number(id)));
    Line::Message(Box::new(message))
}

/// The id of a message of which only both ends are known.
fn id_at(head: &[u8], tail: &[u8]) -> Option<i64> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let number = |text: &str| {
        let digits = text.trim_start();
        let end = digits.find(|letter: char| !letter.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().ok()
    };
    // Behind the beginning of the result, a member of this name may be the result's own.
    let before = head.split("\"result\"").next().unwrap_or_default();
    let first = before.split_once("\"id\":").map(|(_, rest)| rest);
    let last = || {
        let (_, rest) = tail.rsplit_once("\"id\":")?;
        let is_outermost = rest
            .trim_end()
            .strip_suffix('}')?
            .find(['{', '}'])
            .is_none();
        is_outermost.then_some(rest)
    };
    first.or_else(last).and_then(number)
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let stdin = self.stdin.clone();
        let ears = self.ears.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let Some(stdin) = stdin.as_mut() else {
                return Err(io::ErrorKind::NotConnected.into());
            };
            // A part of a line is no message, so only a whole one counts.
            stdin.write_all(&line).await?;
            ears.sends();
            stdin.flush().await
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            let broken = match self.read().await {
                Ok(false) => continue,
                Ok(true) => match self.take() {
                    Line::Message(message) => return Some(*message),
                    Line::Nothing => continue,
                    Line::Broken(why) => why,
                },
                Err(why) => why,
            };
            self.ears.ended(broken);
            return None;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.stdin.lock().await.take());
        self.process.end().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::id_at;

    #[test]
    fn the_id_of_a_message_is_found_at_either_end() {
        for (head, tail, id) in [
            (
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"id\":9",
                "xxx\"}}",
                Some(7),
            ),
            (
                "{\"jsonrpc\": \"2.0\", \"id\": 12, \"result\": {",
                "}}",
                Some(12),
            ),
            (
                "{\"result\":{\"id\":9,\"x\":\"",
                "\"}]},\"jsonrpc\":\"2.0\",\"id\":31}",
                Some(31),
            ),
            (
                "{\"result\":{\"x\":\"",
                "\"},\"id\":31,\"jsonrpc\":\"2.0\"}\n",
                Some(31),
            ),
            ("{\"result\":{\"x\":\"", "\",\"id\":31}}", None),
            ("{\"result\":{\"x\":\"", "xxxx", None),
        ] {
            assert_eq!(id_at(head.as_bytes(), tail.as_bytes()), id, "{head} {tail}");
        }
    }
}
