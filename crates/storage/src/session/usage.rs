//! `UsageStorage`: where a session's usage is counted.

use super::list::ListStorage;
use super::state::Session;
use crate::clock::Clock;
use crate::debug::opaque_debug;
use crate::identity::SessionIdentity;
use crate::items::{CHUNK, SharedCell, StorageCell, new_entry};
use crate::json::Json;
use crate::kind::{StorageKind, USAGE};
use crate::stores::Placement;
use crate::usage::{Cost, UsageLabels, UsageRecord, record_sums, tally};
use crate::{Error, Result, ids};
use std::sync::Arc;

/// Where a session's usage is counted. Cheap to clone; the clones share what is staged.
#[derive(Clone)]
pub struct UsageStorage {
    cell: SharedCell,
    session: Option<Arc<Session>>,
}

impl StorageKind for UsageStorage {
    const PREFIX: &'static str = USAGE;
    type Item = UsageRecord;
}

impl UsageStorage {
    /// Usage of this identity at this place; a session opens it.
    pub fn new(identity: SessionIdentity, placement: Placement) -> Result<Self> {
        Ok(Self {
            cell: Arc::new(StorageCell::new(Self::PREFIX, identity, placement)?),
            session: None,
        })
    }

    pub(crate) fn attached(cell: SharedCell, session: &Arc<Session>) -> Self {
        Self {
            cell,
            session: Some(session.clone()),
        }
    }

    pub(crate) fn cell(&self) -> &SharedCell {
        &self.cell
    }

    /// The scoped identity it is booked under.
    pub fn identity(&self) -> &SessionIdentity {
        &self.cell.identity
    }

    /// What this would cost where it is booked here, if its model has a price; nothing where tracking is off.
    pub fn cost(&self, record: &UsageRecord) -> Result<Option<Cost>> {
        let settings = &self.session()?.ambit.settings().usage;
        Ok(settings.price(record).filter(|_| settings.is_tracked))
    }

    /// Stages a record and what it adds to the sums; nothing where tracking is off.
    pub fn record(&self, record: UsageRecord) -> Result<Option<UsageRecord>> {
        let session = self.session()?;
        if !session.ambit.settings().usage.is_tracked {
            return Ok(None);
        }
        let record = self.complete(record, &session.ambit.stores().options().clock)?;
        self.stage(&record, false)?;
        Ok(Some(record))
    }

    /// The same for a record that an earlier call of `record` has given, in another process too: it counts once, even if it is
    /// stored already.
    pub fn record_again(&self, record: &UsageRecord) -> Result<()> {
        if !self.session()?.ambit.settings().usage.is_tracked {
            return Ok(());
        }
        record.check()?;
        self.stage(record, true)
    }

    fn stage(&self, record: &UsageRecord, may_be_stored: bool) -> Result<()> {
        let session = self.session()?;
        let limit = session.ambit.stores().options().limits.value;
        let entry = new_entry(record.record_id.clone(), Json::of(record)?, limit)?;
        let sum = (!session.is_temporary()).then(|| {
            tally(
                session.tenant(),
                &UsageLabels::of(record),
                record_sums(record),
            )
        });
        let sum = sum.transpose()?.map(|sum| (entry.id.clone(), sum));
        let mut staged = self.cell.staged();
        if staged.appends.iter().any(|other| other.id == entry.id) {
            return Ok(());
        }
        staged.appends.push(entry);
        staged.extra.extend(sum);
        staged.is_doubtful |= may_be_stored;
        Ok(())
    }

    /// The records booked here, staged ones included.
    pub async fn records(&self) -> Result<Vec<UsageRecord>> {
        ListStorage::<Self>::attached(self.cell.clone(), self.session()?)
            .get()
            .await
    }

    pub(crate) async fn stored(&self) -> Result<Vec<UsageRecord>> {
        let list = ListStorage::<Self>::attached(self.cell.clone(), self.session()?);
        let mut records: Vec<UsageRecord> = Vec::new();
        loop {
            let page = list.archive(records.len() as u64 + 1, CHUNK).await?;
            if page.is_empty() {
                return Ok(records);
            }
            records.extend(page);
        }
    }

    fn complete(&self, mut record: UsageRecord, clock: &Clock) -> Result<UsageRecord> {
        let session = self.session()?;
        let base = session.base();
        record.record_id = ids::ordered(clock);
        record.total_tokens = record.total_tokens.or(Some(record.total()));
        base.agent_name().clone_into(&mut record.agent_name);
        record.user_id = base.user_id().map(str::to_owned);
        record.group = base.group().map(str::to_owned);
        record.chat_name = base.chat_name().map(str::to_owned);
        record.usage_identity = self.cell.identity.storage_key();
        if record.cost.is_none() {
            record.cost = session.ambit.settings().usage.price(&record);
        }
        if record.recorded_at == 0 {
            record.recorded_at = clock.now();
        }
        record.check()?;
        Ok(record)
    }

    fn session(&self) -> Result<&Arc<Session>> {
        self.session.as_ref().ok_or_else(|| {
            Error::invalid(
                "storage",
                "belongs to no session yet; open one with its agent",
            )
        })
    }
}

opaque_debug!(UsageStorage, |this| key: this.cell.identity.key());
