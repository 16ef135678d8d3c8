//! What is stored of collections, documents and their content.

use crate::collection::{
    Collection, CollectionEmbedding, CollectionShare, CollectionSource, CollectionStatus,
    KeptContent, NewCollection,
};
use crate::document::Document;
use crate::error::Result;
use crate::index_record::{IndexRecord, ReindexRecord, ReindexedDocument};
use crate::names::{CollectionPlace, DocumentKey};
use crate::reach::KnowledgeReach;
use crate::sources::CollectionOwner;
use crate::sums::{Sum, Sums};
use ambit_search::chunker::Chunk;
use ambit_search::manifest::{ChunkRange, ChunkTotals};
use ambit_search::terms::{TermCounter, WeightedText};
use ambit_storage::clock::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is stored of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CollectionRecord {
    pub place: CollectionPlace,
    pub name: String,
    pub description: String,
    pub public: bool,
    pub share: CollectionShare,
    pub source: CollectionSource,
    pub keep: KeptContent,
    pub metadata: Map<String, Value>,
    pub created_by: Option<String>,
    pub team_id: Option<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
    /// The index that is searched.
    pub index: IndexRecord,
    pub reindex: Option<ReindexRecord>,
    /// The job of the last re-index, whatever became of it.
    pub reindex_job: Option<String>,
    /// The highest version that an index of it had.
    pub last_version: u32,
}

/// A document whose vectors are to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct VectorTask {
    pub job_id: String,
    /// Since when.
    pub since: Millis,
    /// How often its embedder was down.
    #[serde(default)]
    pub attempts: u32,
    /// Not to be tried before.
    #[serde(default)]
    pub not_before: Millis,
    /// Ids of chunks that get none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// What is stored of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentRecord {
    pub document: Document,
    /// Ascends with each document that is added.
    pub order: String,
    /// What its owner says of it; the rest of its metadata is its own.
    pub given: Map<String, Value>,
    /// Its text, once it has been read.
    pub text: Option<TextRecord>,
    /// Its file, where the collection keeps files.
    pub file: Option<TextRecord>,
    /// The bytes that are counted for it.
    pub counted: u64,
    /// Where its file is as long as it is not read.
    pub pending: Option<PendingContent>,
    /// The file of the app that it was read from.
    #[serde(default)]
    pub stamp: Option<FileStamp>,
    /// Its place in the index of a re-index.
    #[serde(default)]
    pub reindexed: Option<ReindexedDocument>,
    /// Its vectors could not be made.
    #[serde(default)]
    pub has_no_vectors: bool,
}

/// By what it is seen that a file has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    pub size: u64,
    pub modified: Millis,
}

/// Content on its way into a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingContent {
    pub job_id: String,
    pub name: String,
    /// What its owner calls it meanwhile: its format is seen by the name of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    pub media_type: Option<String>,
    pub hash: String,
    pub bytes: u64,
    pub url: Option<String>,
    /// How many values hold it; none where it is to be fetched.
    pub blocks: u32,
}

/// Where the text of a document is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextRecord {
    /// The job that has read it.
    pub id: String,
    pub blocks: u32,
}

/// What a document has in an index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContentRecord {
    /// In the order of its chunks.
    pub ranges: Vec<ChunkRange>,
    /// The length of each chunk, in terms.
    pub lengths: Vec<u32>,
    /// The id of each chunk.
    pub ids: Vec<String>,
    /// What holds for some of its chunks alone, by the first of them; it ends where the next begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionMetadata>,
    /// The text that it was made from, where a re-index has made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What holds from one chunk on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SectionMetadata {
    pub from: u32,
    pub metadata: Map<String, Value>,
}

/// A chunk as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkRecord {
    #[serde(flatten)]
    pub chunk: Chunk,
    pub title: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    pub created_at: Millis,
}

/// A job that waits, or is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueueRecord {
    pub document: DocumentKey,
    /// How often a node has begun it.
    #[serde(default)]
    pub attempts: u32,
}

/// A collection that was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RemovalRecord {
    pub job_id: String,
    /// The highest version of its indexes.
    pub version: u32,
    /// The removals of documents that were under way, once they have been looked for: they end with this one.
    #[serde(default)]
    pub others: Option<Vec<String>>,
}

/// That a collection has something to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkRecord {
    pub place: CollectionPlace,
    /// Where it has been removed.
    pub removal: Option<RemovalRecord>,
}

/// What is to be erased.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ErasureRecord {
    /// Chunks, by the versions of their indexes.
    #[serde(default)]
    pub chunks: BTreeMap<u32, Vec<ChunkRange>>,
    /// The version of an index that goes as a whole.
    #[serde(default)]
    pub index: Option<u32>,
    pub text: Option<TextRecord>,
    /// Not to be erased before.
    #[serde(default)]
    pub not_before: Millis,
    /// Of the text whose chunks these are, and of how they were cut, where they are put aside.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Uploads.
    #[serde(default)]
    pub sources: Vec<TextRecord>,
    /// Chunks that a replacement has not.
    #[serde(default)]
    pub gone: Option<GoneChunks>,
    /// All else that is known of a document that was removed.
    pub document: Option<RemovedDocument>,
}

/// Chunks that are gone, whose votes go with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GoneChunks {
    pub document: DocumentKey,
    pub ids: Vec<String>,
}

