//! Telling where two drivers differ in what they hold of one space.

use super::copy;
use crate::Result;
use crate::address::Space;
use crate::driver::{Driver, LogRange, ValuePart};
use std::collections::BTreeSet;

/// Entries compared at once.
const STEP: usize = 64;

/// The first thing in which `theirs` is not what `ours` is; index rows do not count.
pub async fn difference(
    ours: &dyn Driver,
    theirs: &dyn Driver,
    space: &Space,
) -> Result<Option<String>> {
    let logs: BTreeSet<String> = ours.logs(space).await?.into_iter().collect();
    let copied: BTreeSet<String> = theirs.logs(space).await?.into_iter().collect();
    for name in logs.union(&copied) {
        if let Some(found) = log(ours, theirs, space, name).await? {
            return Ok(Some(found));
        }
    }
    values(ours, theirs, space).await
}

async fn log(
    ours: &dyn Driver,
    theirs: &dyn Driver,
    space: &Space,
    name: &str,
) -> Result<Option<String>> {
    let log = space.log(name);
    let mut next = 1;
    loop {
        let own = ours.read(&log, LogRange::from(next, STEP)).await?;
        let copy = theirs.read(&log, LogRange::from(next, STEP)).await?;
        if own.head != copy.head {
            let last = |page: &crate::driver::LogPage| {
                page.head
                    .map_or_else(|| "none".to_owned(), |head| head.last.to_string())
            };
            let (own, copy) = (last(&own), last(&copy));
            return Ok(Some(format!(
                "log {log} has {own} entries, the copy has {copy} or is of another time"
            )));
        }
        let differs = own
            .entries
            .iter()
            .zip(&copy.entries)
            .find(|(own, copy)| own != copy);
        if let Some((own, _)) = differs {
            return Ok(Some(format!("entry {} of log {log} differs", own.seq)));
        }
        if own.entries.len() != copy.entries.len() {
            return Ok(Some(format!("log {log} lacks entries from {next} on")));
        }
        match own.entries.last() {
            Some(last) => next = last.seq + 1,
            None => return Ok(None),
        }
    }
}

async fn values(ours: &dyn Driver, theirs: &dyn Driver, space: &Space) -> Result<Option<String>> {
    let mut after: Option<String> = None;
    loop {
        let own = ours
            .scan(space, &copy::page(after.clone(), ValuePart::Whole))
            .await?;
        let copied = theirs
            .scan(space, &copy::page(after, ValuePart::Whole))
            .await?;
        for (at, (name, entry)) in own.iter().enumerate() {
            if copied
                .get(at)
                .is_none_or(|found| *found != (name.clone(), entry.clone()))
            {
                return Ok(Some(format!("value {} differs", space.key(name.as_str()))));
            }
        }
        if let Some((name, _)) = copied.get(own.len()) {
            return Ok(Some(format!(
                "value {} is in the copy alone",
                space.key(name.as_str())
            )));
        }
        match own.into_iter().next_back() {
            Some((last, _)) => after = Some(last),
            None => return Ok(None),
        }
    }
}
