//! The index of a memory. Beside its pages it has a record for each commit, which says of which keys and versions its chunks
//! are: what a memory has in another version, or not at all, is told by comparing these with the names in the memory.

use super::index_note::MemoryIndexNote;
use crate::error::{Error, ErrorCode, Result, StorageError};
use crate::index_vectors::IndexVectors;
use ambit_search::index::{ChunkErasure, IndexSnapshot, PageCache, SearchIndex};
use ambit_search::manifest::{ChunkRange, ChunkTotals};
use ambit_search::terms::{ChunkTerms, TERMS_VERSION, TermCounts};
use ambit_storage::Json;
use ambit_storage::address::ValueKey;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::memory::MemoryLocation;
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// So many values, and bytes of their text, are added by one commit.
const VALUES: usize = 256;
const BYTES: usize = 256 << 10;
/// So many steps that keep the index small follow a commit.
const STEPS: usize = 16;
/// What is read for one search is kept for this long, so that nothing of it outlives an erasure.
const CACHE: u64 = 8 << 20;
/// What the names of records begin with.
const RECORD: &str = "at/";

/// What the index has of a value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct IndexedValue {
    #[serde(rename = "k")]
    pub key: String,
    #[serde(rename = "v")]
    pub version: u64,
    /// Of its text, in terms.
    #[serde(rename = "l")]
    length: u64,
}

/// The values of one commit, whose chunks have consecutive numbers; nothing where one was erased.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ValueRecord {
    /// Of the index.
    incarnation: u64,
    values: Vec<Option<IndexedValue>>,
}

struct StoredValueRecord {
    record: ValueRecord,
    version: u64,
}

/// What the index has of a value, by the number of its chunk.
pub(super) struct NumberedValue<'a> {
    pub chunk: u32,
    /// None where it was erased.
    pub value: Option<&'a IndexedValue>,
    /// The first chunk of its record.
    pub record: u32,
}

/// A value on its way into an index, or ranked beside it.
pub(super) struct UnindexedValue {
    pub key: String,
    pub version: u64,
    pub terms: TermCounts,
    /// Of its text.
    pub bytes: usize,
}

/// Values for the next commit.
#[derive(Default)]
pub(super) struct PendingValues {
    pub values: Vec<UnindexedValue>,
    bytes: usize,
}

/// An index as far as a search has brought it.
pub(super) struct ValueIndex {
    pub index: SearchIndex,
    pub location: MemoryLocation,
    /// None where it was not begun.
    pub incarnation: Option<u64>,
    /// The number of its next chunk: where it is another one, somebody has added to it.
    next_chunk: u32,
    /// By their first chunks.
    records: BTreeMap<u32, StoredValueRecord>,
    /// The last chunk of each key.
    chunks: HashMap<String, u32>,
    /// Its vectors, where it is to have some.
    pub vectors: Option<IndexVectors>,
}

impl PendingValues {
    /// Adds a value. What has no place beside it is given back: another commit takes that.
    #[must_use]
    pub fn push(&mut self, value: UnindexedValue) -> Self {
        let is_over = self.bytes + value.bytes > BYTES && !self.values.is_empty();
        let full = match is_over || self.values.len() >= VALUES {
            true => std::mem::take(self),
            false => Self::default(),
        };
        self.bytes += value.bytes;
        self.values.push(value);
        full
    }
}

impl UnindexedValue {
    fn indexed(&self) -> IndexedValue {
        let counts = self.terms.values().map(|count| u64::from(*count));
        IndexedValue {
            key: self.key.clone(),
            version: self.version,
            length: counts.sum(),
        }
    }
}

impl IndexedValue {
    fn range(&self, chunk: u32) -> ChunkRange {
        let totals = ChunkTotals {
            chunks: 1,
            length: self.length,
        };
        ChunkRange {
            first: chunk,
            totals,
        }
    }
}

