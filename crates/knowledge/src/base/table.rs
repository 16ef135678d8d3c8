//! What of a collection can be found: its documents, as of one moment, kept in memory until something has changed.

use super::KnowledgeBase;
use crate::error::Result;
use crate::names::{CollectionPlace, DOCUMENTS, RATINGS, content_prefix};
use crate::rating::RatingsRecord;
use crate::records::{ContentRecord, DocumentRecord};
use crate::stored;
use ambit_search::index::cache_of_large;
use ambit_storage::Error;
use ambit_storage::driver::ValuePart;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::sync::Arc;

/// How often a reader begins again because others write.
const TRIES: usize = 64;
/// What a document has in memory beside its values.
const ENTRY_BYTES: u64 = 512;
/// Where more has changed, all is read anew.
const SINGLE_READS: usize = 64;

/// The documents of a collection that can be found, by one of its indexes.
#[derive(Default)]
pub(super) struct DocumentTable {
    /// How often the collection had changed.
    pub changes: Option<u64>,
    /// The version of the index.
    version: u32,
    pub entries: Vec<TableEntry>,
    /// By the ends of their names, of which each tenant has one.
    tenant_ratings: HashMap<String, Vec<TableRatings>>,
    /// Ascending by their first chunks.
    ranges: Vec<TableRange>,
    documents: HashMap<String, Versioned<DocumentRecord>>,
    contents: HashMap<String, Versioned<ContentRecord>>,
    ratings: HashMap<String, Versioned<RatingsRecord>>,
    bytes: u64,
}

/// A document that can be found.
pub(super) struct TableEntry {
    pub record: Arc<DocumentRecord>,
    pub content: Arc<ContentRecord>,
}

/// What a tenant's people think of the chunks of a document.
pub(super) struct TableRatings {
    pub entry: usize,
    pub ratings: Arc<RatingsRecord>,
}

/// Chunks of a document side by side.
struct TableRange {
    first: u32,
    count: u32,
    entry: usize,
    /// The place of the first of them in the document.
    place: u32,
}

/// A chunk of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkPlace {
    pub entry: usize,
    /// Its place in its document.
    pub place: u32,
}

/// A value as it was read.
struct Versioned<T> {
    version: u64,
    /// As JSON.
    bytes: u64,
    value: Arc<T>,
}

/// The tables of the collections that were used last, up to a number of bytes.
pub(super) struct TableCache(Cache<CollectionPlace, Arc<DocumentTable>, TableWeight>);

#[derive(Clone)]
struct TableWeight;

impl Weighter<CollectionPlace, Arc<DocumentTable>> for TableWeight {
    fn weight(&self, _: &CollectionPlace, table: &Arc<DocumentTable>) -> u64 {
        table.bytes + 256
    }
}

impl TableCache {
    /// Keeps so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self(cache_of_large(bytes, TableWeight))
    }
}

impl KnowledgeBase {
    /// What can be found of a collection now.
    pub(super) async fn table(
        &self,
        place: &CollectionPlace,
        version: u32,
    ) -> Result<Arc<DocumentTable>> {
        let known = self.shared.tables.0.get(place);
        // Of an index that was searched before nothing is kept.
        let mut known = known.filter(|known| known.version == version);
        for _ in 0..TRIES {
            let changes = self.changes(place).await?;
            if let Some(known) = known.as_ref().filter(|known| known.changes == changes) {
                return Ok(known.clone());
            }
            let read = self.read_table(place, version, known.as_deref()).await?;
            let table = Arc::new(DocumentTable {
                changes,
                version,
                ..read
            });
            if self.changes(place).await? == changes {
                self.shared.tables.0.insert(place.clone(), table.clone());
                return Ok(table);
            }
            // What was read is not of one moment, but most of it is there.
            known = Some(table);
        }
        Err(Error::Busy {
            what: format!("collection \"{}\"", place.id),
            reason: "it changes faster than it can be read".to_owned(),
        }
        .into())
    }

    /// The number of changes of what can be found in a collection.
    pub(super) async fn changes(&self, place: &CollectionPlace) -> Result<Option<u64>> {
        let key = place.changes();
        let entry = self.driver().get(&key, ValuePart::Nothing).await?;
        Ok(entry.map(|entry| entry.version))
    }

    async fn read_table(
        &self,
        place: &CollectionPlace,
        version: u32,
        known: Option<&DocumentTable>,
    ) -> Result<DocumentTable> {
        let nothing = DocumentTable::default();
        let known = known.unwrap_or(&nothing);
        let prefix = content_prefix(version);
        let contents = self.newest(place, &prefix, &known.contents).await?;
        let documents = self.newest(place, DOCUMENTS, &known.documents).await?;
        let ratings = self.newest(place, RATINGS, &known.ratings).await?;
        let mut table = DocumentTable {
            documents,
            contents,
            ratings,
            ..DocumentTable::default()
        };
        table.join();
        Ok(table)
    }

