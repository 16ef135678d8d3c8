//! Search: what the caller may find of each collection becomes a scope, and one ranking goes over all of them.

use super::lookup::AccessKind;
use super::query_vectors::SearchVectors;
use super::table::{DocumentTable, TableEntry, TableRatings};
use super::{KnowledgeBase, RaceRetry, some_at_once};
use crate::error::{KnowledgeError, Result};
use crate::query::{KnowledgeAnswer, KnowledgeItem, KnowledgeQuery};
use crate::reach::KnowledgeReach;
use crate::records::{ChunkRecord, CollectionRecord, merged_metadata};
use crate::stored;
use ambit_search::allowed::AllowedChunks;
use ambit_search::filter::MetadataFilter;
use ambit_search::fusion::{FusedRanking, RankRequest, RankedChunk, rank};
use ambit_search::manifest::{ChunkRange, ChunkTotals, Manifest};
use ambit_search::ranking::{ChunkWeight, SearchScope};
use ambit_search::terms::TERMS_VERSION;
use ambit_storage::Error;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// The longest query, in bytes.
const LONGEST: usize = 32 << 10;
/// The most items of a search.
const MOST: usize = 100;

/// A collection as it is searched.
struct SearchedCollection {
    record: CollectionRecord,
    table: Arc<DocumentTable>,
}

/// A collection, and what a search may find of it.
struct OpenedCollection {
    collection: SearchedCollection,
    scope: SearchScope,
    /// Why it is searched by words alone.
    note: Option<String>,
}

/// A chunk that is to be shown.
struct FoundChunk<'a> {
    ranked: &'a RankedChunk,
    collection: &'a SearchedCollection,
    entry: &'a TableEntry,
    /// Its place in its document.
    place: u32,
}

/// Who searches, and for what.
struct ReadQuery<'a> {
    reach: &'a dyn KnowledgeReach,
    asked: &'a KnowledgeQuery,
    filter: MetadataFilter,
    vectors: SearchVectors,
}

impl KnowledgeBase {
    /// Finds the chunks that fit a query best, among those that the caller may see.
    pub async fn search(
        &self,
        reach: &dyn KnowledgeReach,
        query: &KnowledgeQuery,
    ) -> Result<KnowledgeAnswer> {
        if !(1..=MOST).contains(&query.limit) {
            let reason = format!("must be 1 to {MOST}");
            return Err(KnowledgeError::invalid("limit", reason));
        }
        if query.query.len() > LONGEST {
            let reason = format!("must be at most {LONGEST} bytes");
            return Err(KnowledgeError::invalid("query", reason));
        }
        let limit = self.settings().limits.queries;
        let rate = &self.shared.rate;
        if query.is_counted && !rate.take(reach.tenant(), limit, Instant::now()) {
            return Err(KnowledgeError::LimitExceeded {
                what: "queries of the tenant in a second".to_owned(),
                limit: u64::from(limit),
                setting: "queries",
            });
        }
        let read = ReadQuery {
            reach,
            asked: query,
            filter: query.metadata.clone().unwrap_or_default(),
            vectors: self.search_vectors(reach, query).await,
        };
        let mut named = HashSet::new();
        let ids = query.collections.iter();
        let ids = ids.filter(|id| named.insert(*id));
        let mut races: Vec<_> = ids.map(|id| (id.as_str(), RaceRetry::default())).collect();
        // To begin again is for each collection one try of those that it has.
        let mut answer = loop {
            match self.search_once(&read, &mut races).await {
                Err(error)
                    if error.is_race()
                        && races.iter_mut().all(|(_, race)| race.is_lost(&error)) => {}
                answer => break answer?,
            }
        };
        answer.used = read.vectors.used;
        Ok(answer)
    }

