//! Jobs are followed: each change of one, or of those of a collection, is told.

use super::KnowledgeBase;
use super::job_polls::JobVersions;
use super::jobs::{JobVisibility, POLL_INTERVAL};
use crate::error::Result;
use crate::job::{Job, JobKind};
use crate::reach::KnowledgeReach;
use crate::stored;
use ambit_storage::address::Space;
use futures::{Stream, StreamExt, stream};
use std::sync::Arc;

/// What a follower waits for.
enum WatchedJobs {
    /// One, until it is over.
    Job {
        id: String,
        /// As it was told last.
        last: Option<Job>,
    },
    /// Those of a collection, what changes from now on.
    Collection {
        id: String,
        /// All jobs of the tenant and of the app that there were at the last look; none before the first.
        known: [Option<Arc<JobVersions>>; 2],
    },
}

/// Where a follower of jobs stands.
struct JobWatch {
    base: KnowledgeBase,
    reach: Arc<dyn KnowledgeReach>,
    watched: WatchedJobs,
}

impl KnowledgeBase {
    /// A job at each change from now on, at most four times a second; ends with its final status.
    pub fn watch_job(
        &self,
        reach: Arc<dyn KnowledgeReach>,
        id: &str,
    ) -> impl Stream<Item = Result<Job>> + Send + use<> {
        let (id, last) = (id.to_owned(), None);
        self.watch(reach, WatchedJobs::Job { id, last })
    }

    /// Each job of a collection at each change from now on.
    pub fn watch_collection(
        &self,
        reach: Arc<dyn KnowledgeReach>,
        collection: &str,
    ) -> impl Stream<Item = Result<Job>> + Send + use<> {
        let (id, known) = (collection.to_owned(), [None, None]);
        self.watch(reach, WatchedJobs::Collection { id, known })
    }

    fn watch(
        &self,
        reach: Arc<dyn KnowledgeReach>,
        watched: WatchedJobs,
    ) -> impl Stream<Item = Result<Job>> + Send + use<> {
        let watch = JobWatch {
            base: self.clone(),
            reach,
            watched,
        };
        let changes = stream::unfold(Some(watch), async |watch| {
            let mut watch = watch?;
            match watch.next().await {
                Ok(Some(jobs)) => Some((jobs.into_iter().map(Ok).collect(), Some(watch))),
                Ok(None) => None,
                Err(error) => Some((vec![Err(error)], None)),
            }
        });
        changes.flat_map(stream::iter)
    }

    /// The jobs of a collection in one place that were written since. Of the others no more than the version is read.
    async fn changed_jobs(
        &self,
        mut visibility: JobVisibility<'_>,
        collection: &str,
        before: &JobVersions,
        now: &JobVersions,
    ) -> Result<Vec<Job>> {
        let space = Space::knowledge_jobs(visibility.tenant);
        let written = now.iter();
        let written = written.filter(|(id, version)| before.get(*id) != Some(*version));
        let mut changed = Vec::new();
        for (id, _) in written {
            let job = stored::get::<Job>(self.driver(), space.key(id)).await?;
            let is_of = |job: &Job| job.collection_id == collection && job.kind != JobKind::Remove;
            if let Some(mut job) = job.map(|job| job.value).filter(is_of)
                && visibility.sees(&job).await?
            {
                self.count_visible(visibility.reach, &mut job).await?;
                changed.push(job);
            }
        }
        Ok(changed)
    }
}

impl JobWatch {
    /// The jobs that have changed, once there are any; nothing behind the end of the one that is watched.
    async fn next(&mut self) -> Result<Option<Vec<Job>>> {
        let mut is_first = matches!(self.watched, WatchedJobs::Job { last: None, .. });
        loop {
            if self.is_over() {
                return Ok(None);
            }
            let changed = self.look().await?;
            if !is_first || changed.is_empty() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            if !changed.is_empty() {
                return Ok(Some(changed));
            }
            is_first = false;
        }
    }

    fn is_over(&self) -> bool {
        match &self.watched {
            WatchedJobs::Job { last, .. } => last.as_ref().is_some_and(|job| job.status.is_final()),
            WatchedJobs::Collection { .. } => false,
        }
    }

    async fn look(&mut self) -> Result<Vec<Job>> {
        let (base, reach) = (&self.base, self.reach.as_ref());
        match &mut self.watched {
            WatchedJobs::Job { id, last } => {
                let job = base.job(reach, id).await?;
                if last.as_ref() == Some(&job) {
                    return Ok(Vec::new());
                }
                *last = Some(job.clone());
                Ok(vec![job])
            }
            WatchedJobs::Collection { id, known } => {
                base.collection(reach, id).await?;
                let mut changed = Vec::new();
                for (tenant, known) in [Some(reach.tenant()), None].into_iter().zip(known) {
                    let versions = base.poll_jobs(tenant).await?;
                    let before = known.replace(versions.clone());
                    let before = before.filter(|before| !Arc::ptr_eq(before, &versions));
                    if let Some(before) = before {
                        let visibility = JobVisibility::new(base, reach, tenant);
                        let new = base.changed_jobs(visibility, id, &before, &versions);
                        changed.extend(new.await?);
                    }
                }
                // The oldest first.
                changed.sort_by(|one, other| one.job_id.cmp(&other.job_id));
                Ok(changed)
            }
        }
    }
}