    /// The values whose names begin so; those that have not changed are not read again.
    async fn newest<T: DeserializeOwned>(
        &self,
        place: &CollectionPlace,
        prefix: &str,
        known: &HashMap<String, Versioned<T>>,
    ) -> Result<HashMap<String, Versioned<T>>> {
        let space = place.values();
        let mut newest = HashMap::new();
        let mut missing = Vec::new();
        if !known.is_empty() {
            let named = stored::entries(self.driver(), &space, prefix, ValuePart::Nothing);
            for (name, entry) in named.await? {
                match known
                    .get(&name)
                    .filter(|known| known.version == entry.version)
                {
                    Some(same) => {
                        newest.insert(name, same.clone());
                    }
                    None => missing.push(name),
                }
            }
        }
        if known.is_empty() || missing.len() > SINGLE_READS {
            let whole = stored::entries(self.driver(), &space, prefix, ValuePart::Whole);
            for (name, entry) in whole.await? {
                newest.insert(name, Versioned::of(&entry)?);
            }
            return Ok(newest);
        }
        for name in missing {
            let key = space.key(format!("{prefix}{name}"));
            if let Some(entry) = self.driver().get(&key, ValuePart::Whole).await? {
                newest.insert(name, Versioned::of(&entry)?);
            }
        }
        Ok(newest)
    }
}

impl<T: DeserializeOwned> Versioned<T> {
    fn of(entry: &ambit_storage::batch::ValueEntry) -> Result<Self> {
        Ok(Self {
            version: entry.version,
            bytes: entry.value.as_str().len() as u64,
            value: Arc::new(entry.value.to()?),
        })
    }
}

impl<T> Clone for Versioned<T> {
    fn clone(&self) -> Self {
        Self {
            version: self.version,
            bytes: self.bytes,
            value: self.value.clone(),
        }
    }
}

impl DocumentTable {
    /// Makes the entries of what was read.
    fn join(&mut self) {
        let mut numbers = HashMap::new();
        for (name, content) in &self.contents {
            let Some(record) = self.documents.get(name) else {
                continue;
            };
            let (mut place, entry) = (0, self.entries.len());
            for range in &content.value.ranges {
                self.ranges.push(TableRange {
                    first: range.first,
                    count: range.totals.chunks,
                    entry,
                    place,
                });
                place += range.totals.chunks;
            }
            self.bytes += ENTRY_BYTES + record.bytes + content.bytes;
            numbers.insert(name.as_str(), entry);
            self.entries.push(TableEntry {
                record: record.value.clone(),
                content: content.value.clone(),
            });
        }
        for (name, ratings) in &self.ratings {
            let (document, end) = name.split_at(name.find('.').unwrap_or(name.len()));
            self.bytes += ratings.bytes;
            if let Some(entry) = numbers.get(document) {
                let ratings = TableRatings {
                    entry: *entry,
                    ratings: ratings.value.clone(),
                };
                let of_tenant = self.tenant_ratings.entry(end.to_owned());
                of_tenant.or_default().push(ratings);
            }
        }
        self.ranges.sort_unstable_by_key(|range| range.first);
    }

    /// What is thought of chunks, where that is anything, by the end of the names of a tenant's ratings.
    pub fn ratings(&self, end: &str) -> &[TableRatings] {
        self.tenant_ratings.get(end).map_or(&[], Vec::as_slice)
    }

    /// Where a chunk with this number is.
    pub fn find(&self, number: u32) -> Option<ChunkPlace> {
        let passed = self.ranges.partition_point(|range| range.first <= number);
        let range = self.ranges.get(passed.checked_sub(1)?)?;
        let at = number - range.first;
        (at < range.count).then_some(ChunkPlace {
            entry: range.entry,
            place: range.place + at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{DocumentTable, TableCache};
    use crate::names::CollectionPlace;
    use std::sync::Arc;

    #[test]
    fn a_table_may_take_most_of_the_cache() {
        let cache = TableCache::new(64 << 20);
        let place = CollectionPlace {
            tenant: None,
            id: "c".to_owned(),
            key: "k".to_owned(),
        };
        let table = DocumentTable {
            bytes: 48 << 20,
            ..DocumentTable::default()
        };
        cache.0.insert(place.clone(), Arc::new(table));
        assert!(cache.0.get(&place).is_some());
    }
}
