//! A collection on which this node works, and what waits there.

use crate::base::KnowledgeBase;
use crate::error::Result;
use crate::index_record::IndexRecord;
use crate::names::CollectionPlace;
use crate::records::CollectionRecord;
use crate::stored::StoredRecord;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::lease::Lease;
use ambit_storage::pattern::Pattern;
use serde::de::DeserializeOwned;

/// So much of what waits is looked at together.
const TOGETHER: usize = 64;
/// Small documents share a commit as long as they have at most so many chunks together.
pub(super) const SHARED_CHUNKS: usize = 250;
/// And their texts at most so many bytes.
pub(super) const SHARED_BYTES: usize = 2 << 20;

/// A collection on which this node works.
pub(super) struct WorkPlace<'a> {
    pub base: &'a KnowledgeBase,
    pub collection: &'a StoredRecord<CollectionRecord>,
    /// The index that is made of its documents.
    pub index_record: &'a IndexRecord,
    pub lease: &'a Lease,
}

/// Something that waits, by the rest of its name.
pub(super) struct WaitingItem<T> {
    pub id: String,
    pub record: StoredRecord<T>,
}

impl WorkPlace<'_> {
    pub fn place(&self) -> &CollectionPlace {
        &self.collection.value.place
    }
}

impl KnowledgeBase {
    /// What waits under a name that begins so and is due, as far as it is looked at together.
    pub(super) async fn waiting<T: DeserializeOwned>(
        &self,
        place: &CollectionPlace,
        prefix: &str,
        is_due: impl Fn(&T) -> bool,
    ) -> Result<Vec<WaitingItem<T>>> {
        let (space, pattern) = (place.values(), Pattern::parse(&format!("{prefix}*")));
        let mut pages = ValuePages::of(self.driver(), &space, pattern, ValuePart::Whole);
        let mut items = Vec::new();
        while let Some(page) = pages.next().await? {
            for (name, entry) in page {
                let value = entry.value.to()?;
                if is_due(&value) {
                    let id = name[prefix.len()..].to_owned();
                    let record = StoredRecord {
                        key: space.key(name),
                        value,
                        version: entry.version,
                    };
                    items.push(WaitingItem { id, record });
                }
                if items.len() == TOGETHER {
                    return Ok(items);
                }
            }
        }
        Ok(items)
    }
}
