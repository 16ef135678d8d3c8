//! What was spent: questions over the sums that are kept with each commit.

mod conditions;
mod period;
mod sums;

use crate::address::Space;
use crate::driver::{Driver, LogPages};
use crate::items::load;
use crate::kind::StorageKind;
use crate::session::{Ambit, Context, LiveAgent, UsageStorage};
use crate::usage::{UsageLabels, UsageRecord, record_sums};
use crate::{Error, Result, address, suggestion};
use jiff::tz::TimeZone;
use period::{PeriodBounds, UsagePeriod};
use std::collections::{BTreeMap, BTreeSet};
use sums::{StoredSums, SumsRole, SumsStore};

/// By what sums are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageField {
    /// The agent.
    Agent,
    /// The user.
    User,
    /// The group.
    Group,
    /// The chat.
    Chat,
    /// The model.
    Model,
    /// The provider.
    Provider,
    /// The day, in the zone asked for.
    Day,
    /// The hour, in the zone asked for: `2026-11-21T13`. Where clocks are set back, one name has two hours.
    Hour,
}

/// Sums over records.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageTotals {
    /// Tokens of requests.
    pub prompt_tokens: i64,
    /// Tokens of answers.
    pub completion_tokens: i64,
    /// Tokens in all.
    pub total_tokens: i64,
    /// Tokens of requests that the providers had already.
    pub cached_tokens: i64,
    /// Tokens of answers that were thought and not said.
    pub reasoning_tokens: i64,
    /// How many records.
    pub records: i64,
    /// Millionths by currency.
    pub cost: BTreeMap<String, i64>,
}

impl UsageTotals {
    fn add(&mut self, sums: &UsageAmounts) {
        for (name, amount) in sums {
            let sum = match name.as_str() {
                "prompt_tokens" => &mut self.prompt_tokens,
                "completion_tokens" => &mut self.completion_tokens,
                "total_tokens" => &mut self.total_tokens,
                "cached_tokens" => &mut self.cached_tokens,
                "reasoning_tokens" => &mut self.reasoning_tokens,
                "records" => &mut self.records,
                other => {
                    let currency = other.strip_prefix("cost/").unwrap_or(other);
                    self.cost.entry(currency.to_owned()).or_default()
                }
            };
            *sum = sum.saturating_add(*amount);
        }
    }
}

/// Amounts by name: tokens, records, and `cost/` of a currency.
type UsageAmounts = BTreeMap<String, i64>;

impl LiveAgent {
    /// Usage of this session.
    pub fn usage(&self) -> Usage {
        Usage::of_session(self.context())
    }
}

/// A question about usage. Narrowing gives a new question.
///
/// ```
/// # use ambit_storage::{Agent, Ambit, Stores, driver::DriverOptions};
/// # struct Support;
/// # impl Agent for Support {
/// #     fn name(&self) -> &str {
/// #         "Support"
/// #     }
/// # }
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// # let stores = Stores::builder(DriverOptions::default()).build()?;
/// # let ambit = Ambit::builder(stores).agent(Support).build();
/// use ambit_storage::storage::UsageRecord;
/// use ambit_storage::{Usage, UsageField};
///
/// # for (user, model) in [("ann", "large"), ("ben", "small")] {
/// let agent = ambit.agent("Support")?.for_user_id(user).await?;
/// agent.context().usage().record(UsageRecord {
///     model_name: Some(model.to_owned()),
///     prompt_tokens: 100,
///     completion_tokens: 20,
///     ..UsageRecord::default()
/// })?;
/// agent.context().save().await?;
/// # }
///
/// let of_ann = Usage::of(&ambit, "Support").for_user("ann").aggregate().await?;
/// assert_eq!(of_ann.expect("usage is tracked").total_tokens, 120);
///
/// let by_model = Usage::all(&ambit).group_by(UsageField::Model).await?;
/// let by_model = by_model.expect("usage is tracked");
/// assert_eq!(by_model.keys().collect::<Vec<_>>(), ["large", "small"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Usage {
    ambit: Ambit,
    tenant: String,
    wanted: BTreeMap<&'static str, Option<String>>,
    period: UsagePeriod,
    /// Of all that was wanted, what cannot be.
    refused: Option<Error>,
    /// The records of a temporary session, of which no sums are kept.
    records: Option<UsageStorage>,
}

