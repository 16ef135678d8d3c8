//! What listeners made of staged items takes their place.

use crate::batch::{BatchWrite, NewEntry};
use crate::items::{SharedCell, new_entry};
use crate::json::Json;
use crate::kind::StorageKind;
use crate::message::Message;
use crate::session::context::Context;
use crate::session::history::ChatHistoryStorage;
use crate::session::usage::UsageStorage;
use crate::usage::{UsageLabels, UsageRecord, record_sums, tally};
use crate::{Error, Result, ids};
use std::collections::HashSet;

/// What listeners are shown of staged items.
pub(super) fn bodies(entries: &[NewEntry]) -> Vec<Json> {
    entries.iter().map(|entry| entry.body.clone()).collect()
}

/// Puts changed bodies in the place of those that were shown; further ones are new items, and what is missing goes.
/// What was staged or saved since then stays as it is.
pub(super) fn restage(
    context: &Context,
    cell: &SharedCell,
    shown: &[NewEntry],
    bodies: &[Json],
) -> Result<()> {
    if shown.iter().map(|entry| &entry.body).eq(bodies) {
        return Ok(());
    }
    let changed = if cell.prefix == ChatHistoryStorage::PREFIX {
        messages(context, shown, bodies)?
    } else {
        items(context, shown, bodies)?
    };
    let mut staged = cell.staged();
    let shown: HashSet<&String> = shown.iter().map(|entry| &entry.id).collect();
    let present: HashSet<String> = staged
        .appends
        .iter()
        .map(|entry| entry.id.clone())
        .collect();
    let is_left = |entry: &NewEntry| !shown.contains(&entry.id) || present.contains(&entry.id);
    let mut appends: Vec<NewEntry> = changed.into_iter().filter(is_left).collect();
    let since = staged.appends.drain(..);
    appends.extend(since.filter(|entry| !shown.contains(&entry.id)));
    staged.appends = appends;
    if cell.prefix == UsageStorage::PREFIX && !context.is_temporary() {
        let tenant = context.session().tenant();
        let sums = |entry: &NewEntry| Ok((entry.id.clone(), sums_of(tenant, &entry.body)?));
        let extra: Result<_> = staged.appends.iter().map(sums).collect();
        staged.extra = extra?;
    }
    Ok(())
}

/// Items of other kinds have no id of their own: each takes the place of the one that was shown there.
fn items(context: &Context, shown: &[NewEntry], bodies: &[Json]) -> Result<Vec<NewEntry>> {
    let options = context.ambit().stores().options();
    let item = |(at, body): (usize, &Json)| {
        let id = shown.get(at).map(|entry| entry.id.clone());
        let id = id.unwrap_or_else(|| ids::ordered(&options.clock));
        new_entry(id, body.clone(), options.limits.value)
    };
    bodies.iter().enumerate().map(item).collect()
}

/// Messages take the place of the one with their id. What is no message would make the whole history unreadable.
fn messages(context: &Context, shown: &[NewEntry], bodies: &[Json]) -> Result<Vec<NewEntry>> {
    let limit = context.ambit().stores().options().limits.value;
    let mut known: HashSet<&str> = shown.iter().map(|entry| entry.id.as_str()).collect();
    let message = |body: &Json| {
        let mut message: Message = body.to().map_err(|error| {
            let reason =
                format!("a listener put something else in the place of a message: {error}");
            Error::invalid("messages", reason)
        })?;
        if !known.remove(message.id.as_str()) {
            message.id.clear();
        }
        let (message, body) = context.history().complete(message)?;
        new_entry(message.id, body, limit)
    };
    bodies.iter().map(message).collect()
}

/// What a staged usage record adds to the sums.
fn sums_of(tenant: &str, body: &Json) -> Result<BatchWrite> {
    let record: UsageRecord = body.to()?;
    record.check()?;
    tally(tenant, &UsageLabels::of(&record), record_sums(&record))
}
