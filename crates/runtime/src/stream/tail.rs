//! The entries behind the rows of a log that have been stored, and may have been shown, before there is a row of them.
//!
//! They are one value that each step replaces, so that entries can be stored as often as readers want to see them while the
//! log gets a row only now and then. The next row has all of them; what is left of the value goes with the log's last row.

use super::StreamEntry;
use super::row::StreamRow;
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::Json;
use ambit_storage::address::{LogKey, ValueKey};
use ambit_storage::batch::BatchWrite;
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::quotes::without_quotes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What is stored behind a log's rows, or was: rows may have all of it since.
#[derive(Debug)]
pub(super) struct StreamTail {
    /// The number of its first entry. All before it are in rows.
    pub first: u64,
    pub entries: Vec<StreamEntry>,
}

#[derive(Deserialize)]
struct TailBody<'a> {
    first: u64,
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
}

/// The write that makes these entries the tail.
pub(super) fn write(log: &LogKey, row: &StreamRow) -> BatchWrite {
    let (first, entries) = (row.first, row.entries.join(","));
    let body = format!(r#"{{"first":{first},"entries":[{entries}]}}"#);
    apply(log, Operation::Set(Json::stored(body).into()))
}

/// The write that removes the tail.
pub(super) fn removal(log: &LogKey) -> BatchWrite {
    apply(log, Operation::Del)
}

fn apply(log: &LogKey, op: Operation) -> BatchWrite {
    BatchWrite::apply(key(log), op, None)
}

fn key(log: &LogKey) -> ValueKey {
    log.space.key(format!("{}/tail", log.name))
}

/// The tail that is stored, if there is one.
pub(super) async fn read(driver: &dyn Driver, log: &LogKey) -> Result<Option<StreamTail>> {
    let Some(stored) = driver.get(&key(log), ValuePart::Whole).await? else {
        return Ok(None);
    };
    let body: TailBody<'_> = serde_json::from_str(stored.value.as_str())
        .map_err(|error| corrupt(log, &without_quotes(&error.to_string())))?;
    let entries = (body.first..).zip(body.entries);
    let entries = entries.map(|(number, text)| StreamEntry {
        number,
        text: text.get().into(),
    });
    Ok(Some(StreamTail {
        first: body.first,
        entries: entries.collect(),
    }))
}

/// What was stored cannot be used.
pub(super) fn corrupt(log: &LogKey, reason: &str) -> Error {
    let what = format!("the tail of the stream {log} is corrupt: {reason}");
    Error::new(ErrorCode::Corrupt, what)
}
