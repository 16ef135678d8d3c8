//! The words that cases are written in.

use crate::address::{DEFAULT_TENANT, LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchWrite, Head, NewEntry, ValueEntry, WriteOutcome};
use crate::clock::{Millis, to_millis};
use crate::directory::{IndexRow, PageRequest, RowFilter, RowOrder, TrackRequest};
use crate::driver::{Driver, LogPage, LogRange, ValuePart, ValueScan};
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
    NewEntry {
        id: id.to_owned(),
        body: json(body),
    }
}

pub(super) fn append(log: &LogKey, entries: &[(&str, &str)]) -> BatchWrite {
    let entries = entries.iter().map(|(id, body)| new_entry(id, body));
    BatchWrite::Append {
        log: log.clone(),
        entries: entries.collect(),
    }
}

pub(super) fn apply(key: &ValueKey, op: Operation) -> BatchWrite {
    BatchWrite::Apply {
        key: key.clone(),
        op,
        life: None,
    }
}

pub(super) fn apply_for(key: &ValueKey, op: Operation, life: Duration) -> BatchWrite {
    BatchWrite::Apply {
        key: key.clone(),
        op,
        life: Some(millis(life)),
    }
}

pub(super) fn set(text: &str) -> Operation {
    Operation::Set(StoredValue::from(json(text)))
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

/// Commits one write; its outcome or its error.
pub(super) async fn attempt(driver: &dyn Driver, write: BatchWrite) -> Result<WriteOutcome> {
    let outcomes = driver.commit(Batch::of([write])).await?;
    assert_eq!(outcomes.len(), 1, "one write has one outcome: {outcomes:?}");
    Ok(some(outcomes.into_iter().next()))
}

/// Commits one write that has to succeed.
pub(super) async fn write(driver: &dyn Driver, write: BatchWrite) -> WriteOutcome {
    must(attempt(driver, write).await)
}

/// Does one operation that has to succeed; its answer.
pub(super) async fn act(driver: &dyn Driver, key: &ValueKey, op: Operation) -> OperationOutput {
    output(write(driver, apply(key, op)).await)
}

/// Does one operation on a value that is there afterwards; its version.
pub(super) async fn version_after(driver: &dyn Driver, key: &ValueKey, op: Operation) -> u64 {
    match write(driver, apply(key, op)).await {
        WriteOutcome::Applied {
            version: Some(version),
            ..
        } => version,
        other => panic!("{other:?} has no version"),
    }
}

/// Takes a lease that has to be free; its epoch.
pub(super) async fn grant(
    driver: &dyn Driver,
    key: &ValueKey,
    holder: &str,
    life: Duration,
) -> u64 {
    match output(write(driver, apply_for(key, acquire(holder), life)).await) {
        OperationOutput::Epoch(epoch) => epoch,
        other => panic!("{other:?} is no epoch"),
    }
}

pub(super) fn output(outcome: WriteOutcome) -> OperationOutput {
    match outcome {
        WriteOutcome::Applied { output, .. } => output,
        other => panic!("{other:?} is no answer of an operation"),
    }
}

/// All of a log.
pub(super) async fn page(driver: &dyn Driver, log: &LogKey) -> LogPage {
    must(driver.read(log, LogRange::from(1, MANY)).await)
}

pub(super) async fn head(driver: &dyn Driver, log: &LogKey) -> Option<Head> {
    must(driver.read(log, LogRange::head()).await).head
}

/// Sequence, id and body of each entry of a log.
pub(super) async fn entries(driver: &dyn Driver, log: &LogKey) -> Vec<(u64, String, String)> {
    let entries = page(driver, log).await.entries;
    entries
        .into_iter()
        .map(|entry| (entry.seq, entry.id, entry.body.as_str().to_owned()))
        .collect()
}

pub(super) fn entry(seq: u64, id: &str, body: &str) -> (u64, String, String) {
    (seq, id.to_owned(), body.to_owned())
}

pub(super) async fn get(driver: &dyn Driver, key: &ValueKey) -> Option<ValueEntry> {
    must(driver.get(key, ValuePart::Whole).await)
}

/// The text of a value, if there is one.
pub(super) async fn text(driver: &dyn Driver, key: &ValueKey) -> Option<String> {
    get(driver, key)
        .await
        .map(|entry| entry.value.as_str().to_owned())
}

/// Names and texts of the values of a space that match.
pub(super) async fn values(
    driver: &dyn Driver,
    space: &Space,
    pattern: &str,
) -> Vec<(String, String)> {
    let found = must(driver.scan(space, &scan(pattern, MANY)).await);
    found
        .into_iter()
        .map(|(name, entry)| (name, entry.value.as_str().to_owned()))
        .collect()
}

pub(super) fn scan(pattern: &str, limit: usize) -> ValueScan {
    ValueScan {
        pattern: Pattern::parse(pattern),
        after: None,
        limit,
        part: ValuePart::Whole,
    }
}

/// The rows that a filter wants, in this order.
pub(super) async fn rows(
    driver: &dyn Driver,
    filter: &RowFilter,
    order: RowOrder,
) -> Vec<IndexRow> {
    let page = PageRequest {
        order,
        after: None,
        limit: MANY,
    };
    must(driver.identities(filter, &page).await)
}

/// The row of an identity of the default tenant.
pub(super) async fn row(driver: &dyn Driver, identity: &SessionIdentity) -> Option<IndexRow> {
    let filter = RowFilter {
        storage_key: Some(identity.storage_key()),
        ..RowFilter::tenant(DEFAULT_TENANT)
    };
    rows(driver, &filter, RowOrder::Oldest).await.pop()
}

/// All that a store says about one space.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpaceSnapshot {
    logs: Vec<(String, LogPage)>,
    values: Vec<(String, ValueEntry)>,
    rows: Vec<IndexRow>,
}

impl SpaceSnapshot {
    /// What is said about a space that never was.
    pub(super) fn nothing() -> Self {
        Self {
            logs: Vec::new(),
            values: Vec::new(),
            rows: Vec::new(),
        }
    }
}

pub(super) async fn snapshot(driver: &dyn Driver, space: &Space) -> SpaceSnapshot {
    let mut logs = Vec::new();
    for name in log_names(driver, space).await {
        let page = page(driver, &space.log(name.as_str())).await;
        logs.push((name, page));
    }
    let filter = RowFilter {
        storage_key: Some(space.path.clone()),
        ..RowFilter::tenant(space.tenant.as_str())
    };
    SpaceSnapshot {
        logs,
        values: must(driver.scan(space, &scan("*", MANY)).await),
        rows: rows(driver, &filter, RowOrder::Oldest).await,
    }
}

pub(super) async fn log_names(driver: &dyn Driver, space: &Space) -> Vec<String> {
    let mut names = must(driver.logs(space).await);
    names.sort();
    names
}