    async fn search_once(
        &self,
        query: &ReadQuery<'_>,
        races: &mut [(&str, RaceRetry)],
    ) -> Result<KnowledgeAnswer> {
        let mut answer = KnowledgeAnswer::default();
        let (mut collections, mut scopes) = (Vec::new(), Vec::new());
        let opened = races.iter_mut();
        let opened = opened.map(|(id, race)| self.opened(query, id, race));
        let opened: Vec<_> = opened.collect();
        for opened in some_at_once(opened).await {
            match opened {
                Ok(opened) => {
                    let note = opened.note;
                    let note = note.filter(|note| !answer.notes.contains(note));
                    answer.notes.extend(note);
                    collections.push(opened.collection);
                    scopes.push(opened.scope);
                }
                Err(KnowledgeError::NotFound { .. }) if query.asked.leaves_out_gone => {}
                Err(error @ KnowledgeError::NotFound { .. }) => {
                    answer.notes.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        if scopes.is_empty() {
            answer.error = Some(match answer.notes.is_empty() {
                true => "no collection to search".to_owned(),
                false => std::mem::take(&mut answer.notes).join(", "),
            });
            return Ok(answer);
        }
        let request = RankRequest {
            limit: query.asked.limit,
            threshold: query.asked.threshold,
            nearest: None,
        };
        let ranking = rank(&scopes, &request).await?;
        if ranking.has_partial_vectors {
            answer.notes.push("vectors: partial".to_owned());
        }
        let refused = ranking.refused_vectors.iter();
        let refused = refused.map(|reason| format!("vectors: {reason}"));
        answer.notes.extend(refused);
        for chunk in first(&collections, &ranking, query.asked.limit)? {
            answer.items.push(self.item(&chunk).await?);
        }
        Ok(answer)
    }

    /// A collection that is searched. One that is changed while it is read is read again, and no other with it.
    async fn opened(
        &self,
        query: &ReadQuery<'_>,
        id: &str,
        race: &mut RaceRetry,
    ) -> Result<OpenedCollection> {
        loop {
            match self.open_once(query, id).await {
                Err(error) if race.is_lost(&error) => race.pause().await,
                opened => return opened,
            }
        }
    }

    async fn open_once(&self, query: &ReadQuery<'_>, id: &str) -> Result<OpenedCollection> {
        let found = self.find_collection(query.reach, id, AccessKind::Read);
        let found = found.await?;
        let vector = query.vectors.of(&found.value.index, &query.asked.query);
        let (collection, scope) = self.scope(query, found).await?;
        let (vector, note) = match vector {
            Ok(vector) => (vector, None),
            Err(note) => (None, Some(note)),
        };
        Ok(OpenedCollection {
            collection,
            scope: SearchScope { vector, ..scope },
            note,
        })
    }

    /// What a search may find of a collection, all of one moment.
    async fn scope(
        &self,
        query: &ReadQuery<'_>,
        found: stored::StoredRecord<CollectionRecord>,
    ) -> Result<(SearchedCollection, SearchScope)> {
        let record = &found.value;
        let (place, version) = (&record.place, record.index.version);
        let index = self.index(place, version);
        let table = self.table(place, version).await?;
        let snapshot = index.snapshot().await?;
        // What was replaced since may have left the index.
        let now = stored::get::<CollectionRecord>(self.driver(), found.key.clone()).await?;
        let is_same = now.is_some_and(|now| now.version == found.version);
        if !is_same || self.changes(place).await? != table.changes {
            return Err(changed(&place.id));
        }
        if snapshot.manifest.terms_version != TERMS_VERSION && record.reindex.is_none() {
            self.note_old_terms(&found).await?;
        }
        let allowed = allowed(&table, &snapshot.manifest, query);
        let scope = SearchScope {
            index,
            snapshot,
            query: record.index.analyzer().query(&query.asked.query),
            allowed,
            vector: None,
            weights: weights(&table, &place.ratings_end(query.reach.tenant())),
        };
        let record = found.value;
        Ok((SearchedCollection { record, table }, scope))
    }

    async fn item(&self, found: &FoundChunk<'_>) -> Result<KnowledgeItem> {
        let record = &found.collection.record;
        let key = record.place.chunk(record.index.version, found.ranked.chunk);
        let stored = stored::get::<ChunkRecord>(self.driver(), key).await?;
        let stored = stored.ok_or_else(|| changed(&record.place.id))?.value;
        let document = &found.entry.record.document;
        let section = Some(&stored.metadata);
        let mut metadata: Map<String, Value> = merged_metadata(&document.metadata, section);
        let ranking = serde_json::to_value(found.ranked.ranking);
        let ranking = ranking.map_err(|error| Error::internal(error.to_string()))?;
        metadata.insert("ranking".to_owned(), ranking);
        Ok(KnowledgeItem {
            document_id: document.document_id.clone(),
            collection: record.place.id.clone(),
            chunk_id: stored.chunk.id,
            heading: stored.chunk.heading,
            page: stored.chunk.page,
            range: stored.chunk.range.map(|at| at as u64),
            score: found.ranked.score,
            title: document.title.clone(),
            content: stored.chunk.text,
            url: document.url.clone().unwrap_or_default(),
            metadata,
        })
    }
}

/// The chunks that a search may find.
fn allowed(table: &DocumentTable, manifest: &Manifest, query: &ReadQuery<'_>) -> AllowedChunks {
    let mut ranges: Vec<ChunkRange> = Vec::new();
    for entry in &table.entries {
        let document = &entry.record.document;
        let wanted = query.asked.document_id.as_ref();
        if wanted.is_none_or(|id| document.document_id == *id) && query.reach.may_read(document) {
            ranges.extend(query.filtered(entry));
        }
    }
    let totals = ranges.iter().map(|range| range.totals);
    let totals = totals.fold(ChunkTotals::default(), ChunkTotals::plus);
    // Nothing is staged, being erased or forbidden.
    if totals == manifest.totals && manifest.hidden.is_empty() {
        return AllowedChunks::all(manifest);
    }
    AllowedChunks::of(manifest, ranges)
}

impl ReadQuery<'_> {
    /// The chunks of a document whose metadata is as the filter says.
    fn filtered(&self, entry: &TableEntry) -> Vec<ChunkRange> {
        let content = &entry.content;
        let passes = |section: Option<&Map<String, Value>>| {
            let of_document = &entry.record.document.metadata;
            let metadata = Value::Object(merged_metadata(of_document, section));
            self.filter.matches(&metadata)
        };
        if self.filter.is_empty() {
            return content.ranges.clone();
        }
        if content.sections.is_empty() {
            return if passes(None) {
                content.ranges.clone()
            } else {
                Vec::new()
            };
        }
        let places = (0..content.chunks()).filter(|place| passes(content.section(*place)));
        places.filter_map(|place| content.range_of(place)).collect()
    }
}

/// Of the chunks of which something is thought.
fn weights(table: &DocumentTable, end: &str) -> HashMap<u32, ChunkWeight> {
    let mut weights = HashMap::new();
    for TableRatings { entry, ratings } in table.ratings(end) {
        let entry = &table.entries[*entry];
        for (place, id) in (0..).zip(&entry.content.ids) {
            let number = entry.content.number(place);
            if let (Some(rating), Some(number)) = (ratings.chunks.get(id), number) {
                let weight = ChunkWeight {
                    weight: rating.weight,
                    positive: rating.positive,
                    negative: rating.negative,
                };
                weights.insert(number, weight);
            }
        }
    }
    weights
}

/// The first chunks of a ranking; of equal ones those whose names come first.
fn first<'a>(
    collections: &'a [SearchedCollection],
    ranking: &'a FusedRanking,
    limit: usize,
) -> Result<Vec<FoundChunk<'a>>> {
    let mut chunks = Vec::new();
    for ranked in &ranking.chunks {
        let collection = &collections[ranked.scope];
        let found = collection.table.find(ranked.chunk);
        let found = found.ok_or_else(|| changed(&collection.record.place.id))?;
        chunks.push(FoundChunk {
            ranked,
            collection,
            entry: &collection.table.entries[found.entry],
            place: found.place,
        });
    }
    chunks.sort_by(|one, other| {
        let by_score = other.ranked.score.total_cmp(&one.ranked.score);
        by_score.then_with(|| one.name().cmp(&other.name()))
    });
    chunks.truncate(limit);
    Ok(chunks)
}

impl FoundChunk<'_> {
    /// The ids of collection and document, the chunk's place there, and whose document it is.
    fn name(&self) -> (&str, &str, u32, Option<&str>) {
        let document = &self.entry.record.document;
        let creator = document.created_by.as_deref();
        let collection = &self.collection.record.place.id;
        (collection, &document.document_id, self.place, creator)
    }
}

/// What a search has begun with is not there any more.
fn changed(collection: &str) -> KnowledgeError {
    KnowledgeError::race(format!("collection \"{collection}\""))
}
