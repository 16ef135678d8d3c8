//! Jobs are shown, listed, called off and waited for.

use super::lookup::AccessKind;
use super::{KnowledgeBase, retried};
use crate::error::{KnowledgeError, Result};
use crate::job::{Job, JobKind, JobStatus};
use crate::reach::KnowledgeReach;
use crate::stored::{self, StoredRecord};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use futures::{Stream, StreamExt, stream};
use std::sync::Arc;
use std::time::Duration;

/// From one look at a job to the next: what changes more often is told at this pace.
const LOOK: Duration = Duration::from_millis(250);

/// Which jobs are listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFilter {
    /// Of this collection.
    pub collection_id: Option<String>,
    /// How far they are.
    pub status: Option<JobStatus>,
}

/// Where a follower of a job stands.
struct JobWatch {
    base: KnowledgeBase,
    reach: Arc<dyn KnowledgeReach>,
    id: String,
    last: Option<Job>,
}

/// Where a follower of a collection stands.
struct CollectionWatch {
    base: KnowledgeBase,
    reach: Arc<dyn KnowledgeReach>,
    filter: JobFilter,
    /// The jobs at the last look; none before the first.
    known: Option<Vec<Job>>,
}

impl KnowledgeBase {
    /// A job of a collection that the caller may use.
    pub async fn job(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<Job> {
        self.find_job(reach, id).await.map(|found| found.value)
    }

    async fn find_job(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<StoredRecord<Job>> {
        for tenant in [Some(reach.tenant()), None] {
            let key = Space::knowledge_jobs(tenant).key(id);
            let found = stored::get::<Job>(self.driver(), key).await?;
            if let Some(found) = found
                && self.is_visible(reach, tenant, &found.value).await?
            {
                return Ok(found);
            }
        }
        Err(KnowledgeError::not_found("job", id))
    }

    /// A removal is shown to whoever knows its id: what it names is gone.
    async fn is_visible(
        &self,
        reach: &dyn KnowledgeReach,
        tenant: Option<&str>,
        job: &Job,
    ) -> Result<bool> {
        if job.kind == JobKind::Remove {
            return Ok(tenant.is_some());
        }
        if let Some(document) = &job.document_id {
            let found = self.document_of(tenant, document).await?;
            return Ok(found.is_some_and(|found| {
                found.collection.value.is_usable(reach)
                    && reach.may_read(&found.document.value.document)
            }));
        }
        let found = self.collection_record(tenant, &job.collection_id).await?;
        Ok(found.is_some_and(|found| found.value.is_usable(reach)))
    }

    /// The jobs of collections that the caller may use, the oldest first. Removals are not among them.
    pub async fn jobs(&self, reach: &dyn KnowledgeReach, filter: &JobFilter) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for tenant in [Some(reach.tenant()), None] {
            let space = Space::knowledge_jobs(tenant);
            let (all, whole) = (Pattern::all(), ValuePart::Whole);
            let mut pages = ValuePages::of(self.driver(), &space, all, whole);
            let mut stored = Vec::new();
            while let Some(page) = pages.next().await? {
                stored.extend(page.into_iter().map(|(_, entry)| entry.value.to::<Job>()));
            }
            for job in stored {
                let job = job?;
                let is_wanted = job.kind != JobKind::Remove && filter.matches(&job);
                if is_wanted && self.is_visible(reach, tenant, &job).await? {
                    jobs.push(job);
                }
            }
        }
        Ok(jobs)
    }

    /// Calls a job off. One that is over stays as it is; a removal cannot be called off.
    pub async fn cancel_job(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<Job> {
        retried!(async {
            let found = self.find_job(reach, id).await?;
            if found.value.status.is_final() {
                return Ok(found.value);
            }
            let collection = &found.value.collection_id;
            let collection = self.find_collection(reach, collection, AccessKind::Change);
            let collection = collection.await?;
            match (found.value.kind, &found.value.document_id) {
                (JobKind::Document, Some(document)) => {
                    let document = self
                        .find_document(reach, document, AccessKind::Change)
                        .await?;
                    self.cancel_document_job(document, found.clone()).await
                }
                (JobKind::Reindex, _) => self.cancel_reindex(collection, found.value).await,
                _ => Err(KnowledgeError::Conflict {
                    reason: format!("job \"{id}\" cannot be called off"),
                }),
            }
        })
    }

    /// A job at each change from now on, at most four times a second; ends with its final status.
    pub fn watch_job(
        &self,
        reach: Arc<dyn KnowledgeReach>,
        id: &str,
    ) -> impl Stream<Item = Result<Job>> + Send + use<> {
        let watch = JobWatch {
            base: self.clone(),
            reach,
            id: id.to_owned(),
            last: None,
        };
        stream::unfold(Some(watch), async |watch| {
            let mut watch = watch?;
            match watch.next().await {
                Ok(Some(job)) => Some((Ok(job), Some(watch))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Each job of a collection at each change from now on.
    pub fn watch_collection(
        &self,
        reach: Arc<dyn KnowledgeReach>,
        collection: &str,
    ) -> impl Stream<Item = Result<Job>> + Send + use<> {
        let watch = CollectionWatch {
            base: self.clone(),
            reach,
            filter: JobFilter {
                collection_id: Some(collection.to_owned()),
                status: None,
            },
            known: None,
        };
        let changes = stream::unfold(Some(watch), async |watch| {
            let mut watch = watch?;
            match watch.next().await {
                Ok(jobs) => Some((jobs.into_iter().map(Ok).collect(), Some(watch))),
                Err(error) => Some((vec![Err(error)], None)),
            }
        });
        changes.flat_map(stream::iter)
    }

    /// Waits until a job is over.
    pub async fn finished_job(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<Job> {
        loop {
            let job = self.job(reach, id).await?;
            if job.status.is_final() {
                return Ok(job);
            }
            tokio::time::sleep(LOOK / 5).await;
        }
    }

    pub(crate) fn new_job(&self, id: &str, kind: JobKind, collection_id: &str) -> Job {
        let now = self.now();
        Job {
            job_id: id.to_owned(),
            kind,
            collection_id: collection_id.to_owned(),
            document_id: None,
            status: JobStatus::Queued,
            step: None,
            done: 0,
            total: 0,
            attempts: 0,
            error: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl CollectionWatch {
    /// The jobs that have changed, once there are any.
    async fn next(&mut self) -> Result<Vec<Job>> {
        loop {
            let reach = self.reach.as_ref();
            let collection = self.filter.collection_id.as_deref().unwrap_or_default();
            self.base.collection(reach, collection).await?;
            let jobs = self.base.jobs(reach, &self.filter).await?;
            let before = self.known.replace(jobs.clone());
            let is_new = |job: &Job| before.as_ref().is_some_and(|before| !before.contains(job));
            let changed: Vec<Job> = jobs.into_iter().filter(is_new).collect();
            tokio::time::sleep(LOOK).await;
            if !changed.is_empty() {
                return Ok(changed);
            }
        }
    }
}

impl JobWatch {
    /// The job when it has changed; nothing behind its end.
    async fn next(&mut self) -> Result<Option<Job>> {
        if self.last.as_ref().is_some_and(|job| job.status.is_final()) {
            return Ok(None);
        }
        loop {
            let job = self.base.job(self.reach.as_ref(), &self.id).await?;
            if self.last.as_ref() != Some(&job) {
                if self.last.is_some() {
                    tokio::time::sleep(LOOK).await;
                }
                self.last = Some(job.clone());
                return Ok(Some(job));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl JobFilter {
    fn matches(&self, job: &Job) -> bool {
        let is_of = |id: &String| job.collection_id == *id;
        self.collection_id.as_ref().is_none_or(is_of)
            && self.status.is_none_or(|status| job.status == status)
    }
}
