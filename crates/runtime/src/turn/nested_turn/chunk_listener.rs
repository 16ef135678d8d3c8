//! What a call says, for a script that wants to hear it.

use crate::ctx::ChunkCallback;
use crate::error::{Error, Result};
use crate::frame::{Frame, OutputMessages, apply, text_of};
use crate::stream::{StreamEntry, StreamReader, StreamWriter};
use ambit_script::HostError;
use serde::Deserialize;
use serde_json::Value;

/// Gives a script what a call says.
pub(super) struct ChunkListener {
    log: StreamWriter,
    reader: StreamReader,
    thread: Option<String>,
    /// The last entry that was looked at.
    seen: u64,
    /// The messages as the frames leave them that the script was given.
    given: OutputMessages,
    on_chunk: ChunkCallback,
}

impl ChunkListener {
    /// Hears what comes into this log from now on, in this thread.
    pub fn new(log: StreamWriter, thread: Option<String>, on_chunk: ChunkCallback) -> Result<Self> {
        let seen = log.last();
        Ok(Self {
            reader: log.reader(seen)?,
            log,
            thread,
            seen,
            given: OutputMessages::default(),
            on_chunk,
        })
    }

    /// The texts that the script was given. The call may have said more by the time at which it is stopped.
    pub fn text(&self) -> String {
        text_of(self.given.messages())
    }

    /// What came of the work, or `None` where the script has stopped it.
    pub async fn hear<T>(&mut self, work: impl Future<Output = T>) -> Result<Option<T>, HostError> {
        let mut work = std::pin::pin!(work);
        let ended = loop {
            tokio::select! {
                biased;
                entries = self.reader.next() => {
                    let Some(entries) = entries? else {
                        break work.await;
                    };
                    if !self.give(&entries).await? {
                        return Ok(None);
                    }
                }
                ended = &mut work => break ended,
            }
        };
        self.log.flush().await?;
        let last = self.log.written();
        while self.seen < last {
            let Some(entries) = self.reader.next().await? else {
                break;
            };
            if !self.give(&entries).await? {
                return Ok(None);
            }
        }
        Ok(Some(ended))
    }

    async fn give(&mut self, entries: &[StreamEntry]) -> Result<bool, HostError> {
        let unreadable = |error: serde_json::Error| Error::internal(error.to_string());
        for entry in entries {
            self.seen = entry.number;
            let frame: Value = serde_json::from_str(&entry.text).map_err(unreadable)?;
            let thread = frame
                .get("thread_id")
                .or_else(|| frame.pointer("/props/data/thread_id"));
            if thread.and_then(Value::as_str) != self.thread.as_deref() {
                continue;
            }
            let change = Frame::deserialize(&frame).map_err(unreadable)?;
            // A message that cannot be followed any more keeps what it had.
            let _ = apply(&mut self.given, &change);
            if !(self.on_chunk)(frame).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
