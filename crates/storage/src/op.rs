//! What can be done to one value, and what it means. `Op::apply` is the only definition; drivers make it atomic.

mod list;

pub(crate) use list::too_long;
pub use list::{ListChange, MAX_LIST, Window};

use crate::clock::Millis;
use crate::error::Problem;
use crate::json::{Json, Value};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Whole numbers stay exact up to this, as in JavaScript.
pub const MAX_SAFE: i64 = (1 << 53) - 1;

/// One operation on one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Replaces value, type and life.
    Set(Value),
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
pub enum Output {
    /// Nothing to say.
    Nothing,
    /// The new number.
    Number(Json),
    /// The new length.
    Length(u64),
    /// The value or item taken, if there was one.
    Taken(Option<Value>),
    /// The items taken.
    Items(Vec<Json>),
    /// The epoch of the lease granted.
    Epoch(u64),
}

/// The outcome of an operation on a whole value.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// What is stored now; `None` where nothing is.
    pub value: Option<Value>,
    /// What the caller is told.
    pub output: Output,
}

/// How long a value lives after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// As before; a value that this operation creates gets the write's own.
    Keep,
    /// The write's own, from now.
    Renew,
}

impl Op {
    /// The method's name in the `ctx.memory` reference, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Set(_) => "Set",
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
    pub fn life(&self) -> Life {
        match self {
            Self::Set(_) | Self::Acquire { .. } | Self::Renew { .. } => Life::Renew,
            _ => Life::Keep,
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
            Self::Set(value) => value.size(),
            Self::Push(items) | Self::AddToSet(items) => largest(items),
            Self::ArraySet(_, item) => item.as_str().len(),
            Self::Tally { labels, .. } => labels.as_str().len(),
            _ => 0,
        }
    }

    /// The meaning: what is stored after this operation on `current`, and what it answers. `version` is the one that
    /// the store gives to the value if it changes; a lease takes it as its epoch. Expired values are `None`.
    pub fn apply(&self, key: &str, current: Option<Value>, version: u64) -> Result<Applied> {
        match self {
            Self::Set(value) => Ok(Applied {
                value: Some(value.clone()),
                output: Output::Nothing,
            }),
            Self::Del => Ok(Applied {
                value: None,
                output: Output::Nothing,
            }),
            Self::GetDel => Ok(Applied {
                value: None,
                output: Output::Taken(current),
            }),
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
        current: Option<Value>,
        delta: &serde_json::Number,
    ) -> Result<Applied> {
        let before = match current {
            None => serde_json::Number::from(0),
            Some(Value::Plain(json)) if json.kind() == "number" => json.to()?,
            Some(value) => return Err(self.wrong_type(key, value.kind(), "number")),
        };
        let number = add(&before, delta).ok_or_else(|| Error::Refused {
            method: self.name(),
            problem: Problem::Range {
                key: key.to_owned(),
            },
        })?;
        let number = Json::of(&number)?;
        Ok(Applied {
            value: Some(Value::Plain(number.clone())),
            output: Output::Number(number),
        })
    }

    fn acquire(
        &self,
        key: &str,
        current: Option<Value>,
        holder: &str,
        version: u64,
    ) -> Result<Applied> {
        if let Some(value) = current {
            if value.kind() != "object" {
                return Err(self.wrong_type(key, value.kind(), "lease"));
            }
            let grant: Grant = value.json().to()?;
            if grant.holder != holder {
                return Err(Error::Busy {
                    what: key.to_owned(),
                    reason: format!("held by {}", grant.holder),
                });
            }
        }
        let grant = Grant {
            holder: holder.to_owned(),
            epoch: version,
        };
        Ok(Applied {
            value: Some(Value::Plain(Json::of(&grant)?)),
            output: Output::Epoch(version),
        })
    }

    fn wrong_type(&self, key: &str, holds: &'static str, wants: &'static str) -> Error {
        Error::Refused {
            method: self.name(),
            problem: Problem::Type {
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

/// A row of sums as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sums {
    /// What the row is about.
    pub labels: Json,
    /// The sums, by name.
    pub sums: BTreeMap<String, i64>,
}

fn tally(
    key: &str,
    current: Option<Value>,
    labels: &Json,
    add: &BTreeMap<String, i64>,
) -> Result<Applied> {
    let mut row = match current {
        Some(value) => value.json().to::<Sums>()?,
        None => Sums {
            labels: labels.clone(),
            sums: BTreeMap::new(),
        },
    };
    for (name, delta) in add {
        let sum = row.sums.entry(name.clone()).or_insert(0);
        let problem = || Error::Refused {
            method: "Tally",
            problem: Problem::Range {
                key: key.to_owned(),
            },
        };
        *sum = sum.checked_add(*delta).ok_or_else(problem)?;
    }
    Ok(Applied {
        value: Some(Value::Plain(Json::of(&row)?)),
        output: Output::Nothing,
    })
}

/// A lease as stored. It ends with the value's life.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grant {
    /// Who holds it.
    pub holder: String,
    /// The grant's number: higher at each grant, also after expiry or removal.
    pub epoch: u64,
}

/// The epoch of the lease stored here, if one is.
pub fn epoch_of(value: &Value) -> Option<u64> {
    // A list would be taken for the fields of a grant in their order.
    let json = value.json();
    let grant = (json.kind() == "object").then(|| json.to::<Grant>().ok());
    grant.flatten().map(|grant| grant.epoch)
}

fn renew(key: &str, current: Option<Value>, epoch: u64) -> Result<Applied> {
    match current {
        Some(value) if epoch_of(&value) == Some(epoch) => Ok(Applied {
            value: Some(value),
            output: Output::Epoch(epoch),
        }),
        _ => Err(Error::Fenced {
            lease: key.to_owned(),
            epoch,
        }),
    }
}

fn release(current: Option<Value>, epoch: u64) -> Applied {
    let kept = current.filter(|value| epoch_of(value) != Some(epoch));
    Applied {
        value: kept,
        output: Output::Nothing,
    }
}

/// When a value written now ends: `life` milliseconds from now, or the end it already had.
pub fn end_of_life(
    op: &Op,
    existing: Option<Option<Millis>>,
    now: Millis,
    life: Option<Millis>,
) -> Option<Millis> {
    match (op.life(), existing) {
        (Life::Keep, Some(end)) => end,
        _ => life.map(|life| now.saturating_add(life)),
    }
}
