//! Values as they are stored, and the writes that change them.

use crate::error::{KnowledgeError, Size};
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, ValueEntry};
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value with the version by which a change finds out that somebody else was there first.
#[derive(Clone, Debug)]
pub(crate) struct StoredRecord<T> {
    pub key: ValueKey,
    pub value: T,
    pub version: u64,
}

impl<T: Serialize> StoredRecord<T> {
    /// Holds as long as nobody has changed the value.
    pub fn check(&self) -> BatchCheck {
        BatchCheck::version(self.key.clone(), Some(self.version))
    }

    /// Writes the value as it is now.
    pub fn put(&self) -> Result<BatchWrite> {
        put(self.key.clone(), &self.value)
    }
}

/// Reads a value.
pub(crate) async fn get<T: DeserializeOwned>(
    driver: &dyn Driver,
    key: ValueKey,
) -> Result<Option<StoredRecord<T>>> {
    let Some(entry) = driver.get(&key, ValuePart::Whole).await? else {
        return Ok(None);
    };
    Ok(Some(StoredRecord {
        value: entry.value.to()?,
        version: entry.version,
        key,
    }))
}

/// All values of a space whose names begin so, by the rest of their names.
pub(crate) async fn entries(
    driver: &dyn Driver,
    space: &Space,
    prefix: &str,
    part: ValuePart,
) -> Result<Vec<(String, ValueEntry)>> {
    let pattern = Pattern::parse(&format!("{prefix}*"));
    let mut pages = ValuePages::of(driver, space, pattern, part);
    let mut entries = Vec::new();
    while let Some(page) = pages.next().await? {
        let named = page.into_iter();
        entries.extend(named.map(|(name, entry)| (name[prefix.len()..].to_owned(), entry)));
    }
    Ok(entries)
}

/// Reads all values of a space whose names begin so.
pub(crate) async fn all<T: DeserializeOwned>(
    driver: &dyn Driver,
    space: &Space,
    prefix: &str,
) -> Result<Vec<T>> {
    let found = entries(driver, space, prefix, ValuePart::Whole).await?;
    found.iter().map(|(_, entry)| entry.value.to()).collect()
}

/// Bytes of JSON that the metadata of a document or a collection may have.
pub(crate) const METADATA_BYTES: u64 = 64 << 10;

/// Bytes of JSON that a name or a description may have.
pub(crate) const NAME_BYTES: u64 = 4 << 10;

/// Refuses what is larger as JSON.
pub(crate) fn check_size<T: Serialize + ?Sized>(
    what: &str,
    value: &T,
    largest: u64,
) -> crate::error::Result<()> {
    let of = |count| Size {
        count,
        unit: "bytes",
    };
    let count = Json::of(value)?.as_str().len() as u64;
    if count <= largest {
        return Ok(());
    }
    Err(KnowledgeError::TooLarge {
        what: what.to_owned(),
        actual: of(count),
        limit: of(largest),
    })
}

/// Sets a value.
pub(crate) fn put<T: Serialize + ?Sized>(key: ValueKey, value: &T) -> Result<BatchWrite> {
    let set = Operation::Set(Json::of(value)?.into());
    Ok(BatchWrite::apply(key, set, None))
}

/// Deletes a value.
pub(crate) fn delete(key: ValueKey) -> BatchWrite {
    BatchWrite::apply(key, Operation::Del, None)
}

/// Counts one more.
pub(crate) fn count_one(key: ValueKey) -> BatchWrite {
    BatchWrite::apply(key, Operation::Incr(1.into()), None)
}

/// A batch with these conditions.
pub(crate) fn checked(
    checks: impl IntoIterator<Item = BatchCheck>,
    writes: impl IntoIterator<Item = BatchWrite>,
) -> Batch {
    let mut batch = Batch::of(writes);
    batch.checks.extend(checks);
    batch
}
