//! The words that cases are written in.

use crate::address::{DEFAULT_TENANT, Key, LogKey, Space};
use crate::batch::{Batch, Entry, Head, NewEntry, Outcome, Write};
use crate::clock::{Millis, to_millis};
use crate::directory::{Filter, Order, PageRequest, Track, Tracked};
use crate::driver::{Driver, Page, Part, Range, Scan};
use crate::op::{Op, Output};
use crate::pattern::Pattern;
use crate::{Json, Result, SessionIdentity, Value};
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

pub(super) fn append(log: &LogKey, entries: &[(&str, &str)]) -> Write {
    let entries = entries.iter().map(|(id, body)| new_entry(id, body));
    Write::Append {
        log: log.clone(),
        entries: entries.collect(),
    }
}

pub(super) fn apply(key: &Key, op: Op) -> Write {
    Write::Apply {
        key: key.clone(),
        op,
        life: None,
    }
}

pub(super) fn apply_for(key: &Key, op: Op, life: Duration) -> Write {
    Write::Apply {
        key: key.clone(),
        op,
        life: Some(millis(life)),
    }
}

pub(super) fn set(text: &str) -> Op {
    Op::Set(Value::from(json(text)))
}

pub(super) fn incr(by: i64) -> Op {
    Op::Incr(by.into())
}

pub(super) fn push(texts: &[&str]) -> Op {
    Op::Push(jsons(texts))
}

pub(super) fn add_to_set(texts: &[&str]) -> Op {
    Op::AddToSet(jsons(texts))
}

pub(super) fn acquire(holder: &str) -> Op {
    Op::Acquire {
        holder: holder.to_owned(),
    }
}

pub(super) fn clear(space: &Space) -> Write {
    Write::Clear {
        space: space.clone(),
    }
}

pub(super) fn drop_log(log: &LogKey) -> Write {
    Write::Drop { log: log.clone() }
}

pub(super) fn remove(space: &Space) -> Write {
    Write::Remove {
        space: space.clone(),
    }
}

pub(super) fn wipe(space: &Space, pattern: &str) -> Write {
    Write::Wipe {
        space: space.clone(),
        pattern: Pattern::parse(pattern),
    }
}

pub(super) fn request(id: &str, identity: &SessionIdentity) -> Track {
    Track {
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

pub(super) fn track(id: &str, identity: &SessionIdentity) -> Write {
    Write::Track(Box::new(request(id, identity)))
}

pub(super) fn millis(time: Duration) -> Millis {
    to_millis(time)
}

/// Commits one write; its outcome or its error.
pub(super) async fn attempt(driver: &dyn Driver, write: Write) -> Result<Outcome> {
    let outcomes = driver.commit(Batch::of([write])).await?;
    assert_eq!(outcomes.len(), 1, "one write has one outcome: {outcomes:?}");
    Ok(some(outcomes.into_iter().next()))
}

/// Commits one write that has to succeed.
pub(super) async fn write(driver: &dyn Driver, write: Write) -> Outcome {
    must(attempt(driver, write).await)
}

/// Does one operation that has to succeed; its answer.
pub(super) async fn act(driver: &dyn Driver, key: &Key, op: Op) -> Output {
    output(write(driver, apply(key, op)).await)
}

/// Does one operation on a value that is there afterwards; its version.
pub(super) async fn version_after(driver: &dyn Driver, key: &Key, op: Op) -> u64 {
    match write(driver, apply(key, op)).await {
        Outcome::Applied {
            version: Some(version),
            ..
        } => version,
        other => panic!("{other:?} has no version"),
    }
}

/// Takes a lease that has to be free; its epoch.
pub(super) async fn grant(driver: &dyn Driver, key: &Key, holder: &str, life: Duration) -> u64 {
    match output(write(driver, apply_for(key, acquire(holder), life)).await) {
        Output::Epoch(epoch) => epoch,
        other => panic!("{other:?} is no epoch"),
    }
}

pub(super) fn output(outcome: Outcome) -> Output {
    match outcome {
        Outcome::Applied { output, .. } => output,
        other => panic!("{other:?} is no answer of an operation"),
    }
}

/// All of a log.
pub(super) async fn page(driver: &dyn Driver, log: &LogKey) -> Page {
    must(driver.read(log, Range::from(1, MANY)).await)
}

pub(super) async fn head(driver: &dyn Driver, log: &LogKey) -> Option<Head> {
    must(driver.read(log, Range::head()).await).head
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

pub(super) async fn get(driver: &dyn Driver, key: &Key) -> Option<Entry> {
    must(driver.get(key, Part::Whole).await)
}

/// The text of a value, if there is one.
pub(super) async fn text(driver: &dyn Driver, key: &Key) -> Option<String> {
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

pub(super) fn scan(pattern: &str, limit: usize) -> Scan {
    Scan {
        pattern: Pattern::parse(pattern),
        after: None,
        limit,
        part: Part::Whole,
    }
}

/// The rows that a filter wants, in this order.
pub(super) async fn rows(driver: &dyn Driver, filter: &Filter, order: Order) -> Vec<Tracked> {
    let page = PageRequest {
        order,
        after: None,
        limit: MANY,
    };
    must(driver.identities(filter, &page).await)
}

/// The row of an identity of the default tenant.
pub(super) async fn row(driver: &dyn Driver, identity: &SessionIdentity) -> Option<Tracked> {
    let filter = Filter {
        storage_key: Some(identity.storage_key()),
        ..Filter::tenant(DEFAULT_TENANT)
    };
    rows(driver, &filter, Order::Oldest).await.pop()
}

/// All that a store says about one space.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Snapshot {
    logs: Vec<(String, Page)>,
    values: Vec<(String, Entry)>,
    rows: Vec<Tracked>,
}

impl Snapshot {
    /// What is said about a space that never was.
    pub(super) fn nothing() -> Self {
        Self {
            logs: Vec::new(),
            values: Vec::new(),
            rows: Vec::new(),
        }
    }
}

pub(super) async fn snapshot(driver: &dyn Driver, space: &Space) -> Snapshot {
    let mut logs = Vec::new();
    for name in log_names(driver, space).await {
        let page = page(driver, &space.log(name.as_str())).await;
        logs.push((name, page));
    }
    let filter = Filter {
        storage_key: Some(space.path.clone()),
        ..Filter::tenant(space.tenant.as_str())
    };
    Snapshot {
        logs,
        values: must(driver.scan(space, &scan("*", MANY)).await),
        rows: rows(driver, &filter, Order::Oldest).await,
    }
}

pub(super) async fn log_names(driver: &dyn Driver, space: &Space) -> Vec<String> {
    let mut names = must(driver.logs(space).await);
    names.sort();
    names
}
