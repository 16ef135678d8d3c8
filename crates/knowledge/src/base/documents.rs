//! Documents are shown and read.

use super::collections::contains;
use super::lookup::{AccessKind, FoundDocument};
use super::{KnowledgeBase, retried};
use crate::chunk::DocumentChunk;
use crate::document::{Document, DocumentStatus};
use crate::error::{KnowledgeError, Result};
use crate::names::{CollectionPlace, DOCUMENTS};
use crate::rating::RatingsRecord;
use crate::reach::KnowledgeReach;
use crate::records::{ChunkRecord, ContentRecord, DocumentRecord, TextRecord, merged_metadata};
use crate::stored;
use ambit_extract::ExtractedDocument;
use ambit_storage::Error;
use std::ops::Range;

/// Which documents are listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentFilter {
    /// Of this collection; without it, of all.
    pub collection_id: Option<String>,
    /// Texts that id, name and title have among them, whatever their case.
    pub keywords: Option<String>,
    /// A text that their `metadata.tags` have.
    pub tag: Option<String>,
    /// How far they are.
    pub status: Option<DocumentStatus>,
}

impl KnowledgeBase {
    /// A document that the caller may read.
    pub async fn document(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<Document> {
        let found = self.find_document(reach, id, AccessKind::Read).await?;
        let version = found.collection.value.index.version;
        Ok(shown(found.document.value, version))
    }

    /// The documents that the caller may read, the newest first.
    pub async fn documents(
        &self,
        reach: &dyn KnowledgeReach,
        filter: &DocumentFilter,
    ) -> Result<Vec<Document>> {
        let mut collections = Vec::new();
        if let Some(id) = &filter.collection_id {
            let found = self.find_collection(reach, id, AccessKind::Read).await?;
            collections.push(found.value);
        } else {
            for tenant in [Some(reach.tenant()), None] {
                collections.extend(self.collection_records(tenant).await?);
            }
            collections.retain(|record| record.is_usable(reach));
        }
        let mut found = Vec::new();
        for collection in collections {
            let records = self.document_records(&collection.place).await?;
            found.extend(records.into_iter().map(|mut record| {
                record.settle(collection.index.version);
                record
            }));
        }
        found.retain(|record| filter.matches(&record.document) && reach.may_read(&record.document));
        found.sort_by(|one, other| other.order.cmp(&one.order));
        Ok(found.into_iter().map(|record| record.document).collect())
    }

    pub(crate) async fn document_records(
        &self,
        place: &CollectionPlace,
    ) -> Result<Vec<DocumentRecord>> {
        Ok(stored::all(self.driver(), &place.values(), DOCUMENTS).await?)
    }

    /// What was read of a document: so many characters of it.
    pub async fn document_text(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        range: Range<usize>,
    ) -> Result<String> {
        let extracted = retried!(async {
            let found = self.find_document(reach, id, AccessKind::Read).await?;
            let Some(text) = &found.document.value.text else {
                return Ok(ExtractedDocument::default());
            };
            let place = &found.collection.value.place;
            let extracted = self.extracted(place, text).await;
            if extracted.is_err() {
                // Replaced meanwhile, its blocks go one by one.
                let now = self.find_document(reach, id, AccessKind::Read).await?;
                if now.document.value.text.as_ref() != Some(text) {
                    return Err(replaced(id));
                }
            }
            extracted
        })?;
        let length = range.end.saturating_sub(range.start);
        let characters = extracted.text.chars().skip(range.start);
        Ok(characters.take(length).collect())
    }

    /// What was read of a document.
    pub(crate) async fn extracted(
        &self,
        place: &CollectionPlace,
        text: &TextRecord,
    ) -> Result<ExtractedDocument> {
        let mut json = String::new();
        for block in 0..text.blocks {
            let key = place.text(&text.id, block);
            let what = key.to_string();
            let stored = stored::get::<String>(self.driver(), key).await?;
            let lost = || Error::corrupt(what, "a block of a text is lost");
            json.push_str(&stored.ok_or_else(lost)?.value);
        }
        let corrupt = |error| Error::corrupt(format!("text {}", text.id), error);
        Ok(serde_json::from_str(&json).map_err(corrupt)?)
    }

    /// Some chunks of a document in their order.
    pub async fn document_chunks(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        places: Range<u32>,
    ) -> Result<Vec<DocumentChunk>> {
        retried!(async {
            let found = self.find_document(reach, id, AccessKind::Read).await?;
            let content = self.content_of(&found).await?;
            let ratings = self.ratings(&found, reach.tenant()).await?;
            let mut chunks = Vec::new();
            for place in places.start..places.end.min(content.chunks()) {
                let chunk = self.chunk_at(&found, &content, place).await?;
                chunks.push(shown_chunk(&found, chunk, &ratings));
            }
            Ok(chunks)
        })
    }

    /// A chunk of a document.
    pub async fn document_chunk(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        chunk: &str,
    ) -> Result<DocumentChunk> {
        retried!(async {
            for found in self.readable_documents(reach, id).await? {
                let content = self.content_of(&found).await?;
                let place = content.ids.iter().zip(0..).find(|(id, _)| *id == chunk);
                let Some((_, place)) = place else {
                    continue;
                };
                let ratings = self.ratings(&found, reach.tenant()).await?;
                let chunk = self.chunk_at(&found, &content, place).await?;
                return Ok(shown_chunk(&found, chunk, &ratings));
            }
            Err(KnowledgeError::not_found("segment", chunk))
        })
    }

    pub(super) async fn content_of(&self, found: &FoundDocument) -> Result<ContentRecord> {
        let collection = &found.collection.value;
        let version = collection.index.version;
        let content = self.content(&collection.place, version, &found.key).await?;
        if content.is_none() && found.document.value.text.is_some() {
            return Err(replaced(&found.document.value.document.document_id));
        }
        Ok(content.map(|content| content.value).unwrap_or_default())
    }

    async fn chunk_at(
        &self,
        found: &FoundDocument,
        content: &ContentRecord,
        place: u32,
    ) -> Result<ChunkRecord> {
        let collection = &found.collection.value;
        let gone = || replaced(&found.document.value.document.document_id);
        let number = content.number(place).ok_or_else(gone)?;
        let key = collection.place.chunk(collection.index.version, number);
        let stored = stored::get::<ChunkRecord>(self.driver(), key).await?;
        Ok(stored.ok_or_else(gone)?.value)
    }
}

/// A document as callers see it.
fn shown(mut record: DocumentRecord, version: u32) -> Document {
    record.settle(version);
    record.document
}

/// A chunk is gone: its document was replaced after it was looked up.
fn replaced(id: &str) -> KnowledgeError {
    KnowledgeError::race(format!("document \"{id}\""))
}

/// A chunk as callers see it, with what is thought of it.
fn shown_chunk(
    found: &FoundDocument,
    stored: ChunkRecord,
    ratings: &RatingsRecord,
) -> DocumentChunk {
    let chunk = stored.chunk;
    let of = &found.document.value.document;
    let rating = ratings.chunks.get(&chunk.id).cloned().unwrap_or_default();
    DocumentChunk {
        id: chunk.id,
        document_id: of.document_id.clone(),
        collection_id: of.collection_id.clone(),
        index: chunk.index as u64,
        text: chunk.text,
        title: stored.title,
        heading: chunk.heading,
        page: chunk.page,
        range: chunk.range.map(|at| at as u64),
        tokens: chunk.tokens,
        hash: chunk.hash,
        metadata: merged_metadata(&of.metadata, Some(&stored.metadata)),
        weight: rating.weight,
        score: rating.score,
        score_dimensions: rating.dimensions,
        positive: rating.positive,
        negative: rating.negative,
        hit: rating.hit,
        version: found.collection.value.index.version,
        created_at: stored.created_at,
        updated_at: stored.created_at,
    }
}

impl DocumentFilter {
    fn matches(&self, document: &Document) -> bool {
        let texts = [&document.document_id, &document.name, &document.title];
        let has_words = |words: &String| contains(&texts, words);
        let has_tag = |tag: &String| {
            let tags = document
                .metadata
                .get("tags")
                .and_then(|tags| tags.as_array());
            tags.is_some_and(|tags| tags.iter().any(|it| it.as_str() == Some(tag)))
        };
        self.keywords.as_ref().is_none_or(has_words)
            && self.tag.as_ref().is_none_or(has_tag)
            && self.status.is_none_or(|status| document.status == status)
    }
}
