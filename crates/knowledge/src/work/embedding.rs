//! Vectors follow the words of a document. An embedder that is down delays them and nothing else.

use super::collection_work::{WaitingItem, WorkPlace};
use super::known_vectors::{HashedChunk, NewVectors, RefusedChunk};
use crate::document::DocumentStatus;
use crate::embedder::{EmbeddingFailure, EmbeddingPayer, EmbeddingRequest};
use crate::embedding_batch::{BATCH_TEXTS, EmbeddedBatch};
use crate::error::Result;
use crate::job::{Job, JobStatus};
use crate::names::{DocumentKey, VECTORS};
use crate::records::{ChunkRecord, ContentRecord, DocumentRecord, VectorTask};
use crate::stored::{self, StoredRecord, checked, delete};
use crate::sums::{Sum, add_to_sums};
use ambit_search::chunker::Chunk;
use ambit_search::vectors::ChunkVector;
use ambit_storage::batch::Batch;
use futures::future::join_all;

/// So many tokens go into a batch at most.
const TOKENS: u64 = 32_000;
/// So many batches are asked for at once, each of another document: of one document no more than one batch is lost with its node.
const AT_ONCE: usize = 2;

/// A document whose vectors are made.
pub(super) struct VectorlessDocument {
    pub task: StoredRecord<VectorTask>,
    pub document: StoredRecord<DocumentRecord>,
    content: ContentRecord,
}

/// Chunks whose vectors are made together, no two with the same text.
#[derive(Default)]
pub(super) struct EmbeddingBatch {
    pub chunks: Vec<HashedChunk>,
    pub texts: Vec<String>,
}

/// A document with the next texts of it that have no vectors.
struct DocumentBatch {
    found: VectorlessDocument,
    batch: EmbeddingBatch,
}

impl DocumentBatch {
    /// Whether one of these documents has a text of it.
    fn shares_texts(&self, others: &[Self]) -> bool {
        let mut others = others.iter().flat_map(|other| &other.batch.chunks);
        let own = &self.batch.chunks;
        others.any(|other| own.iter().any(|chunk| chunk.hash == other.hash))
    }
}

