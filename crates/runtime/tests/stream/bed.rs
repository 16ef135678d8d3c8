//! Logs and outboxes over real stores, for tests.

use ambit_runtime::frame::Frame;
use ambit_runtime::outbox::{AgentOutbox, MessageAuthor, Outbox, OutboxLimits};
use ambit_runtime::stream::{StreamEntry, StreamOptions, StreamReader, StreamTarget, StreamWriter};
use ambit_storage::address::{LogKey, Space};
use ambit_storage::clock::Clock;
use ambit_storage::driver::{self, Driver};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// A driver in memory.
pub async fn memory() -> Arc<dyn Driver> {
    driver::open("memory:", driver::DriverOptions::default())
        .await
        .unwrap()
}

/// A driver over a file, as another process would open it.
pub async fn sqlite(folder: &Path) -> Arc<dyn Driver> {
    let url = format!("sqlite:{}", folder.join("ambit.db").display());
    driver::open(&url, driver::DriverOptions::default())
        .await
        .unwrap()
}

/// The stream's name.
pub fn key() -> LogKey {
    Space::settings("t").log("turn/r1/events")
}

/// Where the stream is kept.
pub fn place(driver: &Arc<dyn Driver>) -> StreamTarget {
    StreamTarget {
        driver: driver.clone(),
        log: key(),
        check: None,
    }
}

/// Entries are seen at once.
pub fn unstored() -> StreamOptions {
    StreamOptions {
        is_persistent: false,
        ..StreamOptions::default()
    }
}

/// The main voice of a turn.
pub fn voice() -> MessageAuthor {
    MessageAuthor {
        assistant_id: "a".to_owned(),
        ..MessageAuthor::default()
    }
}

/// An outbox whose stream has started, and its main voice.
pub fn outbox(log: &StreamWriter, limits: OutboxLimits) -> (Outbox, AgentOutbox) {
    let outbox = Outbox::new(log.clone(), limits, Clock::default());
    outbox.emit("stream_start", json!({"assistant": {"assistant_id": "a"}}));
    let speaker = outbox.for_author(voice());
    (outbox, speaker)
}

/// Ends a stream as a turn does.
pub async fn end(outbox: &Outbox) {
    outbox.close_all(ambit_runtime::frame::MessageStatus::Completed, true);
    outbox.emit("stream_end", json!({"status": "completed"}));
    outbox.log().flush().await.unwrap();
}

/// Everything that a reader gets, to the end.
pub async fn drain(reader: &mut StreamReader) -> Vec<StreamEntry> {
    let mut all = Vec::new();
    while let Some(entries) = reader.next().await.unwrap() {
        all.extend(entries);
    }
    all
}

/// The frames of entries.
pub fn frames(entries: &[StreamEntry]) -> Vec<Frame> {
    let read = |entry: &StreamEntry| serde_json::from_str(&entry.text).unwrap();
    entries.iter().map(read).collect()
}

/// An object.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}

/// Numbers that look random and are the same in each run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below this one.
    pub fn below(&mut self, limit: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((x ^ (x >> 31)) % limit as u64).unwrap()
    }

    /// One of these.
    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// Calls a method as a script does.
pub fn call(
    speaker: &AgentOutbox,
    method: &str,
    arguments: &Value,
) -> ambit_runtime::Result<Value> {
    let arguments = arguments.as_array().unwrap();
    match method {
        "Send" => speaker.send(arguments),
        "SendStream" => speaker.send_stream(arguments),
        "Append" => speaker.append(arguments),
        "Replace" => speaker.replace(arguments),
        "Merge" => speaker.merge(arguments),
        "Set" => speaker.set(arguments),
        "End" => speaker.end(arguments),
        "EndBlock" => speaker.end_block(arguments),
        other => panic!("no method {other}"),
    }
}

/// The rows of a table of three columns.
pub fn table(text: &str) -> impl Iterator<Item = [&str; 3]> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| {
        let cells: Vec<&str> = line.splitn(3, " | ").map(str::trim).collect();
        cells.try_into().unwrap()
    })
}
