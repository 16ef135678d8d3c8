//! What a move carries: the spaces of a storage, and what belongs to it elsewhere: the sums of usage, the notes of open turns and of
//! copies.

use super::record::RelocationRecord;
use crate::address::{ITEMS, LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, LogEntry, NewEntry};
use crate::copies;
use crate::directory::IndexRow;
use crate::driver::chain::{compare, copy};
use crate::driver::{Driver, LogPages, LogRange, ValuePages, ValuePart};
use crate::erasure::{forget_words, open_turns};
use crate::items::CHUNK;
use crate::kind::StorageKind;
use crate::lease::Lease;
use crate::memory;
use crate::operation::Operation;
use crate::pattern::Pattern;
use crate::session::{Ambit, ChatHistoryStorage, UsageStorage};
use crate::stores::Placement;
use crate::usage::{UsageLabels, UsageRecord};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a copy that somebody wrote into is brought level again.
const TRIES: usize = 8;

/// Where things are, where they go, and what they are.
pub(super) struct RelocationPlan {
    spaces: Vec<Space>,
    /// What the old drivers must forget of a history besides, once the new ones have it.
    indexes: Vec<BatchWrite>,
    is_usage: bool,
    /// The old drivers together.
    old: Placement,
    /// The new drivers together.
    new: Placement,
    /// The old primary, which everything is copied from.
    source: Arc<dyn Driver>,
    /// All new drivers but the source.
    copies: Vec<Arc<dyn Driver>>,
    /// The new drivers that are no old ones.
    added: Vec<Arc<dyn Driver>>,
    /// The old drivers that are no new ones, by name.
    dropped: Vec<(String, Arc<dyn Driver>)>,
}

impl RelocationPlan {
    pub(super) fn of(ambit: &Ambit, row: &IndexRow, note: &RelocationRecord) -> Result<Self> {
        let stores = ambit.stores();
        let (old, new) = (stores.chain(&note.from)?, stores.chain(&note.to)?);
        let driver = |name: &String| stores.drivers()[name].clone();
        let (mut spaces, mut indexes) = (vec![row.space()], Vec::new());
        if row.identity.scope() == Some(ChatHistoryStorage::PREFIX) {
            let memory = row.identity.with_scope(memory::SCOPE)?;
            let memory = Space::of(&row.tenant, &memory);
            indexes.extend(forget_words(&row.tenant, &row.identity, old.names()));
            indexes.extend(memory::forget_index(&memory, old.names()));
            spaces.push(memory);
        }
        let (from, to) = (old.names(), new.names());
        let copies = to.iter().filter(|name| **name != from[0]).map(driver);
        let added = to.iter().filter(|name| !from.contains(name)).map(driver);
        let dropped = from.iter().filter(|name| !to.contains(name));
        Ok(Self {
            spaces,
            indexes,
            is_usage: row.identity.scope() == Some(UsageStorage::PREFIX),
            source: driver(&from[0]),
            copies: copies.collect(),
            added: added.collect(),
            dropped: dropped.map(|name| (name.clone(), driver(name))).collect(),
            old,
            new,
        })
    }

    pub(super) fn lease_driver(&self) -> Arc<dyn Driver> {
        self.old.driver().clone()
    }

    pub(super) fn lease_key(&self) -> ValueKey {
        self.spaces[0].lease()
    }

    /// Erases what the lease left in a driver that has nothing else of the session now.
    pub(super) async fn forget_lease(&self) -> Result<()> {
        let primary = &self.old.names()[0];
        if self.dropped.iter().all(|(name, _)| name != primary) {
            return Ok(());
        }
        let space = self.lease_key().space;
        self.source
            .commit(Batch::of([BatchWrite::Remove { space }]))
            .await
            .map(|_| ())
    }