impl Usage {
    /// Usage of one agent.
    pub fn of(ambit: impl Into<Ambit>, agent: &str) -> Self {
        Self::all(ambit).want("agent", Some(agent.to_owned()))
    }

    /// All usage.
    pub fn all(ambit: impl Into<Ambit>) -> Self {
        let ambit = ambit.into();
        let tenant = ambit.caller().tenant().to_owned();
        Self {
            ambit,
            tenant,
            wanted: BTreeMap::new(),
            period: UsagePeriod::default(),
            refused: None,
            records: None,
        }
    }

    fn of_session(context: &Context) -> Self {
        let base = context.identity();
        let own = |value: Option<&str>| value.map(str::to_owned);
        let usage = Self {
            records: context.is_temporary().then(|| context.usage()),
            ..Self::of(context.ambit(), base.agent_name())
        };
        usage
            .want("user", own(base.user_id()))
            .want("group", own(base.group()))
            .want("chat", own(base.chat_name()))
    }

    /// The sums of all that is wanted; nothing where usage is not tracked. A store that is away fails it, whatever the store is for:
    /// usage of agents that are gone may be there.
    pub async fn aggregate(&self) -> Result<Option<UsageTotals>> {
        let groups = self.collect(|_| ()).await?;
        Ok(groups.map(|mut groups| groups.remove(&()).unwrap_or_default()))
    }

    /// The sums by value of a field, `unknown` where a record has none; nothing where usage is not tracked.
    pub async fn group_by(
        &self,
        field: UsageField,
    ) -> Result<Option<BTreeMap<String, UsageTotals>>> {
        let zone = self.period.zone()?;
        self.collect(|labels| field.value(labels, &zone)).await
    }

    /// The sums by values of several fields, in their order.
    pub async fn group_by_all(
        &self,
        fields: &[UsageField],
    ) -> Result<Option<BTreeMap<Vec<String>, UsageTotals>>> {
        let zone = self.period.zone()?;
        self.collect(|labels| {
            let values = fields.iter().map(|field| field.value(labels, &zone));
            values.collect::<Vec<String>>()
        })
        .await
    }

    async fn collect<G: Ord>(
        &self,
        group: impl Fn(&UsageLabels) -> G,
    ) -> Result<Option<BTreeMap<G, UsageTotals>>> {
        self.refused.clone().map_or(Ok(()), Err)?;
        let bounds = self.period.bounds()?;
        if !self.ambit.settings().usage.is_tracked {
            return Ok(None);
        }
        let mut groups: BTreeMap<G, UsageTotals> = BTreeMap::new();
        let mut add = |labels: &UsageLabels, sums: &UsageAmounts| {
            groups.entry(group(labels)).or_default().add(sums);
        };
        match &self.records {
            Some(storage) => self.add_records(storage, bounds, &mut add).await?,
            None => self.add_sums(bounds, &mut add).await?,
        }
        groups.retain(|_, totals| totals.records != 0);
        Ok(Some(groups))
    }

    /// Adds the records of a temporary session.
    async fn add_records(
        &self,
        storage: &UsageStorage,
        bounds: PeriodBounds,
        add: &mut impl FnMut(&UsageLabels, &UsageAmounts),
    ) -> Result<()> {
        for record in storage.stored().await? {
            let labels = UsageLabels::of(&record);
            if bounds.contains(record.recorded_at) && self.wants(&labels) {
                add(&labels, &record_sums(&record));
            }
        }
        Ok(())
    }

    /// Adds the rows of sums of all stores, which come in order of time.
    async fn add_sums(
        &self,
        bounds: PeriodBounds,
        add: &mut impl FnMut(&UsageLabels, &UsageAmounts),
    ) -> Result<()> {
        let (stores, space) = (self.stores().await?, Space::usage_sums(&self.tenant));
        let mut rows = StoredSums::of(&stores, &space, bounds.from);
        while let Some(found) = rows.next().await? {
            for row in found {
                if bounds.to.is_some_and(|to| row.labels.start >= to) {
                    return Ok(());
                }
                if self.wants(&row.labels) {
                    let sums = self.within(row.driver, &row.labels, row.sums, bounds);
                    add(&row.labels, &sums.await?);
                }
            }
        }
        Ok(())
    }

