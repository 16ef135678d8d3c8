//! What the index knows of moves: the notes of those under way, and where usage has been moved to.

use crate::address::{DEFAULT_TENANT, Key, Space};
use crate::ambit::Ambit;
use crate::batch::{Batch, Write};
use crate::directory::Tracked;
use crate::driver::Part;
use crate::driver::chain::copy;
use crate::json::Json;
use crate::op::Op;
use crate::storage::{StorageKind, UsageStorage};
use crate::{Result, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A move under way. It holds nothing of the session but the lengths of its logs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    /// The drivers it comes from.
    pub(super) from: Vec<String>,
    /// The drivers it goes to.
    pub(super) to: Vec<String>,
    /// The last sequence that was copied of each log, by space and name; known once the new copy counts.
    #[serde(default)]
    pub(super) heads: BTreeMap<String, u64>,
}

/// How what an index row names in place of drivers begins while nobody may write.
pub(crate) const MOVING: &str = "moving from ";

impl Note {
    pub(super) fn new(from: &[String], to: &[String]) -> Self {
        Self {
            from: from.to_vec(),
            to: to.to_vec(),
            heads: BTreeMap::new(),
        }
    }

    /// What the index row names in place of drivers while nobody may write.
    pub(super) fn in_words(&self) -> String {
        format!("{MOVING}{} to {}", self.from.join(", "), self.to.join(", "))
    }

    /// The note of this row's move.
    pub(super) async fn read(ambit: &Ambit, row: &Tracked) -> Result<Option<Self>> {
        let index = ambit.stores().index()?;
        let entry = index.driver().get(&place(&row.id), Part::Whole).await?;
        entry.map(|entry| entry.value.to()).transpose()
    }

    pub(super) fn write(&self, id: &str) -> Result<Write> {
        Ok(Write::Apply {
            key: place(id),
            op: Op::Set(Value::Plain(Json::of(self)?)),
            life: None,
        })
    }
}

fn place(id: &str) -> Key {
    Space::moves().key(id)
}

/// The move is over.
pub(crate) async fn forget(ambit: &Ambit, id: &str) -> Result<()> {
    let write = Write::Apply {
        key: place(id),
        op: Op::Del,
        life: None,
    };
    let index = ambit.stores().index()?;
    index.driver().commit(Batch::of([write])).await.map(|_| ())
}

/// The moves under way, behind this row id: whose row, and in words.
pub(crate) async fn open_moves(
    ambit: &Ambit,
    after: Option<String>,
) -> Result<Vec<(String, String)>> {
    let index = ambit.stores().index()?;
    let page = copy::page(after, Part::Whole);
    let notes = index.driver().scan(&Space::moves(), &page).await?;
    let words =
        |(id, entry): (String, crate::batch::Entry)| Ok((id, entry.value.to::<Note>()?.in_words()));
    notes.into_iter().map(words).collect()
}

fn usage_key() -> Key {
    Space::settings(DEFAULT_TENANT).key("usage-placements")
}

/// Notes that there are sums of usage in these drivers now.
pub(super) fn remember_usage(row: &Tracked, to: &[String]) -> Result<Option<Write>> {
    if row.identity.scope() != Some(UsageStorage::PREFIX) {
        return Ok(None);
    }
    Ok(Some(Write::Apply {
        key: usage_key(),
        op: Op::AddToSet(vec![Json::of(to)?]),
        life: None,
    }))
}

/// Where usage is kept: the application's place for it, and those that it was moved to.
pub(crate) async fn usage_placements(ambit: &Ambit) -> Result<Vec<Vec<String>>> {
    let stores = ambit.stores();
    let mut placements = vec![stores.for_scope(UsageStorage::PREFIX)?.names().to_vec()];
    let moved = stores
        .index()?
        .driver()
        .get(&usage_key(), Part::Whole)
        .await?;
    if let Some(entry) = moved {
        placements.extend(entry.value.to::<Vec<Vec<String>>>()?);
    }
    Ok(placements)
}