    /// Refuses a driver that holds something of the identity which no move has brought there.
    pub(super) async fn check_room(&self) -> Result<()> {
        for driver in &self.added {
            for space in &self.spaces {
                let is_free = driver.logs(space).await?.is_empty()
                    && driver
                        .scan(space, &copy::page(None, ValuePart::Nothing))
                        .await?
                        .is_empty();
                if !is_free {
                    let reason = format!(
                        "{} has something of {space} already, which would be lost; name another store",
                        self.new.names().join(", ")
                    );
                    return Err(Error::invalid("to", reason));
                }
            }
        }
        Ok(())
    }

    /// Makes the new copies, whatever an earlier attempt left of them.
    pub(super) async fn copy(&self) -> Result<()> {
        for to in &self.added {
            for space in &self.spaces {
                copy::contents(self.source.as_ref(), to.as_ref(), space).await?;
            }
        }
        Ok(())
    }

    /// Copies what has changed since, until nothing differs.
    pub(super) async fn catch_up(&self) -> Result<()> {
        for to in &self.copies {
            let mut left = None;
            for _ in 0..TRIES {
                left = self.catch_up_copy(to.as_ref()).await?;
                if left.is_none() {
                    break;
                }
            }
            if let Some(what) = left {
                return Err(Error::Conflict {
                    what: self.spaces[0].to_string(),
                    expected: "two equal copies".to_owned(),
                    found: format!("{what}; repeat the move when fewer write"),
                });
            }
        }
        Ok(())
    }

