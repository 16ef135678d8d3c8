//! Jobs are followed: each change of one, or of those of a collection, is told.

use super::KnowledgeBase;
use super::jobs::{JobSight, LOOK};
use crate::error::Result;
use crate::job::{Job, JobKind};
use crate::reach::KnowledgeReach;
use crate::stored;
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use futures::{Stream, StreamExt, stream};
use std::collections::HashMap;
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
        /// All jobs that there were at the last look; none before the first.
        known: Option<JobVersions>,
    },
}

/// The versions of jobs, by their ids.
type JobVersions = HashMap<String, u64>;

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
        let (id, known) = (collection.to_owned(), None);
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

    /// The jobs of a collection that were written since, the oldest first. Of the others no more than the version is read.
    async fn changed_jobs(
        &self,
        reach: &dyn KnowledgeReach,
        collection: &str,
        known: &mut Option<JobVersions>,
    ) -> Result<Vec<Job>> {
        let before = known.take();
        let mut now = JobVersions::new();
        let mut changed = Vec::new();
        for tenant in [Some(reach.tenant()), None] {
            let space = Space::knowledge_jobs(tenant);
            let versions = self.job_versions(&space).await?;
            let mut written = Vec::new();
            if let Some(before) = &before {
                let new = versions.iter();
                let new = new.filter(|(id, version)| before.get(*id) != Some(*version));
                written.extend(new.map(|(id, _)| id.clone()));
            }
            let mut sight = JobSight::new(self, reach, tenant);
            for id in written {
                let job = stored::get::<Job>(self.driver(), space.key(id)).await?;
                let is_of =
                    |job: &Job| job.collection_id == collection && job.kind != JobKind::Remove;
                if let Some(mut job) = job.map(|job| job.value).filter(is_of)
                    && sight.sees(&job).await?
                {
                    self.count_visible(reach, &mut job).await?;
                    changed.push(job);
                }
            }
            now.extend(versions);
        }
        *known = Some(now);
        changed.sort_by(|one, other| one.job_id.cmp(&other.job_id));
        Ok(changed)
    }

    async fn job_versions(&self, space: &Space) -> Result<JobVersions> {
        let (all, nothing) = (Pattern::all(), ValuePart::Nothing);
        let mut pages = ValuePages::of(self.driver(), space, all, nothing);
        let mut versions = JobVersions::new();
        while let Some(page) = pages.next().await? {
            versions.extend(page.into_iter().map(|(id, entry)| (id, entry.version)));
        }
        Ok(versions)
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
                tokio::time::sleep(LOOK).await;
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
                base.changed_jobs(reach, id, known).await
            }
        }
    }
}
