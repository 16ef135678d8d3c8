//! The vectors of a re-index: what the old index has of the same model is copied, the rest is made.

use super::collection_work::WaitingItem;
use super::known_vectors::{HashedChunk, NewVectors};
use super::reindex::ReindexPlace;
use crate::embedder::EmbeddingFailure;
use crate::error::Result;
use crate::index_record::IndexRecord;
use crate::names::DocumentKey;
use crate::records::{ContentRecord, DocumentRecord, VectorTask};
use crate::reindex_records::ReindexTask;
use crate::stored::{self, StoredRecord, delete, put};
use ambit_storage::batch::{Batch, BatchWrite};

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
            (waiting.record.value.vectors, document, content)
        else {
            self.commit(Batch::of([delete(waiting.record.key)])).await?;
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
        if batch.chunks.is_empty() {
            let task = self.work.place().reindex_task(self.version(), &found.key);
            let mut over = Batch::of([delete(task)]);
            over.checks.push(found.document.check());
            self.write_progress(1, "embedding", &mut over).await?;
            return self.commit(over).await;
        }
        let known = self.known_vectors(&batch.chunks).await?;
        if !known.vectors.is_empty() {
            return self.store(found, &batch.chunks, known).await;
        }
        match self.work.embedded(batch.texts).await {
            Ok(embedded) => {
                let new = NewVectors::of(embedded, &batch.chunks);
                self.store(found, &batch.chunks, new).await
            }
            Err(EmbeddingFailure::Permanent(reason)) => self.fail(reason).await,
            Err(EmbeddingFailure::Unavailable(reason) | EmbeddingFailure::Refused(reason)) => {
                self.postpone(found, reason).await
            }
        }
    }

    /// The vectors that chunks with the same texts have, in the old index too where both are of one model.
    async fn known_vectors(&self, chunks: &[HashedChunk]) -> Result<NewVectors> {
        let (old, new) = (&self.work.collection.value.index, self.work.index_record);
        let known = self.work.known_vectors(new, chunks).await?;
        let prefix = |of: &IndexRecord| of.embedding.as_ref().map(|it| it.document_prefix.clone());
        let is_same = old.space() == new.space() && prefix(old) == prefix(new);
        match known.vectors.is_empty() && is_same {
            true => self.work.known_vectors(old, chunks).await,
            false => Ok(known),
        }
    }

    async fn store(
        &self,
        mut found: IndexedDocument,
        chunks: &[HashedChunk],
        new: NewVectors,
    ) -> Result<()> {
        let mut reindex = self.reindex.clone();
        let added = self.work.add_vectors(&mut reindex.index, chunks, &new);
        let mut addition = added.await?;
        let batch = &mut addition.batch;
        if reindex != *self.reindex {
            let mut collection = self.work.collection.clone();
            collection.value.reindex = Some(reindex);
            batch.writes.push(collection.put()?);
        }
        batch.checks.push(found.document.check());
        for refused in &new.refused {
            let warning = found.task.refuse(refused, &found.content);
            if let Some(reindexed) = &mut found.document.value.reindexed {
                reindexed.warnings.extend(warning);
            }
        }
        if !new.refused.is_empty() {
            batch.writes.push(found.document.put()?);
        }
        found.task.attempts = 0;
        batch.writes.push(self.put_task(&found)?);
        self.write_progress(0, "embedding", batch).await?;
        self.commit_addition(addition).await
    }

    fn put_task(&self, found: &IndexedDocument) -> Result<BatchWrite> {
        let key = self.work.place().reindex_task(self.version(), &found.key);
        let vectors = Some(found.task.clone());
        Ok(put(key, &ReindexTask { vectors })?)
    }

    /// It is tried again later, for a day. The old index is searched meanwhile, and afterwards.
    async fn postpone(&self, mut found: IndexedDocument, reason: String) -> Result<()> {
        if !found.task.postpone(self.work.base.now()) {
            return self.fail(reason).await;
        }
        let mut batch = Batch::of([self.put_task(&found)?]);
        batch.checks.push(found.document.check());
        self.commit(batch).await
    }
}
