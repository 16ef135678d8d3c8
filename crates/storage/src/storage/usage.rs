//! `UsageStorage`: one record per model call, and the sums that are kept with each commit.

use super::cell::StorageCell;
use super::{CHUNK, ListStorage, SharedCell, StorageKind, new_entry};
use crate::address::Space;
use crate::batch::BatchWrite;
use crate::clock::{Clock, Millis};
use crate::context::Session;
use crate::json::Json;
use crate::operation::Operation;
use crate::stores::Placement;
use crate::{Error, Result, SessionIdentity, address, ids};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a model call cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageRecord {
    /// Given when it is recorded.
    #[serde(default)]
    pub record_id: String,
    /// Tokens of the request.
    pub prompt_tokens: i64,
    /// Tokens of the answer.
    pub completion_tokens: i64,
    /// As the provider says, else the sum.
    #[serde(default)]
    pub total_tokens: Option<i64>,
    /// Tokens of the request that the provider had already.
    #[serde(default)]
    pub cached_tokens: Option<i64>,
    /// Tokens of the answer that were thought and not said.
    #[serde(default)]
    pub reasoning_tokens: Option<i64>,
    /// The agent, from the base identity.
    #[serde(default)]
    pub agent_name: String,
    /// The user, from the base identity.
    #[serde(default)]
    pub user_id: Option<String>,
    /// The group, from the base identity.
    #[serde(default)]
    pub group: Option<String>,
    /// The chat, from the base identity.
    #[serde(default)]
    pub chat_name: Option<String>,
    /// The storage key of the identity it is booked under.
    #[serde(default)]
    pub usage_identity: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// The model.
    #[serde(default)]
    pub model_name: Option<String>,
    /// The provider.
    #[serde(default)]
    pub provider_name: Option<String>,
    /// What it cost; unknown where there is no price.
    #[serde(default)]
    pub cost: Option<Cost>,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub recorded_at: Millis,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Millionths of the currency.
    pub micros: i64,
    /// The currency's code.
    pub currency: String,
}

/// No record has more tokens or millionths, so that no sum over records leaves the range of its number.
const MOST: i64 = 1_000_000_000_000_000;
/// The last millisecond of the year 9999.
const LAST: Millis = 253_402_300_799_999;

impl UsageRecord {
    /// Tokens in all, where the provider does not say.
    fn total(&self) -> i64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }

    /// Refuses amounts that no sum could hold, and times that no day is called after.
    pub(crate) fn check(&self) -> Result<()> {
        let amounts = [
            ("prompt_tokens", Some(self.prompt_tokens)),
            ("completion_tokens", Some(self.completion_tokens)),
            ("total_tokens", self.total_tokens),
            ("cost", self.cost.as_ref().map(|cost| cost.micros)),
        ];
        for (field, amount) in amounts {
            if let Some(amount) = amount.filter(|amount| !(-MOST..=MOST).contains(amount)) {
                let reason = format!("is {amount}; at most {MOST} can be counted");
                return Err(Error::invalid(field, reason));
            }
        }
        if !(0..=LAST).contains(&self.recorded_at) {
            let at = self.recorded_at;
            let reason = format!("is {at}; give milliseconds since 1970, up to the year 9999");
            return Err(Error::invalid("recorded_at", reason));
        }
        Ok(())
    }
}

/// Sums are kept for stretches of this length: every time zone's days begin at one of their edges.
pub(crate) const STRETCH: Millis = 15 * 60 * 1_000;

/// What a row of sums is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsageLabels {
    pub(crate) start: Millis,
    pub(crate) agent: String,
    pub(crate) user: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) chat: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) identity: Option<String>,
}

impl UsageLabels {
    pub(crate) fn of(record: &UsageRecord) -> Self {
        Self {
            start: record.recorded_at.div_euclid(STRETCH) * STRETCH,
            agent: record.agent_name.clone(),
            user: record.user_id.clone(),
            group: record.group.clone(),
            chat: record.chat_name.clone(),
            model: record.model_name.clone(),
            provider: record.provider_name.clone(),
            identity: Some(record.usage_identity.clone()),
        }
    }

    /// The row's name: its stretch first, so that a range of time is a range of names.
    pub(crate) fn name(&self) -> Result<String> {
        Ok(format!(
            "{:015}/{}",
            self.start,
            &address::digest(&[Json::of(self)?.as_str()])[..32]
        ))
    }
}

/// What a record adds to its row.
pub(crate) fn sums(record: &UsageRecord) -> BTreeMap<String, i64> {
    let total = record.total_tokens.unwrap_or_else(|| record.total());
    let fixed = [
        ("prompt_tokens", record.prompt_tokens),
        ("completion_tokens", record.completion_tokens),
        ("total_tokens", total),
        ("records", 1),
    ];
    let fixed = fixed
        .into_iter()
        .map(|(name, amount)| (name.to_owned(), amount));
    fixed
        .chain(
            record
                .cost
                .iter()
                .map(|cost| (format!("cost/{}", cost.currency), cost.micros)),
        )
        .collect()
}

/// The write that adds amounts to a row of sums.
pub(crate) fn tally(
    tenant: &str,
    labels: &UsageLabels,
    add: BTreeMap<String, i64>,
) -> Result<BatchWrite> {
    let key = Space::usage_sums(tenant).key(labels.name()?);
    Ok(BatchWrite::Apply {
        key,
        op: Operation::Tally {
            labels: Json::of(labels)?,
            add,
        },
        life: None,
    })
}

/// Where a session's usage is counted. Cheap to clone; the clones share what is staged.
#[derive(Clone)]
pub struct UsageStorage {
    cell: SharedCell,
    session: Option<Arc<Session>>,
}

impl StorageKind for UsageStorage {
    const PREFIX: &'static str = "usage";
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
        let sum = (!session.is_temporary())
            .then(|| tally(session.tenant(), &UsageLabels::of(record), sums(record)));
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

    /// The records that are durable.
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

impl fmt::Debug for UsageStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UsageStorage")
            .field(&self.cell.identity.key())
            .finish()
    }
}
