//! What can be done to one value, and what it means. `Operation::apply` is the only definition; drivers make it atomic.

mod list;
mod sums;

pub(crate) use list::too_long;
pub use list::{ListChange, ListWindow, MAX_LIST};
pub use sums::SumsRow;

use crate::clock::Millis;
use crate::error::ValueProblem;
use crate::json::{Json, StoredValue};
use crate::{Error, Result};
use std::collections::BTreeMap;
use sums::tally;

/// Whole numbers stay exact up to this, as in JavaScript.
pub const MAX_SAFE: i64 = (1 << 53) - 1;

/// One operation on one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Replaces value, type and life.
    Set(StoredValue),
    /// Replaces value and type; the life stays.
    Replace(StoredValue),
    /// Replaces the content of a dated value; the time of its creation stays.
    SetDated(DatedContent),
    /// Deletes; deleting nothing is no error.
    Del,
    /// Deletes and gives what was there.
    GetDel,
    /// Adds to a number; a missing one counts as 0.
    Incr(serde_json::Number),
    /// Appends items; a missing list is created.
    Push(Vec<Json>),
    /// Takes the last item.
    Pop,
    /// Takes the last items, in stored order.
    Pull(u64),
    /// Takes all items and leaves an empty list.
    PullAll,
    /// Appends those items that are not there yet.
    AddToSet(Vec<Json>),
    /// Replaces the item at an index; a negative one counts from the end.
    ArraySet(i64, Json),
    /// Adds to named whole numbers of an object that starts as `labels` with no numbers: one row of a sum.
    Tally {
        /// What the row is about; kept as first written.
        labels: Json,
        /// What to add, by name.
        add: BTreeMap<String, i64>,
    },
    /// Takes a lease that is free, or one's own again under a new epoch.
    Acquire {
        /// Who takes it.
        holder: String,
    },
    /// Extends the lease that was granted with this epoch.
    Renew {
        /// The epoch of the grant.
        epoch: u64,
    },
    /// Gives the lease back; of another epoch it does nothing.
    Release {
        /// The epoch of the grant.
        epoch: u64,
    },
}

/// What an operation answers.
#[derive(Clone, Debug, PartialEq)]
pub enum OperationOutput {
    /// Nothing to say.
    Nothing,
    /// The new number.
    Number(Json),
    /// The new length.
    Length(u64),
    /// The value or item taken, if there was one.
    Taken(Option<StoredValue>),
    /// The items taken.
    Items(Vec<Json>),
    /// The epoch of the lease granted.
    Epoch(u64),
}

/// The outcome of an operation on a whole value.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationResult {
    /// What is stored now; `None` where nothing is.
    pub value: Option<StoredValue>,
    /// What the caller is told.
    pub output: OperationOutput,
}

impl OperationResult {
    fn new(value: Option<StoredValue>, output: OperationOutput) -> Self {
        Self { value, output }
    }

    /// A value that is stored without a word.
    fn stored(value: Option<StoredValue>) -> Self {
        Self::new(value, OperationOutput::Nothing)
    }
}

/// How long a value lives after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeRule {
    /// As before; a value that this operation creates gets the write's own.
    Keep,
    /// The write's own, from now.
    Renew,
}

