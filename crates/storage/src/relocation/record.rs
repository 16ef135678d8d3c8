//! What the index knows of moves: the notes of those under way, and where usage has been moved to.

use crate::Result;
use crate::address::{DEFAULT_TENANT, Space, ValueKey};
use crate::batch::{Batch, BatchWrite};
use crate::directory::IndexRow;
use crate::driver::ValuePart;
use crate::driver::chain::copy;
use crate::json::{Json, StoredValue};
use crate::kind::StorageKind;
use crate::operation::Operation;
use crate::session::{Ambit, UsageStorage};
use crate::stores::MOVING;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A move under way. It holds nothing of the session but the lengths of its logs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RelocationRecord {
    /// The drivers it comes from.
    pub(super) from: Vec<String>,
    /// The drivers it goes to.
    pub(super) to: Vec<String>,
    /// The last sequence that was copied of each log, by space and name; known once the new copy counts.
    #[serde(default)]
    pub(super) heads: BTreeMap<String, u64>,
}

impl RelocationRecord {
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
    pub(super) async fn read(ambit: &Ambit, row: &IndexRow) -> Result<Option<Self>> {
        let index = ambit.stores().index()?;
        let entry = index
            .driver()
            .get(&place(&row.id), ValuePart::Whole)
            .await?;
        entry.map(|entry| entry.value.to()).transpose()
    }

    pub(super) fn write(&self, id: &str) -> Result<BatchWrite> {
        Ok(BatchWrite::apply(
            place(id),
            Operation::Set(StoredValue::Plain(Json::of(self)?)),
            None,
        ))
    }
}

fn place(id: &str) -> ValueKey {
    Space::moves().key(id)
}

/// The move is over.
pub(crate) async fn forget(ambit: &Ambit, id: &str) -> Result<()> {
    let write = BatchWrite::apply(place(id), Operation::Del, None);
    let index = ambit.stores().index()?;
    index.driver().commit(Batch::of([write])).await.map(|_| ())
}

/// The moves under way, behind this row id: whose row, and in words.
pub(crate) async fn open_moves(
    ambit: &Ambit,
    after: Option<String>,
) -> Result<Vec<(String, String)>> {
    let index = ambit.stores().index()?;
    let page = copy::page(after, ValuePart::Whole);
    let notes = index.driver().scan(&Space::moves(), &page).await?;
    let words = |(id, entry): (String, crate::batch::ValueEntry)| {
        Ok((id, entry.value.to::<RelocationRecord>()?.in_words()))
    };
    notes.into_iter().map(words).collect()
}

fn usage_key() -> ValueKey {
    Space::settings(DEFAULT_TENANT).key("usage-placements")
}

/// Notes that there are sums of usage in these drivers now.
pub(super) fn remember_usage(row: &IndexRow, to: &[String]) -> Result<Option<BatchWrite>> {
    if row.identity.scope() != Some(UsageStorage::PREFIX) {
        return Ok(None);
    }
    Ok(Some(BatchWrite::apply(
        usage_key(),
        Operation::AddToSet(vec![Json::of(to)?]),
        None,
    )))
}

/// Where usage is kept: the application's place for it, and those that it was moved to.
pub(crate) async fn usage_placements(ambit: &Ambit) -> Result<Vec<Vec<String>>> {
    let stores = ambit.stores();
    let mut placements = vec![stores.for_scope(UsageStorage::PREFIX)?.names().to_vec()];
    let moved = stores
        .index()?
        .driver()
        .get(&usage_key(), ValuePart::Whole)
        .await?;
    if let Some(entry) = moved {
        placements.extend(entry.value.to::<Vec<Vec<String>>>()?);
    }
    Ok(placements)
}
