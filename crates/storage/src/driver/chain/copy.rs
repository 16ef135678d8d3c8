//! Making one driver's logs, values and rows equal to another's. Nothing is judged, and everything can be repeated.
//!
//! The target is always looked at before the source: what the target has came from the source earlier, so a target that
//! is ahead even then did not get it from there, and is left alone.

use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head};
use crate::directory::{IndexRow, RowFilter};
use crate::driver::{Driver, LogRange, ValuePages, ValuePart, ValueScan, first_row};
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::collections::BTreeSet;

/// Entries, values or rows copied at once.
const STEP: usize = 64;
/// How often a copy that another writer crossed is begun anew.
const TRIES: usize = 8;

/// Copies what `to` misses of a log. A log that `from` has not is left as it is: erasing is not copying.
pub async fn log(from: &dyn Driver, to: &dyn Driver, log: &LogKey) -> Result<()> {
    uncrossed(|| copy_log(from, to, log)).await
}

/// Copies the bodies of entries that both have.
pub async fn bodies(
    from: &dyn Driver,
    to: &dyn Driver,
    log: &LogKey,
    seqs: &BTreeSet<u64>,
) -> Result<()> {
    let theirs = to.read(log, LogRange::head()).await?.head;
    let mut bodies = Vec::with_capacity(seqs.len());
    for seq in seqs {
        let page = from.read(log, LogRange::from(*seq, 1)).await?;
        let is_same = page.head.map(|head| head.generation) == theirs.map(|head| head.generation);
        let entries = page.entries.into_iter();
        let found = entries.filter(|entry| is_same && entry.seq == *seq);
        bodies.extend(found.map(|entry| (entry.seq, entry.body)));
    }
    let redact = BatchWrite::redact(log.clone(), bodies);
    let expected = BatchCheck::head(log.clone(), theirs);
    to.commit(Batch::of([redact]).checking(expected))
        .await
        .map(|_| ())
}

/// Makes a value equal, absent included.
pub async fn value(from: &dyn Driver, to: &dyn Driver, key: &ValueKey) -> Result<()> {
    uncrossed(|| copy_value(from, to, key)).await
}

/// Copies the index row of a space. A row that `from` has not is left as it is: erasing is not copying.
pub async fn row(from: &dyn Driver, to: &dyn Driver, space: &Space) -> Result<()> {
    let theirs = row_of(to, space).await?;
    let Some(ours) = row_of(from, space).await? else {
        return Ok(());
    };
    if theirs.as_ref() == Some(&ours) {
        return Ok(());
    }
    // The same row may stand elsewhere there, where its ordinal was taken.
    let is_ahead = |theirs: &IndexRow| theirs.id != ours.id && theirs.ordinal > ours.ordinal;
    if let Some(theirs) = theirs.filter(is_ahead) {
        let what = format!("the index row of {space}");
        return Err(ahead(&what, ours.ordinal, theirs.ordinal));
    }
    let mirror = BatchWrite::mirror_row(ours);
    to.commit(Batch::of([mirror])).await.map(|_| ())
}

/// Makes the index row of a space equal, absent included.
pub async fn row_or_none(from: &dyn Driver, to: &dyn Driver, space: &Space) -> Result<()> {
    if row_of(from, space).await?.is_some() {
        return row(from, to, space).await;
    }
    let Some(IndexRow { tenant, id, .. }) = row_of(to, space).await? else {
        return Ok(());
    };
    let untrack = BatchWrite::Untrack { tenant, id };
    to.commit(Batch::of([untrack])).await.map(|_| ())
}

/// Erases a space in `to` and copies all of it, its index row too.
pub async fn recopy_space(from: &dyn Driver, to: &dyn Driver, space: &Space) -> Result<()> {
    contents(from, to, space).await?;
    row_or_none(from, to, space).await
}

/// Erases a space in `to` and copies its logs and values.
pub async fn contents(from: &dyn Driver, to: &dyn Driver, space: &Space) -> Result<()> {
    let remove = BatchWrite::Remove {
        space: space.clone(),
    };
    to.commit(Batch::of([remove])).await?;
    for name in from.logs(space).await? {
        log(from, to, &space.log(name)).await?;
    }
    let mut values = ValuePages::of(from, space, Pattern::all(), ValuePart::Nothing);
    while let Some(found) = values.next().await? {
        for (name, _) in found {
            value(from, to, &space.key(name)).await?;
        }
    }
    Ok(())
}

pub async fn row_of(driver: &dyn Driver, space: &Space) -> Result<Option<IndexRow>> {
    first_row(driver, &RowFilter::space(space)).await
}

/// The next values of a space, by name.
pub fn page(after: Option<String>, part: ValuePart) -> ValueScan {
    ValueScan {
        after,
        ..ValueScan::first(Pattern::all(), STEP, part)
    }
}

/// A copy that contradicts its source.
pub fn ahead(what: &str, ours: impl std::fmt::Debug, theirs: impl std::fmt::Debug) -> Error {
    let reason = format!(
        "the copy has {theirs:?} and is ahead of its primary, which has {ours:?}; \
         `ambit doctor` compares them, keep the right one"
    );
    Error::corrupt(what, reason)
}

/// Begins a copy anew as long as another writer crosses it.
async fn uncrossed<F: Future<Output = Result<()>>>(copy: impl Fn() -> F) -> Result<()> {
    for _ in 1..TRIES {
        match copy().await {
            Err(Error::Conflict { .. }) => {}
            done => return done,
        }
    }
    copy().await
}

async fn copy_log(from: &dyn Driver, to: &dyn Driver, log: &LogKey) -> Result<()> {
    let mut theirs = to.read(log, LogRange::head()).await?.head;
    loop {
        let next = |ours: Head| match theirs {
            Some(theirs) if theirs.generation == ours.generation => theirs.last + 1,
            _ => 1,
        };
        let Some(ours) = from.read(log, LogRange::head()).await?.head else {
            return Ok(());
        };
        if theirs == Some(ours) {
            return Ok(());
        }
        if let Some(theirs) = theirs.filter(|theirs| *theirs > ours) {
            return Err(ahead(&format!("log {log}"), ours, theirs));
        }
        let page = from.read(log, LogRange::from(next(ours), STEP)).await?;
        if page.head.map(|head| head.generation) != Some(ours.generation) {
            continue;
        }
        let copied = page.entries.last().map_or(0, |entry| entry.seq);
        let mirror = BatchWrite::mirror_log(log.clone(), ours, page.entries);
        let expected = BatchCheck::head(log.clone(), theirs);
        to.commit(Batch::of([mirror]).checking(expected)).await?;
        theirs = Some(Head::new(ours.generation, copied));
    }
}

async fn copy_value(from: &dyn Driver, to: &dyn Driver, key: &ValueKey) -> Result<()> {
    let theirs = to.get(key, ValuePart::Nothing).await?;
    let ours = from.get(key, ValuePart::Whole).await?;
    match (&ours, &theirs) {
        (None, None) => return Ok(()),
        (Some(ours), Some(theirs)) if theirs.version > ours.version => {
            return Err(ahead(&format!("value {key}"), ours.version, theirs.version));
        }
        (Some(ours), Some(theirs))
            if (ours.version, ours.expires_at) == (theirs.version, theirs.expires_at) =>
        {
            return Ok(());
        }
        _ => {}
    }
    let expected = BatchCheck::version(key.clone(), theirs.map(|entry| entry.version));
    let mirror = Batch::of([BatchWrite::mirror_value(key.clone(), ours)]);
    to.commit(mirror.checking(expected)).await.map(|_| ())
}