    /// One round, and what differs after it.
    async fn catch_up_copy(&self, to: &dyn Driver) -> Result<Option<String>> {
        let from = self.source.as_ref();
        for key in self.values_beside().await? {
            copy::value(from, to, &key).await?;
        }
        for space in &self.spaces {
            if compare::difference(from, to, space).await?.is_none() {
                continue;
            }
            let logs = from.logs(space).await?;
            for name in &logs {
                copy::log(from, to, &space.log(name.as_str())).await?;
            }
            // Copying erases nothing: logs may have been dropped since.
            let gone = to.logs(space).await?.into_iter();
            let gone = gone.filter(|name| !logs.contains(name));
            let drops = gone.map(|name| BatchWrite::Drop {
                log: space.log(name),
            });
            to.commit(Batch::of(drops)).await?;
            for name in names(from, space).await?.union(&names(to, space).await?) {
                copy::value(from, to, &space.key(name.as_str())).await?;
            }
            if let Some(found) = compare::difference(from, to, space).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// How long each log is.
    pub(super) async fn heads(&self) -> Result<BTreeMap<String, u64>> {
        let mut heads = BTreeMap::new();
        for space in &self.spaces {
            for name in self.source.logs(space).await? {
                let head = self
                    .source
                    .read(&space.log(&name), LogRange::head())
                    .await?
                    .head;
                heads.insert(within(space, &name), head.map_or(0, |head| head.last));
            }
        }
        Ok(heads)
    }

    /// Makes the index rows name these drivers, and writes what goes along.
    pub(super) async fn place(
        &self,
        ambit: &Ambit,
        row: &IndexRow,
        names: &[String],
        along: Vec<BatchWrite>,
    ) -> Result<()> {
        let index = ambit.stores().index()?;
        let mut writes = along;
        for space in &self.spaces {
            let Some(row) = copy::row_of(index.driver().as_ref(), space).await? else {
                continue;
            };
            let row = IndexRow {
                placement: names.to_vec(),
                ..row
            };
            writes.push(BatchWrite::mirror_row(row));
        }
        if writes.is_empty() {
            return Err(Error::not_found("context", row.id.clone()));
        }
        index.driver().commit(Batch::of(writes)).await.map(|_| ())
    }

    pub(super) async fn erase_new(&self) -> Result<()> {
        let beside = self.values_beside().await?;
        for driver in &self.added {
            driver.commit(self.erasure(&beside)).await?;
        }
        Ok(())
    }

    /// Erases the old copies, once what came to them behind the last copied entry is in the new ones.
    pub(super) async fn erase_old(&self, note: &RelocationRecord, lease: &Lease) -> Result<()> {
        for _ in 0..TRIES {
            match self.try_erase_old(note, lease).await {
                Err(Error::Conflict { .. }) => {}
                done => return done,
            }
        }
        self.try_erase_old(note, lease).await
    }

    async fn try_erase_old(&self, note: &RelocationRecord, lease: &Lease) -> Result<()> {
        let beside = self.values_beside().await?;
        // The primary last: as long as it has records and notes, what belongs to them is known.
        for (name, driver) in self.dropped.iter().rev() {
            let mut batch = self.erasure(&beside);
            if *name == self.old.names()[0] {
                batch.checks = self.bring_late_entries(note).await?;
                batch.checks.push(lease.check());
            }
            driver.commit(batch).await?;
        }
        if !self.indexes.is_empty() {
            let forgotten = Batch::of(self.indexes.iter().cloned());
            self.old.driver().commit(forgotten).await?;
        }
        Ok(())
    }

    fn erasure(&self, beside: &[ValueKey]) -> Batch {
        let spaces = self.spaces.iter().cloned();
        let beside = beside
            .iter()
            .map(|key| BatchWrite::apply(key.clone(), Operation::Del, None));
        Batch::of(
            spaces
                .map(|space| BatchWrite::Remove { space })
                .chain(beside),
        )
    }

    /// Appends to the new copy what the old one was given after it was copied, and says at which heads that was.
    async fn bring_late_entries(&self, note: &RelocationRecord) -> Result<Vec<BatchCheck>> {
        let mut checks = Vec::new();
        for space in &self.spaces {
            for name in self.source.logs(space).await? {
                let copied = note.heads.get(&within(space, &name)).copied();
                let log = space.log(name);
                let head = self.bring_entries(&log, copied.unwrap_or(0) + 1).await?;
                checks.push(BatchCheck::Head { log, head });
            }
        }
        Ok(checks)
    }

    /// Appends the entries from this sequence on, and says where the log ended then.
    async fn bring_entries(&self, log: &LogKey, mut next: u64) -> Result<Option<Head>> {
        loop {
            let late = self.source.read(log, LogRange::from(next, CHUNK)).await?;
            let Some(last) = late.entries.last() else {
                return Ok(late.head);
            };
            next = last.seq + 1;
            let new = |entry: LogEntry| NewEntry::new(entry.id, entry.body);
            let append =
                BatchWrite::append(log.clone(), late.entries.into_iter().map(new).collect());
            self.new.driver().commit(Batch::of([append])).await?;
        }
    }

    /// What belongs to it outside of its spaces: the rows of sums that the records of a usage storage have made, and the notes by
    /// which a history is found that has open turns or copies of messages.
    async fn values_beside(&self) -> Result<Vec<ValueKey>> {
        if !self.is_usage {
            let mut notes = open_turns(self.source.as_ref(), &self.spaces[0]).await?;
            let copies = copies::note_keys_of(self.source.as_ref(), &self.spaces[0]).await?;
            notes.extend(copies);
            return Ok(notes);
        }
        let mut names = BTreeSet::new();
        let mut pages = LogPages::of(&*self.source, self.spaces[0].log(ITEMS));
        while let Some(entries) = pages.next().await? {
            for entry in &entries {
                names.insert(UsageLabels::of(&entry.body.to::<UsageRecord>()?).name()?);
            }
        }
        let space = Space::usage_sums(&self.spaces[0].tenant);
        Ok(names.into_iter().map(|name| space.key(name)).collect())
    }
}

fn within(space: &Space, log: &str) -> String {
    format!("{}/{log}", space.digest())
}

async fn names(driver: &dyn Driver, space: &Space) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut values = ValuePages::of(driver, space, Pattern::all(), ValuePart::Nothing);
    while let Some(found) = values.next().await? {
        names.extend(found.into_iter().map(|(name, _)| name));
    }
    Ok(names)
}
