//! What model calls cost: a record of each, and the sums that are kept of them.

mod settings;

pub use settings::{ModelPrice, OnRemove, UsageSettings};

use crate::address::{Space, digest};
use crate::batch::BatchWrite;
use crate::clock::Millis;
use crate::json::Json;
use crate::operation::Operation;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// What the call was for, where it did not answer the user: `search`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
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
    pub(crate) fn total(&self) -> i64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }

    /// Refuses amounts that no sum could hold, and times that no day is called after.
    pub(crate) fn check(&self) -> Result<()> {
        let amounts = [
            ("prompt_tokens", Some(self.prompt_tokens)),
            ("completion_tokens", Some(self.completion_tokens)),
            ("total_tokens", self.total_tokens),
            ("cached_tokens", self.cached_tokens),
            ("reasoning_tokens", self.reasoning_tokens),
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
            &digest(&[Json::of(self)?.as_str()])[..32]
        ))
    }
}

/// What a record adds to its row.
pub(crate) fn record_sums(record: &UsageRecord) -> BTreeMap<String, i64> {
    let total = record.total_tokens.unwrap_or_else(|| record.total());
    let fixed = [
        ("prompt_tokens", record.prompt_tokens),
        ("completion_tokens", record.completion_tokens),
        ("total_tokens", total),
        ("records", 1),
    ];
    let known = [
        ("cached_tokens", record.cached_tokens),
        ("reasoning_tokens", record.reasoning_tokens),
    ];
    let known = known
        .into_iter()
        .filter_map(|(name, amount)| Some((name, amount?)));
    let counts = fixed.into_iter().chain(known);
    counts
        .map(|(name, amount)| (name.to_owned(), amount))
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
    Ok(BatchWrite::apply(
        key,
        Operation::Tally {
            labels: Json::of(labels)?,
            add,
        },
        None,
    ))
}