impl Operation {
    /// The method's name in the `ctx.memory` reference, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Set(_) => "Set",
            Self::Replace(_) => "Replace",
            Self::SetDated(_) => "SetDated",
            Self::Del => "Del",
            Self::GetDel => "GetDel",
            Self::Incr(_) => "Incr",
            Self::Push(_) => "Push",
            Self::Pop => "Pop",
            Self::Pull(_) => "Pull",
            Self::PullAll => "PullAll",
            Self::AddToSet(_) => "AddToSet",
            Self::ArraySet(..) => "ArraySet",
            Self::Tally { .. } => "Tally",
            Self::Acquire { .. } => "Acquire",
            Self::Renew { .. } => "Renew",
            Self::Release { .. } => "Release",
        }
    }

    /// Whether the value's life starts anew: only `Set` and leases replace it.
    pub fn life(&self) -> LifeRule {
        match self {
            Self::Set(_) | Self::SetDated(_) | Self::Acquire { .. } | Self::Renew { .. } => {
                LifeRule::Renew
            }
            _ => LifeRule::Keep,
        }
    }

    /// The largest text this operation stores, in bytes.
    pub fn size(&self) -> usize {
        let largest = |items: &[Json]| {
            items
                .iter()
                .map(|item| item.as_str().len())
                .max()
                .unwrap_or(0)
        };
        match self {
            Self::Set(value) | Self::Replace(value) => value.size(),
            Self::SetDated(content) => content.json.as_str().len(),
            Self::Push(items) | Self::AddToSet(items) => largest(items),
            Self::ArraySet(_, item) => item.as_str().len(),
            Self::Tally { labels, .. } => labels.as_str().len(),
            _ => 0,
        }
    }

    /// The meaning: what is stored after this operation on `current`, and what it answers. `version` is the one that
    /// the store gives to the value if it changes; a lease takes it as its epoch. Expired values are `None`.
    pub fn apply(
        &self,
        key: &str,
        current: Option<StoredValue>,
        version: u64,
    ) -> Result<OperationResult> {
        match self {
            Self::Set(value) | Self::Replace(value) => {
                Ok(OperationResult::stored(Some(value.clone())))
            }
            Self::SetDated(content) => {
                let value = content.stored(current.as_ref());
                Ok(OperationResult::stored(Some(value)))
            }
            Self::Del => Ok(OperationResult::stored(None)),
            Self::GetDel => Ok(OperationResult::new(None, OperationOutput::Taken(current))),
            Self::Incr(delta) => self.incr(key, current, delta),
            Self::Tally { labels, add } => tally(key, current, labels, add),
            Self::Acquire { holder } => self.acquire(key, current, holder, version),
            Self::Renew { epoch } => renew(key, current, *epoch),
            Self::Release { epoch } => Ok(release(current, *epoch)),
            _ => self.apply_to_whole_list(key, current),
        }
    }

    fn incr(
        &self,
        key: &str,
        current: Option<StoredValue>,
        delta: &serde_json::Number,
    ) -> Result<OperationResult> {
        let before = match current {
            None => serde_json::Number::from(0),
            Some(StoredValue::Plain(json)) if json.kind() == "number" => json.to()?,
            Some(value) => return Err(self.wrong_type(key, value.kind(), "number")),
        };
        let number = add(&before, delta).ok_or_else(|| Error::Refused {
            method: self.name(),
            problem: ValueProblem::Range {
                key: key.to_owned(),
            },
        })?;
        let number = Json::of(&number)?;
        Ok(OperationResult::new(
            Some(StoredValue::Plain(number.clone())),
            OperationOutput::Number(number),
        ))
    }

    fn acquire(
        &self,
        key: &str,
        current: Option<StoredValue>,
        holder: &str,
        version: u64,
    ) -> Result<OperationResult> {
        if let Some(value) = current {
            if value.kind() != "object" {
                return Err(self.wrong_type(key, value.kind(), "lease"));
            }
            let grant: LeaseGrant = value.json().to()?;
            if grant.holder != holder {
                return Err(Error::busy(key, format!("held by {}", grant.holder)));
            }
        }
        let grant = LeaseGrant {
            holder: holder.to_owned(),
            epoch: version,
        };
        Ok(OperationResult::new(
            Some(StoredValue::Plain(Json::of(&grant)?)),
            OperationOutput::Epoch(version),
        ))
    }

    fn wrong_type(&self, key: &str, holds: &'static str, wants: &'static str) -> Error {
        Error::Refused {
            method: self.name(),
            problem: ValueProblem::Type {
                key: key.to_owned(),
                holds,
                wants,
            },
        }
    }
}

