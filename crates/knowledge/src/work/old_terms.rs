//! An index whose terms are of another version than those of this program is made anew by itself.

use super::collection_work::WorkPlace;
use crate::collection::ReindexRequest;
use crate::error::Result;
use crate::job::{Job, JobStatus};
use crate::stored::{self, checked};
use ambit_search::terms::TERMS_VERSION;

/// Milliseconds until what has failed is begun again.
const RETRY: i64 = 60 * 60 * 1000;

impl WorkPlace<'_> {
    /// Whether the index that is searched takes chunks. Where it does not, a re-index begins if none is under way, and what is
    /// to be read waits until it has ended.
    pub(super) async fn takes_chunks(&self) -> Result<bool> {
        let snapshot = self.index().snapshot().await?;
        if snapshot.manifest.terms_version == TERMS_VERSION {
            return Ok(true);
        }
        let mut collection = self.collection.clone();
        let record = &mut collection.value;
        if record.reindex.is_none() && !self.has_just_failed(record.reindex_job.as_deref()).await? {
            let index = record.index.changed(&ReindexRequest::default());
            let (_, begun) = self.base.begin_reindex(record, index)?;
            let checks = [self.collection.check(), self.lease.check()];
            let mut batch = checked(checks, [collection.put()?]);
            batch.writes.extend(begun);
            self.base.driver().commit(batch).await?;
        }
        Ok(false)
    }

    /// Whether the last re-index failed within the hour.
    async fn has_just_failed(&self, job: Option<&str>) -> Result<bool> {
        let Some(id) = job else { return Ok(false) };
        let job = stored::get::<Job>(self.base.driver(), self.place().job(id)).await?;
        let job = job.filter(|job| job.value.status == JobStatus::Failed);
        Ok(job.is_some_and(|job| job.value.updated_at + RETRY > self.base.now()))
    }
}
