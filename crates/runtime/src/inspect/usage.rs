//! Sums of what was spent.

use crate::access::{Authorized, DataAccess};
use crate::error::Result;
use ambit_storage::clock::Millis;
use ambit_storage::{Ambit, Usage, UsageField, UsageTotals};
use std::collections::BTreeMap;

/// Which records; every condition that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageFilter {
    /// The agent.
    pub agent: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// The group.
    pub group: Option<String>,
    /// The chat.
    pub chat: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// What is booked under the identity of this row of the index.
    pub context: Option<String>,
    /// One day.
    pub date: Option<String>,
    /// From this day on.
    pub date_from: Option<String>,
    /// Up to this day.
    pub date_to: Option<String>,
    /// The zone of days.
    pub time_zone: Option<String>,
    /// From this instant on.
    pub from_instant: Option<Millis>,
    /// Before this instant.
    pub to_instant: Option<Millis>,
}

/// Sums, in all or by value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageSums {
    /// Usage is not counted here.
    Untracked,
    /// Of everything.
    All(UsageTotals),
    /// By value.
    Groups(BTreeMap<String, UsageTotals>),
}

/// What was spent, as far as the caller may see it: their own, or for callers without constraints the whole tenant's.
pub async fn sums(
    ambit: &Ambit,
    who: &Authorized,
    filter: &UsageFilter,
    group_by: Option<UsageField>,
) -> Result<UsageSums> {
    let usage = question(ambit, who, filter).await?;
    let sums = match group_by {
        None => usage.aggregate().await?.map(UsageSums::All),
        Some(field) => usage.group_by(field).await?.map(UsageSums::Groups),
    };
    Ok(sums.unwrap_or(UsageSums::Untracked))
}

type UsageCondition = fn(Usage, &str) -> Usage;

async fn question(ambit: &Ambit, who: &Authorized, filter: &UsageFilter) -> Result<Usage> {
    let access = DataAccess::of(who);
    let mut usage = Usage::all(access.ambit(ambit));
    let texts: [(&Option<String>, UsageCondition); 10] = [
        (&filter.agent, Usage::for_agent),
        (&filter.user, Usage::for_user),
        (&filter.group, Usage::for_group),
        (&filter.chat, Usage::for_chat),
        (&filter.model, Usage::for_model),
        (&filter.provider, Usage::for_provider),
        (&filter.date, Usage::date),
        (&filter.date_from, Usage::date_from),
        (&filter.date_to, Usage::date_to),
        (&filter.time_zone, Usage::time_zone),
    ];
    for (value, narrow) in texts {
        if let Some(value) = value {
            usage = narrow(usage, value);
        }
    }
    if let Some(at) = filter.from_instant {
        usage = usage.from_instant(at);
    }
    if let Some(at) = filter.to_instant {
        usage = usage.to_instant(at);
    }
    if let Some(id) = &filter.context {
        let row = access.row(ambit, id).await?;
        usage = usage.for_identity(&row.identity)?;
    }
    Ok(usage)
}
