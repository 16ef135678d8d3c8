//! A search of a large memory: its index is brought up to what the memory has, and what was found is shown as it is now.

use super::value_index::{PendingValues, UnindexedValue, ValueIndex};
use super::{MemoryMatch, MemorySearch, PAGE, SearchedValue, text_of};
use crate::error::{Error, ErrorCode, Result};
use crate::index_vectors::{IndexVectors, SearchedVectors, hybrid_ranking};
use crate::text_terms::{is_to_repeat, terms_of};
use ambit_search::allowed::AllowedChunks;
use ambit_search::fusion::rank;
use ambit_search::manifest::ChunkRange;
use ambit_search::ranking::SearchScope;
use ambit_search::terms::{QueryTerm, TermCounts};
use ambit_search::text_ranking::{rank_texts, texts_scope};
use ambit_storage::batch::ValueEntry;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::memory::MemoryLocation;
use serde_json::Value;

/// So many values are read for one search because they have changed.
const CHANGED: usize = 10_000;
/// Fewer are read again by the next search rather than written into an index; of a page with more all values are read at once.
const FEW: usize = 64;

/// What is looked for, and where.
pub(super) struct IndexedSearch<'a> {
    pub search: &'a MemorySearch,
    pub terms: Vec<QueryTerm>,
    pub location: MemoryLocation,
    pub vectors: SearchedVectors<'a>,
}

/// Brings an index up to what may be found in its memory.
pub(super) struct IndexFollower<'a> {
    search: &'a MemorySearch,
    pub index: ValueIndex,
    /// Fewer values are read again by the next search rather than written into the index.
    few: usize,
    /// The chunks that may be found.
    allowed: Vec<ChunkRange>,
    /// Read, and not in the index yet.
    pending: PendingValues,
    /// How many values were read because they have changed, and how many others were not.
    read: usize,
    left: usize,
}

/// Some values of a memory, without their contents or with them.
struct ValuePage {
    part: ValuePart,
    values: Vec<(String, ValueEntry)>,
}

/// A value as it was found.
struct FoundValue {
    key: String,
    version: u64,
    score: f64,
}

impl IndexedSearch<'_> {
    /// The best values. It begins again where others write at the same time.
    pub async fn matches(&self) -> Result<Vec<MemoryMatch>> {
        let mut tries = 0;
        loop {
            match self.attempt().await {
                Err(error) if is_to_repeat(&error, &mut tries) => {}
                done => return done,
            }
        }
    }

    async fn attempt(&self) -> Result<Vec<MemoryMatch>> {
        let mut follower = IndexFollower::of(self.search, &self.location, FEW).await?;
        follower.follow().await?;
        let mut matches = Vec::new();
        for found in self.rank(follower).await? {
            if matches.len() == self.search.limit {
                break;
            }
            matches.extend(self.shown(&found).await?);
        }
        Ok(matches)
    }

    async fn rank(&self, follower: IndexFollower<'_>) -> Result<Vec<FoundValue>> {
        let (index, rest) = (follower.index, follower.pending.values);
        let snapshot = index.snapshot().await?;
        let allowed = AllowedChunks::of(&snapshot.manifest, follower.allowed);
        let terms: Vec<TermCounts> = rest.iter().map(|value| value.terms.clone()).collect();
        let mut indexed =
            SearchScope::of_words(index.index.clone(), snapshot, self.terms.clone(), allowed);
        let space = index.vectors.as_ref().and_then(IndexVectors::space);
        indexed.vector = self.vectors.of(space).await;
        let scopes = [indexed, texts_scope(&terms, self.terms.clone()).await?];
        let counts = scopes.iter().map(|scope| scope.allowed.totals.chunks);
        let all = counts.map(|count| count as usize).sum();
        let ranking = rank(&scopes, &hybrid_ranking(all, self.search.limit)).await?;
        let found = ranking.chunks.iter().filter_map(|found| {
            let (key, version) = match found.scope {
                0 => index
                    .value(found.chunk)
                    .map(|value| (&value.key, value.version))?,
                _ => rest
                    .get(found.chunk as usize)
                    .map(|value| (&value.key, value.version))?,
            };
            Some(FoundValue {
                key: key.clone(),
                version,
                score: found.score,
            })
        });
        let mut found: Vec<FoundValue> = found.collect();
        found.sort_by(|one, other| {
            let by_score = other.score.total_cmp(&one.score);
            by_score.then_with(|| one.key.cmp(&other.key))
        });
        Ok(found)
    }

    /// A value as it is now; nothing where it is gone, or another one that does not fit.
    async fn shown(&self, found: &FoundValue) -> Result<Option<MemoryMatch>> {
        let (driver, space) = (&self.location.driver, &self.location.space);
        let key = space.key(found.key.as_str());
        let Some(entry) = driver.get(&key, ValuePart::Whole).await? else {
            return Ok(None);
        };
        let value: Value = entry.value.to()?;
        let now = SearchedValue {
            key: found.key.clone(),
            text: text_of(&found.key, &value),
            value: entry.value,
        };
        if entry.version != found.version {
            let has_words = rank_texts(&[terms_of(&now.text)], self.terms.clone()).await?;
            if has_words.is_empty() || !self.search.filter.matches(&value) {
                return Ok(None);
            }
        }
        Ok(Some(now.shown(Some(found.score), &self.terms)))
    }
}