impl ValueIndex {
    /// The index of this memory. One whose terms were made otherwise, or its vectors by another connector than this, is dropped.
    pub async fn open(location: MemoryLocation, connector: Option<&str>) -> Result<Self> {
        let (driver, space) = (location.driver.clone(), location.index());
        let index = SearchIndex::new(driver.clone(), space.clone(), PageCache::new(CACHE));
        let vectors = match connector {
            Some(_) => Some(IndexVectors::of(&index, &driver, &space).await?),
            None => None,
        };
        let snapshot = index.snapshot().await?;
        let manifest = &snapshot.manifest;
        let mut opened = Self {
            incarnation: snapshot.is_stored().then_some(manifest.incarnation),
            next_chunk: manifest.next_chunk,
            records: BTreeMap::new(),
            chunks: HashMap::new(),
            index,
            location,
            vectors,
        };
        let vectors = opened.vectors.as_ref().zip(connector);
        let is_another = vectors.is_some_and(|(vectors, by)| vectors.are_of_another(by));
        if manifest.terms_version != TERMS_VERSION || is_another {
            opened.forget().await?;
            return Err(opened.has_changed());
        }
        let note = opened.location.note();
        if !opened.is_begun() && driver.get(&note, ValuePart::Nothing).await?.is_some() {
            // What was dropped is not all erased yet.
            opened.location.erase_index().await?;
            return Err(opened.has_changed());
        }
        let names = Pattern::parse(&format!("{RECORD}*"));
        let mut pages = ValuePages::of(driver.as_ref(), &space, names, ValuePart::Whole);
        while let Some(page) = pages.next().await? {
            for (name, entry) in page {
                let first = name[RECORD.len()..].parse();
                let first = first.map_err(|_| opened.has_changed())?;
                opened.note(first, entry.value.to()?, entry.version)?;
            }
        }
        Ok(opened)
    }

    fn note(&mut self, first: u32, record: ValueRecord, version: u64) -> Result<()> {
        if Some(record.incarnation) != self.incarnation {
            return Err(self.has_changed());
        }
        let values = (first..).zip(&record.values);
        let values = values.filter_map(|(chunk, value)| Some((value.as_ref()?.key.clone(), chunk)));
        self.chunks.extend(values);
        let stored = StoredValueRecord { record, version };
        self.records.insert(first, stored);
        Ok(())
    }

    pub fn is_begun(&self) -> bool {
        self.incarnation.is_some()
    }

    /// Begins it. From now on whoever has the memory erased takes this beginning away, and with it what is about to be added.
    pub async fn begin(&mut self) -> Result<()> {
        let change = self.index.change().await?;
        self.incarnation = Some(change.manifest.incarnation);
        let mut batch = change.batch()?;
        let (key, note) = (self.location.note(), MemoryIndexNote::of(&self.location));
        // As long as it is there, so are pages of an index that was dropped.
        batch.checks.push(BatchCheck::version(key.clone(), None));
        batch.writes.push(set(key, &note)?);
        self.driver().commit(batch).await?;
        Ok(())
    }

    /// The chunk of a value in this version.
    pub fn range(&self, key: &str, version: u64) -> Option<ChunkRange> {
        let chunk = *self.chunks.get(key)?;
        let value = self.value(chunk).filter(|value| value.version == version)?;
        Some(value.range(chunk))
    }

    /// The value of a chunk.
    pub fn value(&self, chunk: u32) -> Option<&IndexedValue> {
        let (first, stored) = self.records.range(..=chunk).next_back()?;
        let at = (chunk - first) as usize;
        stored.record.values.get(at)?.as_ref()
    }

