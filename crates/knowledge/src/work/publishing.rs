//! The commit by which the new content of a document is found, and what it was before is not.

use super::collection_work::WorkPlace;
use super::document_job::PreparedDocument;
use crate::collection::KeptContent;
use crate::document::DocumentStatus;
use crate::error::Result;
use crate::job::{Job, JobStatus};
use crate::records::{
    ContentRecord, DocumentRecord, ErasureRecord, GoneChunks, TextRecord, VectorTask,
};
use crate::reindex_records::ReindexTask;
use crate::stored::{count_one, delete, put};
use crate::sums::{Sum, add_to_sums};
use ambit_storage::batch::Batch;
use std::collections::HashSet;

impl WorkPlace<'_> {
    /// What makes a document's new content the one that is found, and ends its job.
    pub(super) async fn add_publication(
        &self,
        prepared: &PreparedDocument,
        content: ContentRecord,
        text: TextRecord,
        batch: &mut Batch,
    ) -> Result<()> {
        let place = self.place();
        let version = self.index_record.version;
        let old = self.base.content(place, version, &prepared.key).await?;
        let old = old.map(|old| old.value).unwrap_or_default();
        let mut document = prepared.document.clone();
        let record = &mut document.value;
        let before = record.counted + prepared.pending.bytes;
        let bytes = Sum::Bytes.changed(before, prepared.text.len() as u64);
        let chunks = Sum::Chunks.changed(old.chunks().into(), content.chunks().into());
        let mut erasure = self.erasure_of(prepared, old, &content);
        erasure.text = record.text.replace(text);
        erasure.sources = self.left_sources(prepared, record);
        let job = self.ended_job(prepared, record, u64::from(content.chunks()));
        if job.status == JobStatus::Running {
            let task = VectorTask::new(&job.job_id, self.base.now());
            let task = put(place.vector_task(&prepared.key), &task)?;
            batch.writes.push(task);
        }
        if let Some(reindex) = &self.collection.value.reindex {
            let task = place.reindex_task(reindex.index.version, &prepared.key);
            batch.writes.push(put(task, &ReindexTask::default())?);
        }
        let job_id = &prepared.pending.job_id;
        let tenant = place.tenant_sums();
        batch.checks.extend([document.check(), place.not_removed()]);
        batch.writes.extend([
            document.put()?,
            put(place.content(version, &prepared.key), &content)?,
            put(place.job(job_id), &job)?,
            put(place.erasure(job_id), &erasure)?,
            delete(place.queued(job_id)),
            delete(place.staged(job_id)),
            count_one(place.changes()),
            add_to_sums(tenant, &[Sum::Jobs.less(1), bytes])?,
            add_to_sums(place.sums(), &[Sum::Waiting.less(1), chunks, bytes])?,
        ]);
        Ok(())
    }

    /// The chunks that are to be erased now.
    fn erasure_of(
        &self,
        prepared: &PreparedDocument,
        old: ContentRecord,
        new: &ContentRecord,
    ) -> ErasureRecord {
        let there: HashSet<&String> = new.ids.iter().collect();
        let gone = old.ids.into_iter().filter(|id| !there.contains(id));
        ErasureRecord {
            chunks: [(self.index_record.version, old.ranges)].into(),
            gone: Some(GoneChunks {
                document: prepared.key.clone(),
                ids: gone.collect(),
            }),
            ..ErasureRecord::default()
        }
    }

    /// The uploads that are not needed any more.
    fn left_sources(
        &self,
        prepared: &PreparedDocument,
        record: &mut DocumentRecord,
    ) -> Vec<TextRecord> {
        let source = prepared.pending.source();
        match self.collection.value.keep {
            KeptContent::File if source.blocks > 0 => Vec::from_iter(record.file.replace(source)),
            KeptContent::File | KeptContent::Text => {
                let left = record.file.take().into_iter();
                left.chain([source]).collect()
            }
        }
    }

    /// The document and its job behind the commit; the job goes on where vectors are to be made.
    fn ended_job(
        &self,
        prepared: &PreparedDocument,
        record: &mut DocumentRecord,
        chunks: u64,
    ) -> Job {
        let now = self.base.now();
        let gets_vectors = self.index_record.embedding.is_some();
        record.counted = prepared.text.len() as u64;
        record.pending = None;
        let document = &mut record.document;
        document.error = None;
        document.updated_at = now;
        document.indexed_at = Some(now);
        document.done = 0;
        let job = Job {
            updated_at: now,
            total: chunks,
            ..prepared.job.clone()
        };
        if gets_vectors {
            document.status = DocumentStatus::Embedding;
            document.total = chunks;
            return Job {
                step: Some("embedding".to_owned()),
                done: 0,
                ..job
            };
        }
        document.status = DocumentStatus::Ready;
        document.total = 0;
        Job {
            status: JobStatus::Done,
            step: None,
            done: chunks,
            ..job
        }
    }
}

impl VectorTask {
    pub(super) fn new(job_id: &str, now: i64) -> Self {
        Self {
            job_id: job_id.to_owned(),
            since: now,
            attempts: 0,
            not_before: 0,
            refused: Vec::new(),
        }
    }
}