    /// A row's sums; of a stretch that is cut by the period's end, those of the records inside it.
    async fn within(
        &self,
        driver: &dyn Driver,
        labels: &UsageLabels,
        sums: UsageAmounts,
        bounds: PeriodBounds,
    ) -> Result<UsageAmounts> {
        let end = labels.start + period::STRETCH;
        let is_whole = bounds.from.is_none_or(|from| from <= labels.start)
            && bounds.to.is_none_or(|to| to >= end);
        let Some(path) = labels.identity.clone().filter(|_| !is_whole) else {
            return Ok(sums);
        };
        let space = Space::new(self.tenant.clone(), path);
        let mut inside = BTreeMap::new();
        let mut pages = LogPages::of(driver, space.log(address::ITEMS));
        while let Some(entries) = pages.next().await? {
            for entry in entries {
                let record: UsageRecord = load(driver, &space, entry).await?.body.to()?;
                if bounds.contains(record.recorded_at) && UsageLabels::of(&record) == *labels {
                    record_sums(&record)
                        .into_iter()
                        .for_each(|(name, sum)| *inside.entry(name).or_default() += sum);
                }
            }
        }
        Ok(inside)
    }

    fn wants(&self, labels: &UsageLabels) -> bool {
        self.wanted.iter().all(|(field, wanted)| {
            let found = match *field {
                "agent" => Some(&labels.agent),
                "user" => labels.user.as_ref(),
                "group" => labels.group.as_ref(),
                "chat" => labels.chat.as_ref(),
                "model" => labels.model.as_ref(),
                "provider" => labels.provider.as_ref(),
                _ => labels.identity.as_ref(),
            };
            wanted.as_ref() == found
        }) && self.ambit.caller().may_see_usage_of(labels.user.as_deref())
    }

    /// The stores that may keep sums, each once: all that there are, because agents come and go and what they have spent stays.
    async fn stores(&self) -> Result<Vec<SumsStore>> {
        let stores = self.ambit.stores();
        let own = self
            .ambit
            .agents()
            .map(|name| self.ambit.agent(name)?.placement(UsageStorage::PREFIX));
        let moved = crate::relocation::usage_placements(&self.ambit).await?;
        let moved = moved.iter().map(|names| stores.chain(names));
        let mut found: BTreeMap<String, SumsStore> = BTreeMap::new();
        let mut secondaries = BTreeSet::new();
        for placement in own.chain(moved) {
            let placement = placement?;
            secondaries.extend(placement.names()[1..].iter().cloned());
            let primary = placement.names()[0].clone();
            found.entry(primary).or_insert_with(|| SumsStore {
                driver: placement.driver().clone(),
                role: SumsRole::Primary,
            });
        }
        for (name, driver) in stores.drivers() {
            found.entry(name.clone()).or_insert_with(|| SumsStore {
                driver: driver.clone(),
                role: match secondaries.contains(name) {
                    true => SumsRole::Secondary,
                    false => SumsRole::Unknown,
                },
            });
        }
        Ok(found.into_values().collect())
    }
}

impl UsageField {
    const NAMED: [(&str, Self); 8] = [
        ("agent", Self::Agent),
        ("user", Self::User),
        ("group", Self::Group),
        ("chat", Self::Chat),
        ("model", Self::Model),
        ("provider", Self::Provider),
        ("day", Self::Day),
        ("hour", Self::Hour),
    ];

    /// What a row's sums are grouped under: its value, `unknown` where it has none.
    fn value(self, labels: &UsageLabels, zone: &TimeZone) -> String {
        let value = match self {
            Self::Agent => Some(labels.agent.clone()),
            Self::User => labels.user.clone(),
            Self::Group => labels.group.clone(),
            Self::Chat => labels.chat.clone(),
            Self::Model => labels.model.clone(),
            Self::Provider => labels.provider.clone(),
            Self::Day => Some(period::day(labels.start, zone)),
            Self::Hour => Some(period::hour(labels.start, zone)),
        };
        value.unwrap_or_else(|| "unknown".to_owned())
    }

    /// Whether it is a stretch of time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Day | Self::Hour)
    }

    /// The field with this name.
    pub fn parse(name: &str) -> Result<Self> {
        let mut named = Self::NAMED.iter();
        let found = named.find(|(known, _)| *known == name);
        found.map(|(_, field)| *field).ok_or_else(|| {
            let known = Self::NAMED.map(|(known, _)| known);
            let hint = suggestion::hint(name, known);
            let [others @ .., last] = known;
            let known = format!("{} and {last}", others.join(", "));
            let reason = format!("\"{name}\" is unknown; known are {known}{hint}");
            Error::invalid("group_by", reason)
        })
    }
}
