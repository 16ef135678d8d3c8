//! Documents are removed, and their jobs called off.

use super::lookup::{AccessKind, FoundDocument};
use super::{KnowledgeBase, retried};
use crate::document::DocumentStatus;
use crate::error::Result;
use crate::job::{Job, JobKind, JobStatus};
use crate::names::{self, CollectionPlace, DocumentKey};
use crate::reach::KnowledgeReach;
use crate::records::{DocumentRecord, ErasureRecord, RemovedDocument, VectorTask, WorkRecord};
use crate::stored::{self, StoredRecord, count_one, delete, put};
use crate::sums::{Sum, add_to_sums};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use std::collections::BTreeMap;

impl KnowledgeBase {
    /// Removes a document: from now on it is not found. The job, whose id this is, erases what it had.
    pub async fn remove_document(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<String> {
        self.remove_document_of(reach, None, id).await
    }

    /// The same, of a collection if one is named.
    pub async fn remove_document_of(
        &self,
        reach: &dyn KnowledgeReach,
        collection: Option<&str>,
        id: &str,
    ) -> Result<String> {
        let job_id = self.new_id();
        retried!(async {
            let found = self.find_document_in(reach, collection, id, AccessKind::Change);
            self.drop_document(&found.await?, &job_id).await
        })?;
        self.wake();
        Ok(job_id)
    }

    /// The commit behind which a document is not found any more.
    pub(crate) async fn drop_document(&self, found: &FoundDocument, job_id: &str) -> Result<()> {
        let collection = &found.collection.value;
        let place = &collection.place;
        let record = &found.document.value;
        let mut batch = self.superseded(place, &found.key, record).await?;
        batch
            .checks
            .extend([found.collection.check(), found.document.check()]);
        let (mut chunks, mut ranges) = (0, BTreeMap::new());
        for index in collection.indexes() {
            let key = place.content(index.version, &found.key);
            let content = self.content(place, index.version, &found.key).await?;
            let version = content.as_ref().map(|content| content.version);
            batch.checks.push(BatchCheck::version(key.clone(), version));
            batch.writes.push(delete(key));
            batch
                .writes
                .push(delete(place.reindex_task(index.version, &found.key)));
            let Some(content) = content.map(|content| content.value) else {
                continue;
            };
            if index.version == collection.index.version {
                chunks = content.chunks();
            }
            ranges.insert(index.version, content.ranges);
        }
        let erasure = ErasureRecord {
            chunks: ranges,
            text: record.text.clone(),
            sources: record.file.iter().cloned().collect(),
            document: Some(RemovedDocument {
                key: found.key.clone(),
                job_id: job_id.to_owned(),
            }),
            ..ErasureRecord::default()
        };
        batch.writes.push(put(place.erasure(job_id), &erasure)?);
        batch
            .writes
            .extend(self.removal_writes(found, job_id, chunks)?);
        self.driver().commit(batch).await?;
        Ok(())
    }

    /// What is known of a document goes, and a job is there for the rest.
    fn removal_writes(
        &self,
        found: &FoundDocument,
        job_id: &str,
        chunks: u32,
    ) -> Result<Vec<BatchWrite>> {
        let place = &found.collection.value.place;
        let record = &found.document.value;
        let tenant = place.tenant.as_deref();
        let has_failed = record.document.status == DocumentStatus::Failed;
        let bytes = Sum::Bytes.less(record.counted);
        let job = self.new_job(job_id, JobKind::Remove, &place.id);
        let less = [
            Sum::Documents.less(1),
            Sum::Chunks.less(u64::from(chunks)),
            Sum::Failed.less(u64::from(has_failed)),
            bytes,
        ];
        Ok(vec![
            delete(found.document.key.clone()),
            delete(place.vector_task(&found.key)),
            count_one(place.changes()),
            delete(place.document_place(&found.key, &record.document.document_id)),
            put(place.job(job_id), &job)?,
            put(place.work(), &WorkRecord::of(place))?,
            add_to_sums(names::tenant_sums(tenant), &[bytes])?,
            add_to_sums(place.sums(), &less)?,
        ])
    }

    /// What goes where a document's job is called off or has failed, or its last one is forgotten.
    pub(crate) async fn superseded(
        &self,
        place: &CollectionPlace,
        document: &DocumentKey,
        record: &DocumentRecord,
    ) -> Result<Batch> {
        let mut batch = Batch::default();
        if let Some(old) = &record.document.job_id {
            batch.writes.push(delete(place.job(old)));
        }
        let Some(pending) = &record.pending else {
            return Ok(batch);
        };
        let key = place.staged(&pending.job_id);
        let staged = stored::get::<ErasureRecord>(self.driver(), key.clone()).await?;
        // Whoever reads it may put more aside meanwhile, or begin to.
        let version = staged.as_ref().map(|staged| staged.version);
        batch.checks.push(BatchCheck::version(key.clone(), version));
        batch.writes.push(delete(key));
        let mut erasure = staged.map(|staged| staged.value).unwrap_or_default();
        erasure.sources.push(pending.source());
        let bytes = Sum::Bytes.less(pending.bytes);
        let tenant = place.tenant_sums();
        tracing::debug!(
            document.key = document.as_str(),
            "what waited for a job goes"
        );
        batch.writes.extend([
            delete(place.queued(&pending.job_id)),
            put(place.erasure(&pending.job_id), &erasure)?,
            add_to_sums(tenant, &[Sum::Jobs.less(1), bytes])?,
            add_to_sums(place.sums(), &[Sum::Waiting.less(1), bytes])?,
        ]);
        Ok(batch)
    }

    /// Calls off the job of a document, which stays as it was before.
    pub(crate) async fn cancel_document_job(
        &self,
        mut found: FoundDocument,
        mut job: StoredRecord<Job>,
    ) -> Result<Job> {
        let place = &found.collection.value.place;
        let mut batch = self
            .superseded(place, &found.key, &found.document.value)
            .await?;
        batch
            .checks
            .extend([found.document.check(), job.check(), place.not_removed()]);
        let task = place.vector_task(&found.key);
        let task = stored::get::<VectorTask>(self.driver(), task).await?;
        let (own, other) = match task {
            Some(task) if task.value.job_id == job.value.job_id => (Some(task), None),
            other => (None, other),
        };
        if let Some(own) = own {
            batch.checks.push(own.check());
            batch.writes.push(delete(own.key));
        }
        let record = &mut found.document.value;
        record.pending = None;
        (record.document.status, record.document.error) = match (&record.text, other) {
            (Some(_), Some(_)) => (DocumentStatus::Embedding, None),
            (Some(_), None) => (DocumentStatus::Ready, None),
            (None, _) => (DocumentStatus::Failed, Some("cancelled".to_owned())),
        };
        job.value.status = JobStatus::Cancelled;
        job.value.updated_at = self.now();
        let failed = Sum::Failed.more(u64::from(record.text.is_none()));
        batch.writes.extend([
            found.document.put()?,
            job.put()?,
            add_to_sums(place.sums(), &[failed])?,
        ]);
        self.driver().commit(batch).await?;
        Ok(job.value)
    }
}
