//! Collections are indexed anew: begun and called off. The work itself is that of a node (`work/reindex.rs`).

use super::lookup::AccessKind;
use super::{KnowledgeBase, retried};
use crate::collection::{ReindexProgress, ReindexRequest};
use crate::error::{KnowledgeError, Result};
use crate::index_record::IndexRecord;
use crate::index_record::ReindexRecord;
use crate::job::{Job, JobKind, JobStatus};
use crate::names;
use crate::reach::KnowledgeReach;
use crate::records::{CollectionRecord, ErasureRecord, WorkRecord};
use crate::stored::{self, StoredRecord, checked, delete, put};
use crate::sums::{Sum, Sums, TENANT, add_to_sums};
use ambit_storage::batch::{BatchCheck, BatchWrite};

impl KnowledgeBase {
    /// Makes the index of a collection anew from the texts that are kept. Until it is whole the old one is searched.
    pub async fn reindex(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        request: &ReindexRequest,
    ) -> Result<Job> {
        let job = retried!(async {
            let mut found = self.find_collection(reach, id, AccessKind::Change).await?;
            if let Some(running) = &found.value.reindex {
                let job = &running.job_id;
                let reason = format!(
                    "collection \"{id}\" is being indexed anew, wait for job \"{job}\" or cancel it"
                );
                return Err(KnowledgeError::Conflict { reason });
            }
            let room = self
                .room_for_job(found.value.place.tenant.as_deref())
                .await?;
            let index = found.value.index.changed(request);
            index.chunk.settings()?;
            let (job, writes) = self.begin_reindex(&mut found.value, index)?;
            let mut batch = checked([found.check(), room], [found.put()?]);
            batch.writes.extend(writes);
            self.driver().commit(batch).await?;
            Ok(job)
        })?;
        self.wake();
        Ok(job)
    }

    /// Holds as long as a tenant has as many jobs as now, which are not too many for another one.
    async fn room_for_job(&self, tenant: Option<&str>) -> Result<BatchCheck> {
        let counted = names::tenant_sums(tenant);
        let sums = Sums::read(self.driver(), counted.clone()).await?;
        sums.check_quota(Sum::Jobs, 1, self.settings().limits.jobs, TENANT)?;
        Ok(BatchCheck::version(counted, sums.version))
    }

    /// Lets a collection be indexed as this says. What is written goes into one commit with the collection.
    pub(crate) fn begin_reindex(
        &self,
        record: &mut CollectionRecord,
        index: IndexRecord,
    ) -> Result<(Job, Vec<BatchWrite>)> {
        let place = record.place.clone();
        let job_id = self.new_id();
        let job = self.new_job(&job_id, JobKind::Reindex, &place.id);
        let before = record.reindex_job.replace(job_id.clone());
        record.last_version += 1;
        record.reindex = Some(ReindexRecord {
            index: IndexRecord {
                version: record.last_version,
                ..index
            },
            job_id,
            is_listed: false,
        });
        let tenant = place.tenant_sums();
        let mut writes = Vec::from_iter(before.map(|before| delete(place.job(&before))));
        writes.extend([
            put(place.job(&job.job_id), &job)?,
            put(place.work(), &WorkRecord::of(&place))?,
            add_to_sums(tenant, &[Sum::Jobs.more(1)])?,
            add_to_sums(place.sums(), &[Sum::Waiting.more(1)])?,
        ]);
        Ok((job, writes))
    }

    /// What goes with the end of a re-index beside the collection itself: its job, and the index that is of no use any more.
    pub(crate) fn end_reindex(
        &self,
        record: &CollectionRecord,
        job: &Job,
        useless: u32,
    ) -> Result<Vec<BatchWrite>> {
        let place = &record.place;
        let erasure = ErasureRecord {
            index: Some(useless),
            ..ErasureRecord::default()
        };
        let tenant = place.tenant_sums();
        Ok(vec![
            put(place.job(&job.job_id), job)?,
            put(place.erasure(&job.job_id), &erasure)?,
            put(place.work(), &WorkRecord::of(place))?,
            add_to_sums(tenant, &[Sum::Jobs.less(1)])?,
            add_to_sums(place.sums(), &[Sum::Waiting.less(1)])?,
        ])
    }

    /// Calls off the re-index of a collection, if one is under way. What is written goes into one commit with the collection.
    pub(crate) async fn abandon_reindex(
        &self,
        record: &mut CollectionRecord,
        status: JobStatus,
        error: Option<String>,
    ) -> Result<Vec<BatchWrite>> {
        let Some(reindex) = record.reindex.take() else {
            return Ok(Vec::new());
        };
        let stored = stored::get::<Job>(self.driver(), record.place.job(&reindex.job_id)).await?;
        let unknown = || self.new_job(&reindex.job_id, JobKind::Reindex, &record.place.id);
        let job = Job {
            status,
            error,
            step: None,
            updated_at: self.now(),
            ..stored.map_or_else(unknown, |stored| stored.value)
        };
        self.end_reindex(record, &job, reindex.index.version)
    }

    /// Lets a node look at a collection whose index has other terms than queries have (`work/old_terms.rs`).
    pub(super) async fn note_old_terms(
        &self,
        found: &StoredRecord<CollectionRecord>,
    ) -> Result<()> {
        let place = &found.value.place;
        let work = put(place.work(), &WorkRecord::of(place))?;
        match self.driver().commit(checked([found.check()], [work])).await {
            Ok(_) => self.shared.wake.notify_waiters(),
            // The next search tries again.
            Err(error) => tracing::debug!(%error, "an index with old terms could not be noted"),
        }
        Ok(())
    }

    /// Calls a re-index off: what was made is erased, and the collection stays as it is.
    pub(super) async fn cancel_reindex(
        &self,
        mut found: StoredRecord<CollectionRecord>,
        job: Job,
    ) -> Result<Job> {
        let running = found.value.reindex.as_ref();
        if running.is_none_or(|running| running.job_id != job.job_id) {
            // It has ended just now.
            return Ok(job);
        }
        let cancelled = JobStatus::Cancelled;
        let ended = self.abandon_reindex(&mut found.value, cancelled, None);
        let writes = ended.await?;
        let mut batch = checked([found.check()], writes);
        batch.writes.push(found.put()?);
        self.driver().commit(batch).await?;
        self.wake();
        let now = stored::get::<Job>(self.driver(), found.value.place.job(&job.job_id)).await?;
        Ok(now.map_or(job, |now| now.value))
    }

    /// How far the re-index of a collection is.
    pub(super) async fn reindex_progress(
        &self,
        record: &CollectionRecord,
    ) -> Result<Option<ReindexProgress>> {
        let Some(reindex) = &record.reindex else {
            return Ok(None);
        };
        let key = record.place.job(&reindex.job_id);
        let job = stored::get::<Job>(self.driver(), key).await?;
        Ok(job.map(|job| ReindexProgress {
            job_id: job.value.job_id,
            done: job.value.done,
            total: job.value.total,
        }))
    }
}
