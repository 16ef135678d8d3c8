//! The list operations, once on a window: a driver that keeps items apart loads only what the operation must see.

use super::{Operation, OperationOutput, OperationResult};
use crate::error::ValueProblem;
use crate::json::{Json, StoredValue};
use crate::{Error, Result};

/// The most items a list may have.
pub const MAX_LIST: u64 = 100_000;

/// Which items of a list an operation must see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListWindow {
    /// None: the length is enough.
    Nothing,
    /// The last so many, in stored order.
    Last(u64),
    /// All, in stored order.
    All,
    /// Every item with one of these fingerprints, in any order (false friends are allowed among them).
    Alike(Vec<i64>),
}

/// What a list operation changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListChange {
    /// The list is cut to this length first.
    pub keep: u64,
    /// Items to put, by position: those below `keep` replace, the others follow on in order.
    pub put: Vec<(u64, Json)>,
}

impl Operation {
    /// True for the operations that `apply_to_list` knows.
    pub fn is_list_op(&self) -> bool {
        matches!(
            self,
            Self::Push(_)
                | Self::Pop
                | Self::Pull(_)
                | Self::PullAll
                | Self::AddToSet(_)
                | Self::ArraySet(..)
        )
    }

    /// What `apply_to_list` must be shown of a stored list.
    pub fn window(&self) -> ListWindow {
        match self {
            Self::Pop => ListWindow::Last(1),
            Self::Pull(count) => ListWindow::Last(*count),
            Self::PullAll => ListWindow::All,
            Self::AddToSet(items) => {
                ListWindow::Alike(items.iter().map(Json::fingerprint).collect())
            }
            _ => ListWindow::Nothing,
        }
    }

    /// A list operation on a stored list of `length`, of which `seen` is the window.
    pub fn apply_to_list(
        &self,
        key: &str,
        length: u64,
        seen: Vec<Json>,
    ) -> Result<(ListChange, OperationOutput)> {
        let cut = |keep: u64| ListChange {
            keep,
            put: Vec::new(),
        };
        match self {
            Self::Push(items) => grow(length, items.clone()),
            Self::AddToSet(items) => grow(length, missing(items, &seen)),
            Self::Pop => {
                let taken = seen.into_iter().next_back().map(StoredValue::from);
                Ok((cut(length.saturating_sub(1)), OperationOutput::Taken(taken)))
            }
            Self::Pull(count) => Ok((
                cut(length.saturating_sub(*count)),
                OperationOutput::Items(seen),
            )),
            Self::PullAll => Ok((cut(0), OperationOutput::Items(seen))),
            Self::ArraySet(index, item) => {
                let out = || ValueProblem::Index {
                    index: *index,
                    key: key.to_owned(),
                    length,
                };
                let at = position(*index, length).ok_or_else(|| Error::Refused {
                    method: "ArraySet",
                    problem: out(),
                })?;
                Ok((
                    ListChange {
                        keep: length,
                        put: vec![(at, item.clone())],
                    },
                    OperationOutput::Nothing,
                ))
            }
            other => Err(Error::internal(format!(
                "{} is not a list operation",
                other.name()
            ))),
        }
    }

    /// A list operation on a missing value: what it stores, if anything, and its answer.
    fn apply_to_missing(&self, key: &str) -> Result<OperationResult> {
        match self {
            Self::Pop => Ok(OperationResult::new(None, OperationOutput::Taken(None))),
            Self::Pull(_) | Self::PullAll => Ok(OperationResult::new(
                None,
                OperationOutput::Items(Vec::new()),
            )),
            _ => {
                let (change, output) = self.apply_to_list(key, 0, Vec::new())?;
                let items = change.put.into_iter().map(|(_, item)| item).collect();
                Ok(OperationResult::new(Some(StoredValue::List(items)), output))
            }
        }
    }

    /// A list operation on a value that is held whole.
    pub(super) fn apply_to_whole_list(
        &self,
        key: &str,
        current: Option<StoredValue>,
    ) -> Result<OperationResult> {
        let mut items = match current {
            None => return self.apply_to_missing(key),
            Some(StoredValue::Plain(json)) => {
                return Err(self.wrong_type(key, json.kind(), "list"));
            }
            Some(StoredValue::List(items)) => items,
        };
        let seen = match self.window() {
            ListWindow::Nothing => Vec::new(),
            ListWindow::All | ListWindow::Alike(_) => items.clone(),
            ListWindow::Last(count) => {
                items[items.len().saturating_sub(to_usize(count))..].to_vec()
            }
        };
        let (change, output) = self.apply_to_list(key, items.len() as u64, seen)?;
        items.truncate(to_usize(change.keep));
        for (at, item) in change.put {
            match items.get_mut(to_usize(at)) {
                Some(place) => *place = item,
                None => items.push(item),
            }
        }
        Ok(OperationResult::new(Some(StoredValue::List(items)), output))
    }
}

/// The position of an index that may count from the end.
fn position(index: i64, length: u64) -> Option<u64> {
    let at = if index < 0 {
        i64::try_from(length).ok()?.checked_add(index)?
    } else {
        index
    };
    u64::try_from(at).ok().filter(|at| *at < length)
}

fn grow(length: u64, items: Vec<Json>) -> Result<(ListChange, OperationOutput)> {
    let total = length + items.len() as u64;
    if total > MAX_LIST && !items.is_empty() {
        return Err(too_long(total));
    }
    let put = (length..).zip(items).collect();
    Ok((
        ListChange { keep: length, put },
        OperationOutput::Length(total),
    ))
}

pub(crate) fn too_long(length: u64) -> Error {
    Error::limited("list items", length, MAX_LIST)
}

/// Those of `items` that equal none of `seen` and none before them, by deep equality.
fn missing(items: &[Json], seen: &[Json]) -> Vec<Json> {
    let mut known: std::collections::HashSet<String> = seen.iter().map(Json::canonical).collect();
    items
        .iter()
        .filter(|item| known.insert(item.canonical()))
        .cloned()
        .collect()
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
