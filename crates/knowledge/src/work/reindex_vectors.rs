//! The vectors of a re-index: what the old index has of the same model is copied, the rest is made.

use super::collection_work::WaitingItem;
use super::embedder_wait::{PATIENCE, retry_time};
use super::embedding::{EmbeddedBatch, RefusedChunk};
use super::reindex::ReindexPlace;
use crate::embedder::EmbeddingFailure;
use crate::error::Result;
use crate::names::DocumentKey;
use crate::records::{ContentRecord, DocumentRecord, VectorTask};
use crate::reindex_records::ReindexTask;
use crate::stored::{self, StoredRecord, delete, put};
use ambit_search::vectors::ChunkVector;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::to_millis;
use std::collections::HashMap;

/// A document whose words are in the new index.
struct IndexedDocument {
    key: DocumentKey,
    task: VectorTask,
    document: StoredRecord<DocumentRecord>,
    content: ContentRecord,
}

impl ReindexPlace<'_> {
    /// Puts the next vectors of a document into the new index. False where their time has not come.
    pub(super) async fn embed(&self, waiting: WaitingItem<ReindexTask>) -> Result<bool> {
        let (base, place) = (self.work.base, self.work.place());
        let key = DocumentKey::named(&waiting.id);
        let document = stored::get(base.driver(), place.document(&key)).await?;
        let content = base.content(place, self.version(), &key).await?;
        let (Some(task), Some(document), Some(content)) =
            (waiting.value.vectors, document, content)
        else {
            let over = delete(place.reindex_task(self.version(), &key));
            self.commit(Batch::of([over])).await?;
            return Ok(true);
        };
        if task.not_before > base.now() {
            return Ok(false);
        }
        let found = IndexedDocument {
            key,
            task,
            document,
            content: content.value,
        };
        self.embed_next(found).await?;
        Ok(true)
    }

    async fn embed_next(&self, found: IndexedDocument) -> Result<()> {
        let refused = &found.task.refused;
        let batch = self.work.next_texts(&found.content, refused).await?;
        if batch.numbers.is_empty() {
            let task = self.work.place().reindex_task(self.version(), &found.key);
            let mut over = Batch::of([delete(task)]);
            over.checks.push(found.document.check());
            self.write_progress(1, "embedding", &mut over).await?;
            return self.commit(over).await;
        }
        let known = self.known_vectors(&found, &batch.numbers).await?;
        if !known.is_empty() {
            return self.store(found, known, Vec::new(), None).await;
        }
        match self.work.embedded(batch.texts).await {
            Ok(embedded) => {
                let EmbeddedBatch { model, .. } = &embedded;
                let model = model.clone();
                let (vectors, refused) = embedded.sorted(&batch.numbers);
                self.store(found, vectors, refused, Some(model)).await
            }
            Err(EmbeddingFailure::Permanent(reason)) => self.fail(reason).await,
            Err(EmbeddingFailure::Unavailable(reason) | EmbeddingFailure::Refused(reason)) => {
                self.postpone(found, reason).await
            }
        }
    }

    /// The vectors that chunks with the same text have in the old index, where both are of one model.
    async fn known_vectors(
        &self,
        found: &IndexedDocument,
        numbers: &[u32],
    ) -> Result<Vec<ChunkVector>> {
        let (base, place) = (self.work.base, self.work.place());
        let (old, new) = (&self.work.collection.value.index, self.work.index_record);
        let prefix = |of: &Option<crate::collection::EmbeddingSettings>| {
            of.as_ref().map(|it| it.document_prefix.clone())
        };
        let is_same =
            old.space() == new.space() && prefix(&old.embedding) == prefix(&new.embedding);
        let Some(space) = new.space().filter(|_| is_same) else {
            return Ok(Vec::new());
        };
        let Some(before) = base.content(place, old.version, &found.key).await? else {
            return Ok(Vec::new());
        };
        let before = before.value;
        let places: HashMap<&String, u32> = before.ids.iter().zip(0..).collect();
        let ids: HashMap<Option<u32>, &String> = (0..)
            .map(|place| found.content.number(place))
            .zip(&found.content.ids)
            .collect();
        let index = base.index(place, old.version);
        let snapshot = index.snapshot().await?;
        let mut known = Vec::new();
        for &chunk in numbers {
            let place = ids.get(&Some(chunk)).and_then(|id| places.get(id));
            let Some(number) = place.and_then(|place| before.number(*place)) else {
                continue;
            };
            if let Some(vector) = index.vector_of_chunk(&snapshot, &space, number).await? {
                let vector = vector.to_vec();
                known.push(ChunkVector { chunk, vector });
            }
        }
        Ok(known)
    }

    /// Stores vectors; with the first ones it is known of which model they are.
    async fn store(
        &self,
        mut found: IndexedDocument,
        vectors: Vec<ChunkVector>,
        refused: Vec<RefusedChunk>,
        model: Option<String>,
    ) -> Result<()> {
        let mut collection = self.work.collection.clone();
        let mut change = self.work.index().change().await?;
        if let Some(reindex) = &mut collection.value.reindex {
            if let (Some(model), Some(first)) = (model, vectors.first()) {
                reindex.index.model = Some(model);
                reindex.index.dimension = Some(first.vector.len() as u32);
            }
            if let Some(space) = reindex.index.space() {
                change.add_vectors(&space, &vectors).await?;
            }
        }
        let mut batch = change.batch()?;
        if collection.value != self.work.collection.value {
            batch.writes.push(collection.put()?);
        }
        batch.checks.push(found.document.check());
        for refused in &refused {
            found.refuse(refused);
        }
        if !refused.is_empty() {
            batch.writes.push(found.document.put()?);
        }
        found.task.attempts = 0;
        batch.writes.push(self.put_task(&found)?);
        self.write_progress(0, "embedding", &mut batch).await?;
        self.commit(batch).await
    }

    fn put_task(&self, found: &IndexedDocument) -> Result<BatchWrite> {
        let key = self.work.place().reindex_task(self.version(), &found.key);
        let vectors = Some(found.task.clone());
        Ok(put(key, &ReindexTask { vectors })?)
    }

    /// It is tried again later, for a day. The old index is searched meanwhile, and afterwards.
    async fn postpone(&self, mut found: IndexedDocument, reason: String) -> Result<()> {
        let now = self.work.base.now();
        if now - found.task.since > to_millis(PATIENCE) {
            return self.fail(reason).await;
        }
        found.task.attempts += 1;
        found.task.not_before = now + retry_time(found.task.attempts);
        let mut batch = Batch::of([self.put_task(&found)?]);
        batch.checks.push(found.document.check());
        self.commit(batch).await
    }
}

impl IndexedDocument {
    /// A chunk stays without a vector.
    fn refuse(&mut self, refused: &RefusedChunk) {
        let Some(place) = self.content.place_of(refused.chunk) else {
            return;
        };
        if let Some(reindexed) = &mut self.document.value.reindexed {
            reindexed.warnings.push(refused.warning(place));
        }
        self.task
            .refused
            .push(self.content.ids[place as usize].clone());
    }
}