impl WorkPlace<'_> {
    /// Makes vectors that are due. False where there are none.
    pub(super) async fn embed_some(&self) -> Result<bool> {
        let now = self.base.now();
        let is_due = |task: &VectorTask| task.not_before <= now;
        let due = self.base.waiting(self.place(), VECTORS, is_due).await?;
        if due.is_empty() {
            return Ok(false);
        }
        let gets_vectors = self.index_record.embedding.is_some();
        if gets_vectors && self.base.settings().embedder.is_none() {
            return Ok(false);
        }
        // The first vectors say of which model all others have to be.
        let at_once = match &self.index_record.model {
            Some(_) => AT_ONCE,
            None => 1,
        };
        let (mut batches, mut done) = (Vec::<DocumentBatch>::new(), Ok(()));
        for task in due.into_iter().take(at_once) {
            match self.prepared_batch(task, gets_vectors).await {
                Ok(Some(next)) if !next.shares_texts(&batches) => batches.push(next),
                // A text that two documents have is known when it is the second one's turn.
                Ok(_) => {}
                // It is no reason not to ask for the other one.
                Err(error) => done = done.and(Err(error)),
            }
        }
        let embedded = self.embed_batches(batches).await;
        done.and(embedded).map(|()| true)
    }

    /// The next texts of a document that waits for vectors. Nothing where it waits no more.
    async fn prepared_batch(
        &self,
        task: WaitingItem<VectorTask>,
        gets_vectors: bool,
    ) -> Result<Option<DocumentBatch>> {
        let key = task.record.key.clone();
        match self.vectorless(task).await? {
            Some(found) if gets_vectors => return self.next_batch(found).await,
            // It was to get vectors in an index that is searched no more.
            Some(found) => self.end_embedding(found, None).await?,
            None => {
                let batch = checked([self.lease.check()], [delete(key)]);
                self.base.driver().commit(batch).await?;
            }
        }
        Ok(None)
    }

    /// The next texts of a document that are to be embedded. Nothing where vectors are known, which it gets at once, or where it has
    /// all, so that it is ready.
    async fn next_batch(&self, found: VectorlessDocument) -> Result<Option<DocumentBatch>> {
        let refused = &found.task.value.refused;
        let batch = self.next_texts(&found.content, refused).await?;
        if batch.chunks.is_empty() {
            self.end_embedding(found, None).await?;
            return Ok(None);
        }
        let known = self.known_vectors(self.index_record, &batch.chunks).await?;
        if !known.vectors.is_empty() {
            self.store_vectors(found, &batch.chunks, known).await?;
            return Ok(None);
        }
        Ok(Some(DocumentBatch { found, batch }))
    }

    /// Makes the vectors of all these texts at once, and stores them one document after the other.
    async fn embed_batches(&self, mut batches: Vec<DocumentBatch>) -> Result<()> {
        let texts = batches.iter_mut();
        let texts = texts.map(|it| std::mem::take(&mut it.batch.texts));
        let asked: Vec<_> = texts.map(|texts| self.embedded(texts)).collect();
        let answers = join_all(asked).await;
        let (mut is_down, mut done) = (false, Ok(()));
        for (DocumentBatch { found, batch }, answer) in batches.into_iter().zip(answers) {
            let stored = match answer {
                Ok(embedded) => {
                    let new = NewVectors::of(embedded, &batch.chunks);
                    self.store_vectors(found, &batch.chunks, new).await
                }
                Err(EmbeddingFailure::Permanent(reason)) => {
                    self.end_embedding(found, Some(reason)).await
                }
                Err(EmbeddingFailure::Unavailable(reason) | EmbeddingFailure::Refused(reason)) => {
                    is_down = true;
                    self.postpone(found, &reason).await
                }
            };
            // What was answered for the other one is paid for.
            done = done.and(stored);
        }
        if is_down {
            done = done.and(self.postpone_others().await);
        }
        done
    }

    async fn vectorless(
        &self,
        task: WaitingItem<VectorTask>,
    ) -> Result<Option<VectorlessDocument>> {
        let (place, driver) = (self.place(), self.base.driver());
        let key = DocumentKey::named(&task.id);
        let version = self.index_record.version;
        let document = stored::get::<DocumentRecord>(driver, place.document(&key)).await?;
        let content = self.base.content(place, version, &key).await?;
        let (Some(document), Some(content)) = (document, content) else {
            return Ok(None);
        };
        Ok(Some(VectorlessDocument {
            task: task.record,
            document,
            content: content.value,
        }))
    }

    /// The next texts without vectors.
    pub(super) async fn next_texts(
        &self,
        content: &ContentRecord,
        refused: &[String],
    ) -> Result<EmbeddingBatch> {
        let record = self.index_record;
        let index = self.index();
        let snapshot = index.snapshot().await?;
        let space = record.space();
        let settings = record.embedding.as_ref();
        let prefix = settings.map_or("", |settings| settings.document_prefix.as_str());
        let (mut batch, mut tokens) = (EmbeddingBatch::default(), 0);
        for range in &content.ranges {
            let numbers = match &space {
                Some(space) => {
                    index
                        .chunks_without_vectors(&snapshot, space, range)
                        .await?
                }
                None => range.numbers().collect(),
            };
            for number in numbers {
                if batch.chunks.len() == BATCH_TEXTS {
                    return Ok(batch);
                }
                let key = self.place().chunk(record.version, number);
                let stored = stored::get::<ChunkRecord>(self.base.driver(), key).await?;
                let chunk = stored.map(|stored| stored.value.chunk);
                let is_asked = |hash: &String| batch.chunks.iter().any(|it| it.hash == *hash);
                let is_next = |it: &Chunk| !refused.contains(&it.id) && !is_asked(&it.hash);
                let Some(chunk) = chunk.filter(is_next) else {
                    continue;
                };
                if tokens > 0 && tokens + chunk.tokens > TOKENS {
                    return Ok(batch);
                }
                tokens += chunk.tokens;
                batch.texts.push(format!("{prefix}{}", chunk.text));
                let hash = chunk.hash;
                batch.chunks.push(HashedChunk { number, hash });
            }
        }
        Ok(batch)
    }

    /// The vectors of texts, as long as they can be compared with those that are there.
    pub(super) async fn embedded(
        &self,
        texts: Vec<String>,
    ) -> std::result::Result<EmbeddedBatch, EmbeddingFailure> {
        let record = &self.collection.value;
        let unset = || EmbeddingFailure::Permanent("the collection has no embedding".to_owned());
        let settings = self.index_record.embedding.as_ref().ok_or_else(unset)?;
        let embedder = self.base.settings().embedder.as_ref().ok_or_else(unset)?;
        let request = EmbeddingRequest {
            connector: settings.connector.clone(),
            dimensions: settings.dimensions,
            texts,
            payer: EmbeddingPayer::Collection(record.owner()),
        };
        let batch = EmbeddedBatch::of(embedder.as_ref(), &request).await?;
        if let Some(space) = batch.space(&settings.connector) {
            self.index_record.check_space(&record.place.id, &space)?;
        }
        Ok(batch)
    }

    async fn store_vectors(
        &self,
        mut found: VectorlessDocument,
        chunks: &[HashedChunk],
        new: NewVectors,
    ) -> Result<()> {
        let mut collection = self.collection.clone();
        let record = &mut collection.value.index;
        let mut addition = self.add_vectors(record, chunks, &new).await?;
        let batch = &mut addition.batch;
        if collection.value != self.collection.value {
            batch.writes.push(collection.put()?);
        }
        batch.checks.push(collection.check());
        found.document.value.document.done += new.vectors.len() as u64;
        for refused in &new.refused {
            let warning = found.task.value.refuse(refused, &found.content);
            found.document.value.document.warnings.extend(warning);
        }
        found.task.value.attempts = 0;
        batch.writes.push(found.task.put()?);
        self.add_progress(&found, batch).await?;
        addition.commit().await?;
        Ok(())
    }

    /// The batch, as long as the document is as it was.
    pub(super) async fn commit_with(
        &self,
        found: &VectorlessDocument,
        mut batch: Batch,
    ) -> Result<()> {
        self.add_progress(found, &mut batch).await?;
        self.base.driver().commit(batch).await?;
        Ok(())
    }

    /// How far the document and its job are, as long as the document is as it was.
    async fn add_progress(&self, found: &VectorlessDocument, batch: &mut Batch) -> Result<()> {
        let place = self.place();
        let checks = [
            found.document.check(),
            found.task.check(),
            self.lease.check(),
        ];
        batch.checks.extend(checks);
        batch.writes.push(found.document.put()?);
        let job = place.job(&found.task.value.job_id);
        let job = stored::get::<Job>(self.base.driver(), job).await?;
        if let Some(mut job) = job.filter(|job| !job.value.status.is_final()) {
            let document = &found.document.value.document;
            job.value.step = Some("embedding".to_owned());
            (job.value.done, job.value.total) = (document.done, document.total);
            job.value.updated_at = self.base.now();
            job.value.error.clone_from(&document.error);
            match document.status {
                DocumentStatus::Ready => job.value.status = JobStatus::Done,
                DocumentStatus::Failed => job.value.status = JobStatus::Failed,
                _ => {}
            }
            batch.writes.push(job.put()?);
        }
        Ok(())
    }

    /// All vectors are there, or it is known why there will be none.
    pub(super) async fn end_embedding(
        &self,
        mut found: VectorlessDocument,
        failure: Option<String>,
    ) -> Result<()> {
        let is_replaced = found.document.value.pending.is_some();
        let document = &mut found.document.value.document;
        // What waits to replace this text, or has failed to, is what its status tells of.
        let is_told = document.status == DocumentStatus::Embedding && !is_replaced;
        let has_failed = is_told && failure.is_some();
        if failure.is_none() {
            document.done = document.total;
        }
        if is_told {
            document.status = match failure {
                None => DocumentStatus::Ready,
                Some(_) => DocumentStatus::Failed,
            };
            document.error = failure;
            found.document.value.has_no_vectors = has_failed;
        }
        let document = &mut found.document.value.document;
        document.updated_at = self.base.now();
        let sums = add_to_sums(
            self.place().sums(),
            &[Sum::Failed.more(u64::from(has_failed))],
        )?;
        let batch = Batch::of([delete(found.task.key.clone()), sums]);
        self.commit_with(&found, batch).await
    }
}

impl NewVectors {
    /// Those that a batch has for these chunks, and the chunks that have none.
    pub fn of(batch: EmbeddedBatch, chunks: &[HashedChunk]) -> Self {
        let mut new = Self {
            model: Some(batch.model),
            ..Self::default()
        };
        for (HashedChunk { number, .. }, vector) in chunks.iter().zip(batch.vectors) {
            let chunk = *number;
            match vector {
                Ok(vector) => new.vectors.push(ChunkVector { chunk, vector }),
                Err(reason) => new.refused.push(RefusedChunk { chunk, reason }),
            }
        }
        new
    }
}
