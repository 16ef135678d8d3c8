//! The words that cases are written in.

use crate::address::{DEFAULT_TENANT, LogKey, Space, ValueKey};
use crate::batch::{BatchWrite, NewEntry, WriteOutcome};
use crate::clock::{Millis, to_millis};
use crate::directory::{RowFilter, TrackRequest};
use crate::driver::{LogPage, ValuePart, ValueScan};
use crate::operation::{Operation, OperationOutput};
use crate::pattern::Pattern;
use crate::{Json, Result, SessionIdentity, StoredValue};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(3_600);
/// More than any case stores.
pub(super) const MANY: usize = 100_000;

/// The result of a step that has to succeed.
#[track_caller]
pub(super) fn must<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("failed: {error}"),
    }
}

/// The message of a step that has to be refused.
#[track_caller]
pub(super) fn refusal<T: Debug>(result: Result<T>) -> String {
    match result {
        Ok(value) => panic!("succeeded with {value:?}"),
        Err(error) => error.to_string(),
    }
}

/// What an option has to hold.
#[track_caller]
pub(super) fn some<T>(value: Option<T>) -> T {
    match value {
        Some(value) => value,
        None => panic!("nothing is there"),
    }
}

pub(super) fn json(text: &str) -> Json {
    must(Json::parse(text))
}

pub(super) fn jsons(texts: &[&str]) -> Vec<Json> {
    texts.iter().map(|text| json(text)).collect()
}

pub(super) fn identity(chat: &str) -> SessionIdentity {
    must(
        SessionIdentity::builder("Agent")
            .chat_name(chat)
            .scope("chatHistory")
            .build(),
    )
}

pub(super) fn space(chat: &str) -> Space {
    Space::of(DEFAULT_TENANT, &identity(chat))
}

pub(super) fn new_entry(id: &str, body: &str) -> NewEntry {
    NewEntry::new(id, json(body))
}

pub(super) fn append(log: &LogKey, entries: &[(&str, &str)]) -> BatchWrite {
    let entries = entries.iter().map(|(id, body)| new_entry(id, body));
    BatchWrite::append(log.clone(), entries.collect())
}

pub(super) fn apply(key: &ValueKey, op: Operation) -> BatchWrite {
    BatchWrite::apply(key.clone(), op, None)
}

pub(super) fn apply_for(key: &ValueKey, op: Operation, life: Duration) -> BatchWrite {
    BatchWrite::apply(key.clone(), op, Some(millis(life)))
}

pub(super) fn set(text: &str) -> Operation {
    Operation::Set(StoredValue::from(json(text)))
}

pub(super) fn replace(text: &str) -> Operation {
    Operation::Replace(StoredValue::from(json(text)))
}

pub(super) fn incr(by: i64) -> Operation {
    Operation::Incr(by.into())
}

pub(super) fn push(texts: &[&str]) -> Operation {
    Operation::Push(jsons(texts))
}

pub(super) fn add_to_set(texts: &[&str]) -> Operation {
    Operation::AddToSet(jsons(texts))
}

pub(super) fn acquire(holder: &str) -> Operation {
    Operation::Acquire {
        holder: holder.to_owned(),
    }
}

pub(super) fn clear(space: &Space) -> BatchWrite {
    BatchWrite::Clear {
        space: space.clone(),
    }
}

pub(super) fn drop_log(log: &LogKey) -> BatchWrite {
    BatchWrite::Drop { log: log.clone() }
}

pub(super) fn remove(space: &Space) -> BatchWrite {
    BatchWrite::Remove {
        space: space.clone(),
    }
}

pub(super) fn wipe(space: &Space, pattern: &str) -> BatchWrite {
    BatchWrite::Wipe {
        space: space.clone(),
        pattern: Pattern::parse(pattern),
    }
}

pub(super) fn request(id: &str, identity: &SessionIdentity) -> TrackRequest {
    TrackRequest {
        id: id.to_owned(),
        tenant: DEFAULT_TENANT.to_owned(),
        agent: identity.agent_name().to_owned(),
        base: identity.base(),
        identity: identity.clone(),
        placement: vec!["main".to_owned()],
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    }
}

pub(super) fn track(id: &str, identity: &SessionIdentity) -> BatchWrite {
    BatchWrite::Track(Box::new(request(id, identity)))
}

pub(super) fn millis(time: Duration) -> Millis {
    to_millis(time)
}

pub(super) fn output(outcome: WriteOutcome) -> OperationOutput {
    match outcome {
        WriteOutcome::Applied { output, .. } => output,
        other => panic!("{other:?} is no answer of an operation"),
    }
}

/// Sequence, id and body of each entry.
pub(super) fn told(page: LogPage) -> Vec<(u64, String, String)> {
    let entries = page.entries.into_iter();
    entries
        .map(|entry| (entry.seq, entry.id, entry.body.as_str().to_owned()))
        .collect()
}

pub(super) fn entry(seq: u64, id: &str, body: &str) -> (u64, String, String) {
    (seq, id.to_owned(), body.to_owned())
}

pub(super) fn scan(pattern: &str, limit: usize) -> ValueScan {
    ValueScan::first(Pattern::parse(pattern), limit, ValuePart::Whole)
}

/// Wants the row of an identity of the default tenant.
pub(super) fn row_filter(identity: &SessionIdentity) -> RowFilter {
    RowFilter {
        storage_key: Some(identity.storage_key()),
        ..RowFilter::tenant(DEFAULT_TENANT)
    }
}