impl<'a> IndexFollower<'a> {
    /// Opens the index of a memory, and begins it where nobody has.
    pub async fn of(
        search: &'a MemorySearch,
        location: &MemoryLocation,
        few: usize,
    ) -> Result<Self> {
        let embedding = search.embedding.as_ref();
        let connector = embedding.map(|embedding| embedding.connector.as_str());
        let mut index = ValueIndex::open(location.clone(), connector).await?;
        if !index.is_begun() {
            index.begin().await?;
        }
        Ok(Self {
            search,
            index,
            few,
            allowed: Vec::new(),
            pending: PendingValues::default(),
            read: 0,
            left: 0,
        })
    }

    /// Compares the index with the memory, and adds what it does not have, but for what is left to be ranked beside it.
    pub async fn follow(&mut self) -> Result<()> {
        let mut after = None;
        loop {
            let page = self.page(after.take()).await?;
            let is_last = page.values.len() < PAGE;
            after = page.values.last().map(|(key, _)| key.clone());
            for (key, entry) in page.values {
                self.take(key, entry, page.part).await?;
            }
            if is_last {
                break;
            }
        }
        if self.left > 0 || self.pending.values.len() >= self.few {
            let pending = std::mem::take(&mut self.pending);
            self.allowed.extend(self.index.add(pending).await?);
        }
        match self.left {
            0 => Ok(()),
            _ => Err(self.is_behind()),
        }
    }

    /// The next values: their contents are read at once where a filter looks at them, or many have changed.
    async fn page(&self, after: Option<String>) -> Result<ValuePage> {
        let mut scan = ValueScan {
            after,
            ..ValueScan::first(self.search.names(), PAGE, ValuePart::Nothing)
        };
        let location = &self.index.location;
        if self.search.filter.is_empty() {
            let values = location.driver.scan(&location.space, &scan).await?;
            let is_new = |(key, entry): &&(String, ValueEntry)| {
                self.index.range(key, entry.version).is_none()
            };
            if self.read == CHANGED || values.iter().filter(is_new).count() < FEW {
                let part = scan.part;
                return Ok(ValuePage { part, values });
            }
        }
        scan.part = ValuePart::Whole;
        let values = location.driver.scan(&location.space, &scan).await?;
        let part = scan.part;
        Ok(ValuePage { part, values })
    }

    async fn take(&mut self, key: String, mut entry: ValueEntry, part: ValuePart) -> Result<()> {
        if !self.search.filter.is_empty() && !self.search.filter.matches(&entry.value.to()?) {
            return Ok(());
        }
        if let Some(range) = self.index.range(&key, entry.version) {
            self.allowed.push(range);
            return Ok(());
        }
        if self.read == CHANGED {
            self.left += 1;
            return Ok(());
        }
        if part == ValuePart::Nothing {
            let location = &self.index.location;
            let read = location.space.key(key.as_str());
            match location.driver.get(&read, ValuePart::Whole).await? {
                Some(now) => entry = now,
                None => return Ok(()),
            }
        }
        self.read += 1;
        let text = text_of(&key, &entry.value.to()?);
        let full = self.pending.push(UnindexedValue {
            key,
            version: entry.version,
            terms: terms_of(&text),
            bytes: text.len(),
        });
        self.allowed.extend(self.index.add(full).await?);
        Ok(())
    }

    fn is_behind(&self) -> Error {
        let changed = CHANGED + self.left;
        let message = format!(
            "{changed} values of this memory were new or changed since it was searched last, more than the {CHANGED} that one search takes in; \
             {} are left: search again, or name fewer of them by pattern",
            self.left
        );
        Error::new(ErrorCode::LimitExceeded, message)
    }
}
