//! What is counted of collections and tenants: added to without being read.

use crate::error::{KnowledgeError, Result};
use crate::stored;
use ambit_storage::Json;
use ambit_storage::address::ValueKey;
use ambit_storage::batch::BatchWrite;
use ambit_storage::driver::Driver;
use ambit_storage::operation::{Operation, SumsRow};
use std::collections::BTreeMap;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    Bytes,
    Chunks,
    Collections,
    Documents,
    Failed,
    Jobs,
    /// How often somebody was named who alone may read a document of a collection.
    Restricted,
    /// Jobs of a collection.
    Waiting,
}

/// Whose sums a tenant's are, as a limit names them.
pub(crate) const TENANT: &str = "of the tenant";

/// What is added to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SumChange {
    pub of: Sum,
    pub by: i64,
}

/// Whole numbers by what they count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    /// Of their value; `None` where nothing has been added yet.
    pub version: Option<u64>,
    sums: BTreeMap<String, i64>,
}

impl Sum {
    /// Its name in the store, and that of its limit.
    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Chunks => "chunks",
            Self::Collections => "collections",
            Self::Documents => "documents",
            Self::Failed => "failed",
            Self::Jobs => "jobs",
            Self::Restricted => "restricted",
            Self::Waiting => "waiting",
        }
    }

    pub fn more(self, count: u64) -> SumChange {
        self.changed(0, count)
    }

    pub fn less(self, count: u64) -> SumChange {
        self.changed(count, 0)
    }

    /// Something had so many of it and has so many now.
    pub fn changed(self, old: u64, new: u64) -> SumChange {
        let signed = |count| i64::try_from(count).unwrap_or(i64::MAX);
        SumChange {
            of: self,
            by: signed(new) - signed(old),
        }
    }
}

impl Sums {
    pub async fn read(driver: &dyn Driver, key: ValueKey) -> ambit_storage::Result<Self> {
        let stored = stored::get::<SumsRow>(driver, key).await?;
        Ok(stored.map_or_else(Self::default, |stored| Self {
            version: Some(stored.version),
            sums: stored.value.sums,
        }))
    }

    pub fn add(&mut self, change: SumChange) {
        let sum = self.sums.entry(change.of.name().to_owned()).or_default();
        *sum = sum.saturating_add(change.by);
    }

    pub fn get(&self, of: Sum) -> u64 {
        let sum = self.sums.get(of.name()).copied().unwrap_or_default();
        u64::try_from(sum).unwrap_or_default()
    }

    /// Refuses more than there is room for.
    pub fn check_quota(&self, of: Sum, more: u64, limit: u64, whose: &str) -> Result<()> {
        if self.get(of).saturating_add(more) <= limit {
            return Ok(());
        }
        let setting = of.name();
        Err(KnowledgeError::LimitExceeded {
            what: format!("{setting} {whose}"),
            limit,
            setting,
        })
    }
}

/// Adds to sums.
pub(crate) fn add_to_sums(
    key: ValueKey,
    changes: &[SumChange],
) -> ambit_storage::Result<BatchWrite> {
    let mut sums = BTreeMap::new();
    for change in changes {
        *sums.entry(change.of.name().to_owned()).or_default() += change.by;
    }
    let labels = Json::of(&())?;
    let tally = Operation::Tally { labels, add: sums };
    Ok(BatchWrite::apply(key, tally, None))
}
