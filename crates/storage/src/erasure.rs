//! What the erasure of a stored identity takes along.

use crate::Result;
use crate::address::{ITEMS, Space, ValueKey};
use crate::batch::BatchWrite;
use crate::copies;
use crate::driver::{Driver, LogPages, ValuePart, ValueScan};
use crate::identity::SessionIdentity;
use crate::items::{CHUNK, load};
use crate::kind::{CHAT_HISTORY, USAGE};
use crate::memory::{SCOPE, forget_index};
use crate::operation::Operation;
use crate::pattern::Pattern;
use crate::usage::{OnRemove, UsageLabels, UsageRecord, record_sums, tally};
use std::collections::BTreeMap;

/// What is done to a stored identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalAction {
    /// Its data goes, its row stays.
    Clear,
    /// Data and row go.
    Remove,
}

impl RemovalAction {
    /// The write that does so.
    pub(crate) fn on(self, space: Space) -> BatchWrite {
        match self {
            Self::Clear => BatchWrite::Clear { space },
            Self::Remove => BatchWrite::Remove { space },
        }
    }
}

/// A stored identity whose data goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Erasure<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) identity: &'a SessionIdentity,
    /// The drivers that hold it.
    pub(crate) drivers: &'a [String],
    pub(crate) action: RemovalAction,
    /// What becomes of the sums of its usage.
    pub(crate) on_remove: OnRemove,
}

impl Erasure<'_> {
    /// The writes that go with it: a history takes its memory along, its owner's index, and what is noted of its copies and of
    /// turns that nobody runs any more; a memory its index, usage its sums.
    pub(crate) async fn dependent_writes(&self, driver: &dyn Driver) -> Result<Vec<BatchWrite>> {
        let space = Space::of(self.tenant, self.identity);
        match self.identity.scope() {
            Some(CHAT_HISTORY) => {
                let memory = self.identity.with_scope(SCOPE)?;
                let mut noted = open_turns(driver, &space).await?;
                noted.extend(copies::note_keys_of(driver, &space).await?);
                let forget = |key| BatchWrite::apply(key, Operation::Del, None);
                let mut writes: Vec<BatchWrite> = noted.into_iter().map(forget).collect();
                let memory = Space::of(self.tenant, &memory);
                writes.extend(forget_index(&memory, self.drivers));
                writes.push(self.action.on(memory));
                writes.extend(forget_words(self.tenant, self.identity, self.drivers));
                Ok(writes)
            }
            Some(SCOPE) => Ok(forget_index(&space, self.drivers).into()),
            Some(USAGE) => carried_over(driver, &space, self.on_remove).await,
            _ => Ok(Vec::new()),
        }
    }
}

/// The writes that go with every other one by which stored messages are forgotten: they drop the index of their owner's
/// conversations, which the next search begins anew. Whoever adds to an index holds on to the state it had before they read
/// any message, so that none comes back behind these writes.
pub(crate) fn forget_words(
    tenant: &str,
    identity: &SessionIdentity,
    drivers: &[String],
) -> [BatchWrite; 2] {
    let space = Space::recall(tenant, identity, drivers);
    let note = Space::recall_indexes().key(space.digest());
    let note = BatchWrite::apply(note, Operation::Del, None);
    [BatchWrite::Remove { space }, note]
}

/// The notes of the open turns of a history, and of the requests that they are known by.
pub(crate) async fn open_turns(driver: &dyn Driver, space: &Space) -> Result<Vec<ValueKey>> {
    let scan = ValueScan::first(
        Pattern::parse(&format!("{}/*", space.digest())),
        CHUNK,
        ValuePart::Nothing,
    );
    let open = driver.scan(&Space::turns(), &scan).await?.into_iter();
    let keys = open.flat_map(|(name, _)| {
        let request = name.split_once('/').map_or("", |(_, request)| request);
        let known = Space::requests(&space.tenant).key(request);
        [known, Space::turns().key(name)]
    });
    Ok(keys.collect())
}

/// Takes the records' amounts out of the rows of sums that name user and chat, and keeps them in rows that do not.
async fn carried_over(
    driver: &dyn Driver,
    space: &Space,
    on_remove: OnRemove,
) -> Result<Vec<BatchWrite>> {
    let mut rows: BTreeMap<String, (UsageLabels, BTreeMap<String, i64>)> = BTreeMap::new();
    let mut pages = LogPages::of(driver, space.log(ITEMS));
    while let Some(entries) = pages.next().await? {
        for entry in entries {
            let record: UsageRecord = load(driver, space, entry).await?.body.to()?;
            let labels = UsageLabels::of(&record);
            let (_, sums) = rows
                .entry(labels.name()?)
                .or_insert_with(|| (labels, BTreeMap::new()));
            record_sums(&record)
                .into_iter()
                .for_each(|(name, sum)| *sums.entry(name).or_default() += sum);
        }
    }
    let mut writes = Vec::new();
    for (name, (labels, sums)) in rows {
        let key = Space::usage_sums(&space.tenant).key(name);
        writes.push(BatchWrite::apply(key, Operation::Del, None));
        if on_remove == OnRemove::Keep {
            let nameless = UsageLabels {
                user: None,
                chat: None,
                identity: None,
                ..labels
            };
            writes.push(tally(&space.tenant, &nameless, sums)?);
        }
    }
    Ok(writes)
}
