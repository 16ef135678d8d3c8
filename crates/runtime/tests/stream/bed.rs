//! Logs and outboxes over real stores, for tests.

use ambit_runtime::frame::Frame;
use ambit_runtime::outbox::{Limits, Outbox, Speaker, Voice};
use ambit_runtime::stream::{Entry, Log, Options, Place, Reader};
use ambit_storage::address::{LogKey, Space};
use ambit_storage::clock::Clock;
use ambit_storage::driver::{self, Driver};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// A driver in memory.
pub async fn memory() -> Arc<dyn Driver> {
    driver::open("memory:", driver::Options::default())
        .await
        .unwrap()
}

/// A driver over a file, as another process would open it.
pub async fn sqlite(folder: &Path) -> Arc<dyn Driver> {
    let url = format!("sqlite:{}", folder.join("ambit.db").display());
    driver::open(&url, driver::Options::default())
        .await
        .unwrap()
}

/// The stream's name.
pub fn key() -> LogKey {
    Space::settings("t").log("turn/r1/events")
}

/// Where the stream is kept.
pub fn place(driver: &Arc<dyn Driver>) -> Place {
    Place {
        driver: driver.clone(),
        log: key(),
        check: None,
    }
}

/// Entries are seen at once.
pub fn unstored() -> Options {
    Options {
        is_persistent: false,
        ..Options::default()
    }
}

/// The main voice of a turn.
pub fn voice() -> Voice {
    Voice {
        thread: None,
        is_silent: false,
        assistant_id: "a".to_owned(),
    }
}

/// An outbox whose stream has started, and its main voice.
pub fn outbox(log: &Log, limits: Limits) -> (Outbox, Speaker) {
    let outbox = Outbox::new(log.clone(), limits, Clock::default());
    outbox.emit("stream_start", json!({"assistant": {"assistant_id": "a"}}));
    let speaker = outbox.speaker(voice());
    (outbox, speaker)
}

/// Ends a stream as a turn does.
pub async fn end(outbox: &Outbox) {
    outbox.close_all(ambit_runtime::frame::Status::Completed, true);
    outbox.emit("stream_end", json!({"status": "completed"}));
    outbox.log().finish().await.unwrap();
}

/// Everything that a reader gets, to the end.
pub async fn drain(reader: &mut Reader) -> Vec<Entry> {
    let mut all = Vec::new();
    while let Some(entries) = reader.next().await.unwrap() {
        all.extend(entries);
    }
    all
}

/// The frames of entries.
pub fn frames(entries: &[Entry]) -> Vec<Frame> {
    let read = |entry: &Entry| serde_json::from_str(&entry.text).unwrap();
    entries.iter().map(read).collect()
}

/// An object.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}
