//! Rows of sums, and what is added to them.

use super::OperationResult;
use crate::error::ValueProblem;
use crate::json::{Json, StoredValue};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// A row of sums as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SumsRow {
    /// What the row is about.
    pub labels: Json,
    /// The sums, by name.
    pub sums: BTreeMap<String, i64>,
}

pub(super) fn tally(
    key: &str,
    current: Option<StoredValue>,
    labels: &Json,
    add: &BTreeMap<String, i64>,
) -> Result<OperationResult> {
    let mut row = match current {
        Some(value) => value.json().to::<SumsRow>()?,
        None => SumsRow {
            labels: labels.clone(),
            sums: BTreeMap::new(),
        },
    };
    for (name, delta) in add {
        let sum = row.sums.entry(name.clone()).or_insert(0);
        let problem = || Error::Refused {
            method: "Tally",
            problem: ValueProblem::Range {
                key: key.to_owned(),
            },
        };
        *sum = sum.checked_add(*delta).ok_or_else(problem)?;
    }
    Ok(OperationResult::stored(Some(StoredValue::Plain(Json::of(
        &row,
    )?))))
}