/// The sum, if it is exact: whole numbers within ±(2^53 − 1), others finite and within the same range.
fn add(a: &serde_json::Number, b: &serde_json::Number) -> Option<serde_json::Number> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        let sum = a.checked_add(b)?;
        return (-MAX_SAFE..=MAX_SAFE).contains(&sum).then(|| sum.into());
    }
    let sum = a.as_f64()? + b.as_f64()?;
    if sum.abs() > MAX_SAFE as f64 {
        return None;
    }
    if sum.fract() == 0.0 {
        Some((sum as i64).into())
    } else {
        serde_json::Number::from_f64(sum)
    }
}

/// The content of a value that says when it was created and changed.
///
/// It is stored as an object: `created_at` and `updated_at`, then the content under its name.
#[derive(Clone, Debug, PartialEq)]
pub struct DatedContent {
    /// When it is written, in milliseconds since 1970.
    pub at: Millis,
    /// The name that the content has in the object, which needs no escapes.
    pub name: &'static str,
    /// The content.
    pub json: Json,
}

/// When a dated value was created.
#[derive(serde::Deserialize)]
struct CreationTime {
    created_at: Millis,
}

/// When a dated value was created and changed.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteTimes {
    #[serde(rename = "created_at")]
    _created_at: Millis,
    #[serde(rename = "updated_at")]
    _updated_at: Millis,
}

impl DatedContent {
    fn stored(&self, current: Option<&StoredValue>) -> StoredValue {
        let Self { at, name, json } = self;
        let before = match current {
            Some(StoredValue::Plain(json)) if json.kind() == "object" => json.to().ok(),
            _ => None,
        };
        let created_at = before.map_or(*at, |CreationTime { created_at }| created_at);
        let text = format!(r#"{{"created_at":{created_at},"updated_at":{at},"{name}":{json}}}"#);
        StoredValue::Plain(Json::stored(text))
    }

    /// The object without its content, of a text that begins as it is stored.
    pub(crate) fn dates(text: &str) -> Option<Json> {
        let (end, _) = text.match_indices(',').nth(1)?;
        let dates = format!("{}}}", &text[..end]);
        serde_json::from_str::<WriteTimes>(&dates).ok()?;
        Some(Json::stored(dates))
    }
}

/// A lease as stored. It ends with the value's life.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LeaseGrant {
    /// Who holds it.
    pub holder: String,
    /// The grant's number: higher at each grant, also after expiry or removal.
    pub epoch: u64,
}

/// The epoch of the lease stored here, if one is.
pub fn epoch_of(value: &StoredValue) -> Option<u64> {
    // A list would be taken for the fields of a grant in their order.
    let json = value.json();
    let grant = (json.kind() == "object").then(|| json.to::<LeaseGrant>().ok());
    grant.flatten().map(|grant| grant.epoch)
}

fn renew(key: &str, current: Option<StoredValue>, epoch: u64) -> Result<OperationResult> {
    match current {
        Some(value) if epoch_of(&value) == Some(epoch) => Ok(OperationResult::new(
            Some(value),
            OperationOutput::Epoch(epoch),
        )),
        _ => Err(Error::Fenced {
            lease: key.to_owned(),
            epoch,
        }),
    }
}

fn release(current: Option<StoredValue>, epoch: u64) -> OperationResult {
    let kept = current.filter(|value| epoch_of(value) != Some(epoch));
    OperationResult::stored(kept)
}

/// When a value written now ends: `life` milliseconds from now, or the end it already had.
pub fn end_of_life(
    op: &Operation,
    existing: Option<Option<Millis>>,
    now: Millis,
    life: Option<Millis>,
) -> Option<Millis> {
    match (op.life(), existing) {
        (LifeRule::Keep, Some(end)) => end,
        _ => life.map(|life| now.saturating_add(life)),
    }
}