/// A document that is being erased.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RemovedDocument {
    pub key: DocumentKey,
    pub job_id: String,
}

impl WorkRecord {
    /// That something is to be done for a collection that is there.
    pub fn of(place: &CollectionPlace) -> Self {
        Self {
            place: place.clone(),
            removal: None,
        }
    }
}

impl DocumentRecord {
    pub fn key(&self) -> DocumentKey {
        let creator = self.document.created_by.as_deref();
        DocumentKey::of(creator, &self.document.document_id)
    }
}

impl PendingContent {
    /// Where the upload is.
    pub fn source(&self) -> TextRecord {
        TextRecord {
            id: self.job_id.clone(),
            blocks: self.blocks,
        }
    }
}

impl CollectionRecord {
    pub fn new(place: CollectionPlace, new: NewCollection, now: Millis) -> Result<Self> {
        new.chunk.settings()?;
        let name = Some(new.name).filter(|name| !name.is_empty());
        Ok(Self {
            name: name.unwrap_or_else(|| place.id.clone()),
            source: match place.tenant {
                Some(_) => CollectionSource::Api,
                None => CollectionSource::File,
            },
            place,
            description: new.description,
            public: new.public,
            share: new.share,
            keep: new.keep,
            metadata: new.metadata,
            created_by: None,
            team_id: None,
            created_at: now,
            updated_at: now,
            index: IndexRecord {
                version: 1,
                language: new.language.code().to_owned(),
                chunk: new.chunk,
                embedding: new.embedding,
                model: None,
                dimension: None,
            },
            reindex: None,
            reindex_job: None,
            last_version: 1,
        })
    }

    /// As callers see it, without the progress of a re-index.
    pub fn shown(&self, sums: &Sums) -> Collection {
        let embedding = self.index.embedding.as_ref();
        Collection {
            collection_id: self.place.id.clone(),
            name: self.name.clone(),
            description: self.description.clone(),
            public: self.public,
            share: self.share,
            source: self.source,
            language: self.index.language.clone(),
            chunk: self.index.chunk,
            embedding: embedding.map(|it| CollectionEmbedding {
                connector: it.connector.clone(),
                model: self.index.model.clone(),
                dimension: self.index.dimension.or(it.dimensions),
            }),
            keep: self.keep,
            version: self.index.version,
            reindex: None,
            documents: sums.get(Sum::Documents),
            chunks: sums.get(Sum::Chunks),
            bytes: sums.get(Sum::Bytes),
            failed: sums.get(Sum::Failed),
            status: match sums.get(Sum::Waiting) {
                0 => CollectionStatus::Ready,
                _ => CollectionStatus::Indexing,
            },
            metadata: self.metadata.clone(),
            created_by: self.created_by.clone(),
            team_id: self.team_id.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    pub fn owner(&self) -> CollectionOwner {
        CollectionOwner {
            tenant: self.place.tenant.clone(),
            user: self.created_by.clone(),
            team: self.team_id.clone(),
        }
    }

    pub fn is_usable(&self, reach: &dyn KnowledgeReach) -> bool {
        reach.may_use(&self.shown(&Sums::default()))
    }

    pub fn is_changeable(&self, reach: &dyn KnowledgeReach) -> bool {
        self.source == CollectionSource::Api && reach.may_change(&self.shown(&Sums::default()))
    }
}

impl ContentRecord {
    pub fn chunks(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// The number of the chunk with this place in the document.
    pub fn number(&self, place: u32) -> Option<u32> {
        let mut passed = 0;
        for range in &self.ranges {
            if place < passed + range.totals.chunks {
                return Some(range.first + place - passed);
            }
            passed += range.totals.chunks;
        }
        None
    }

    /// The place of the chunk with this number.
    pub fn place_of(&self, number: u32) -> Option<u32> {
        let mut places = 0..self.chunks();
        places.find(|place| self.number(*place) == Some(number))
    }

    /// The chunk with this place alone, as a range.
    pub fn range_of(&self, place: u32) -> Option<ChunkRange> {
        let length = self.lengths.get(place as usize)?;
        let totals = ChunkTotals {
            chunks: 1,
            length: u64::from(*length),
        };
        let first = self.number(place)?;
        Some(ChunkRange { first, totals })
    }

    /// What holds for a chunk beside what holds for the document.
    pub fn section(&self, place: u32) -> Option<&Map<String, Value>> {
        let passed = self.sections.partition_point(|it| it.from <= place);
        let section = self.sections.get(passed.checked_sub(1)?)?;
        Some(&section.metadata)
    }
}

impl ChunkRecord {
    /// Reads what the index knows of it.
    pub fn read_terms(&self, counter: &mut TermCounter) {
        let names = [&self.title].into_iter().chain(&self.chunk.heading);
        let names = names.map(|name| (name, 2));
        let texts = [(&self.chunk.text, 1)].into_iter().chain(names);
        counter.read_chunk(texts.map(|(text, weight)| WeightedText { text, weight }));
    }
}

/// What is known of a chunk: the document's metadata, and that of its section.
pub(crate) fn merged_metadata(
    document: &Map<String, Value>,
    section: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut merged = document.clone();
    for (key, value) in section.into_iter().flatten() {
        merged.insert(key.clone(), value.clone());
    }
    merged
}