    /// The values from this chunk on, in ascending order.
    pub fn values_from(&self, chunk: u32) -> impl Iterator<Item = NumberedValue<'_>> {
        let records = self.records.iter();
        let values = records.flat_map(|(first, stored)| {
            let numbered = (*first..).zip(&stored.record.values);
            numbered.map(move |(chunk, value)| NumberedValue {
                chunk,
                value: value.as_ref(),
                record: *first,
            })
        });
        values.filter(move |value| value.chunk >= chunk)
    }

    /// Holds as long as nothing of the record that begins with this chunk is erased.
    pub fn check(&self, record: u32) -> BatchCheck {
        let version = self.records.get(&record).map(|stored| stored.version);
        BatchCheck::version(self.record_key(record), version)
    }

    /// Adds values; the answer are their chunks.
    pub async fn add(&mut self, pending: PendingValues) -> Result<Vec<ChunkRange>> {
        if pending.values.is_empty() {
            return Ok(Vec::new());
        }
        let mut change = self.index.change().await?;
        let incarnation = change.manifest.incarnation;
        if Some(incarnation) != self.incarnation || change.manifest.next_chunk != self.next_chunk {
            return Err(self.has_changed());
        }
        let values: Vec<IndexedValue> =
            pending.values.iter().map(UnindexedValue::indexed).collect();
        let terms: Vec<TermCounts> = pending.values.into_iter().map(|it| it.terms).collect();
        let first = change.add(&ChunkTerms::of(&terms))?.first;
        let ranges = (first..).zip(&values);
        let ranges = ranges.map(|(chunk, value)| value.range(chunk)).collect();
        let record = ValueRecord {
            incarnation,
            values: values.into_iter().map(Some).collect(),
        };
        let next_chunk = change.manifest.next_chunk;
        let mut batch = change.batch()?;
        batch.writes.push(set(self.record_key(first), &record)?);
        self.driver().commit(batch).await?;
        self.next_chunk = next_chunk;
        // Only those who read it again change it.
        self.note(first, record, 0)?;
        self.keep_up().await?;
        Ok(ranges)
    }

    /// The chunks of values that are not there in their version, at most so many.
    pub fn gone(&self, there: &HashMap<String, u64>, most: usize) -> Vec<u32> {
        let is_gone = |chunk: u32, value: &IndexedValue| {
            self.chunks.get(&value.key) != Some(&chunk)
                || there.get(&value.key) != Some(&value.version)
        };
        let records = self.records.iter();
        let chunks = records.flat_map(|(first, stored)| (*first..).zip(&stored.record.values));
        let gone = chunks.filter_map(|(chunk, value)| {
            let value = value.as_ref()?;
            is_gone(chunk, value).then_some(chunk)
        });
        gone.take(most).collect()
    }

    /// Takes chunks out of the records, and lets them be found no more.
    pub async fn hide(&mut self, gone: &[u32]) -> Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        let mut change = self.index.change().await?;
        if Some(change.manifest.incarnation) != self.incarnation {
            return Err(self.has_changed());
        }
        let mut firsts = BTreeSet::new();
        for chunk in gone {
            let record = self.records.range_mut(..=*chunk).next_back();
            let (first, stored) = record.ok_or_else(|| gone_twice(*chunk))?;
            let value = stored.record.values.get_mut((chunk - first) as usize);
            let value = value.and_then(Option::take);
            let value = value.ok_or_else(|| gone_twice(*chunk))?;
            change.hide(&value.range(*chunk));
            firsts.insert(*first);
        }
        let mut batch = change.batch()?;
        for first in firsts {
            let (key, stored) = (self.record_key(first), &self.records[&first]);
            // Whoever has erased some of them meanwhile has changed it.
            let check = BatchCheck::version(key.clone(), Some(stored.version));
            batch.checks.push(check);
            batch.writes.push(match stored.record.is_empty() {
                true => BatchWrite::apply(key, Operation::Del, None),
                false => set(key, &stored.record)?,
            });
        }
        self.driver().commit(batch).await?;
        Ok(())
    }

    /// Erases what is hidden, by whomever.
    pub async fn erase_hidden(&self) -> Result<()> {
        let mut ranges = self.snapshot().await?.manifest.hidden.clone();
        if ranges.is_empty() {
            return Ok(());
        }
        ranges.sort_by_key(|range| range.first);
        let erasure = ChunkErasure {
            ranges,
            terms: None,
        };
        self.index.erase(&erasure, &Batch::default()).await?;
        self.keep_up().await
    }

    async fn keep_up(&self) -> Result<()> {
        for _ in 0..STEPS {
            if !self.index.keep_up().await? {
                break;
            }
        }
        Ok(())
    }

    /// The index as it is now.
    pub async fn snapshot(&self) -> Result<Arc<IndexSnapshot>> {
        let snapshot = self.index.snapshot().await?;
        match Some(snapshot.manifest.incarnation) == self.incarnation {
            true => Ok(snapshot),
            false => Err(self.has_changed()),
        }
    }

    fn driver(&self) -> &dyn Driver {
        self.location.driver.as_ref()
    }

    fn record_key(&self, first: u32) -> ValueKey {
        let name = format!("{RECORD}{first:010}");
        self.location.index().key(name)
    }

    /// Drops it.
    pub async fn forget(&self) -> Result<()> {
        let dropped = Batch::of(self.location.forget_index());
        self.driver().commit(dropped).await?;
        Ok(())
    }

    /// Others have changed it during a search.
    pub fn has_changed(&self) -> Error {
        let changed = StorageError::Conflict {
            what: "the index of a memory".to_owned(),
            expected: "what this search has seen".to_owned(),
            found: "what others have made of it".to_owned(),
        };
        changed.into()
    }
}

impl ValueRecord {
    fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }
}

fn gone_twice(chunk: u32) -> Error {
    let message = format!("chunk {chunk} of the index of a memory is not in its record");
    Error::new(ErrorCode::Internal, message)
}

fn set<T: Serialize>(key: ValueKey, value: &T) -> Result<BatchWrite> {
    let set = Operation::Set(Json::of(value)?.into());
    Ok(BatchWrite::apply(key, set, None))
}
