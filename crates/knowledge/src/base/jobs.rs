//! Jobs are shown, listed, called off and waited for.

use super::lookup::AccessKind;
use super::{KnowledgeBase, retried};
use crate::error::{KnowledgeError, Result};
use crate::job::{Job, JobKind, JobStatus};
use crate::names::CollectionPlace;
use crate::reach::KnowledgeReach;
use crate::records::CollectionRecord;
use crate::stored::{self, StoredRecord};
use crate::sums::{Sum, Sums};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Page, ids};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// From one look at a job to the next: what changes more often is told at this pace.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Which jobs are listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFilter {
    /// Of this collection.
    pub collection_id: Option<String>,
    /// How far they are.
    pub status: Option<JobStatus>,
}

/// Which of the jobs in one place somebody may see: those of a tenant, or of the app's files.
pub(super) struct JobVisibility<'a> {
    base: &'a KnowledgeBase,
    pub reach: &'a dyn KnowledgeReach,
    pub tenant: Option<&'a str>,
    /// The collections that were looked up, where they may be used.
    collections: HashMap<String, Option<CollectionPlace>>,
}

/// Reads the jobs in one place, the oldest first.
struct JobReader<'a> {
    visibility: JobVisibility<'a>,
    pages: ValuePages<'a>,
    /// Those that were read and not looked at.
    waiting: VecDeque<Job>,
}

impl KnowledgeBase {
    /// A job of a collection that the caller may use.
    pub async fn job(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<Job> {
        let mut job = self.find_job(reach, id).await?.value;
        self.count_visible(reach, &mut job).await?;
        Ok(job)
    }

    /// A re-index goes over all documents: it tells somebody of as many as they may read, and why it failed only who reads all.
    pub(super) async fn count_visible(
        &self,
        reach: &dyn KnowledgeReach,
        job: &mut Job,
    ) -> Result<()> {
        if job.kind != JobKind::Reindex {
            return Ok(());
        }
        for tenant in [Some(reach.tenant()), None] {
            let found = self.collection_record(tenant, &job.collection_id).await?;
            let is_its = |found: &StoredRecord<CollectionRecord>| {
                found.value.reindex_job.as_ref() == Some(&job.job_id)
            };
            let Some(found) = found.filter(is_its) else {
                continue;
            };
            let visible = self.counted(reach, &found.value).await?.get(Sum::Documents);
            let all = Sums::read(self.driver(), found.value.place.sums()).await?;
            if visible < all.get(Sum::Documents) {
                job.total = job.total.min(visible);
                job.done = job.done.min(job.total);
                let untold = |_| "ask whoever made the collection why it failed".to_owned();
                job.error = job.error.take().map(untold);
            }
        }
        Ok(())
    }

    async fn find_job(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<StoredRecord<Job>> {
        for tenant in [Some(reach.tenant()), None] {
            let key = Space::knowledge_jobs(tenant).key(id);
            let found = stored::get::<Job>(self.driver(), key).await?;
            if let Some(found) = found
                && JobVisibility::new(self, reach, tenant)
                    .sees(&found.value)
                    .await?
            {
                return Ok(found);
            }
        }
        Err(KnowledgeError::not_found("job", id))
    }

    /// The jobs of collections that the caller may use, the oldest first, behind the one with this id. Removals are not among
    /// them.
    pub async fn jobs(
        &self,
        reach: &dyn KnowledgeReach,
        filter: &JobFilter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Job>> {
        if after.is_some_and(|after| ids::time_part(after).is_empty()) {
            let rule = "must be `next` of the page before";
            return Err(KnowledgeError::invalid("cursor", rule));
        }
        let tenants = [Some(reach.tenant()), None];
        let spaces = tenants.map(Space::knowledge_jobs);
        let mut readers = [0, 1].map(|at| JobReader {
            visibility: JobVisibility::new(self, reach, tenants[at]),
            pages: ValuePages::of(self.driver(), &spaces[at], Pattern::all(), ValuePart::Whole)
                .after(after.map(str::to_owned)),
            waiting: VecDeque::new(),
        });
        let mut items: Vec<Job> = Vec::new();
        while let Some((reader, mut job)) = next_job(&mut readers).await? {
            let is_wanted = job.kind != JobKind::Remove && filter.matches(&job);
            if !is_wanted || !readers[reader].visibility.sees(&job).await? {
                continue;
            }
            if items.len() == limit {
                let next = items.last().map(|job| job.job_id.clone());
                return Ok(Page { items, next });
            }
            self.count_visible(reach, &mut job).await?;
            items.push(job);
        }
        Ok(Page { items, next: None })
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
            let tenant = collection.value.place.tenant.as_deref();
            let document = self.document_of_job(tenant, &found.value).await?;
            match (found.value.kind, document) {
                (JobKind::Document, Some(document)) => {
                    self.cancel_document_job(document, found.clone()).await
                }
                (JobKind::Reindex, _) => self.cancel_reindex(collection, found.value).await,
                _ => Err(KnowledgeError::Conflict {
                    reason: format!("job \"{id}\" cannot be called off"),
                }),
            }
        })
    }

    /// Waits until a job is over.
    pub async fn finished_job(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<Job> {
        loop {
            let job = self.job(reach, id).await?;
            if job.status.is_final() {
                return Ok(job);
            }
            tokio::time::sleep(POLL_INTERVAL / 5).await;
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

/// The oldest job that was not looked at, and whose it is.
async fn next_job(readers: &mut [JobReader<'_>; 2]) -> Result<Option<(usize, Job)>> {
    for reader in readers.iter_mut() {
        reader.fill().await?;
    }
    let first = |at: &usize| readers[*at].waiting.front().map(|job| job.job_id.clone());
    let oldest = [0, 1].into_iter().filter_map(|at| Some((first(&at)?, at)));
    let Some((_, at)) = oldest.min() else {
        return Ok(None);
    };
    let job = readers[at].waiting.pop_front();
    Ok(job.map(|job| (at, job)))
}

impl JobReader<'_> {
    /// Reads on where nothing waits.
    async fn fill(&mut self) -> Result<()> {
        while self.waiting.is_empty() {
            let Some(page) = self.pages.next().await? else {
                break;
            };
            for (_, entry) in page {
                self.waiting.push_back(entry.value.to()?);
            }
        }
        Ok(())
    }
}

impl<'a> JobVisibility<'a> {
    pub fn new(
        base: &'a KnowledgeBase,
        reach: &'a dyn KnowledgeReach,
        tenant: Option<&'a str>,
    ) -> Self {
        let collections = HashMap::new();
        Self {
            base,
            reach,
            tenant,
            collections,
        }
    }

    /// Whether the caller may see a job. A removal is shown to whoever knows its id: what it names is gone.
    pub async fn sees(&mut self, job: &Job) -> Result<bool> {
        if job.kind == JobKind::Remove {
            return Ok(self.tenant.is_some());
        }
        let Some(place) = self.collection(&job.collection_id).await? else {
            return Ok(false);
        };
        if job.document_id.is_none() {
            return Ok(true);
        }
        let found = self.base.document_of_job(self.tenant, job).await?;
        Ok(found.is_some_and(|found| {
            let is_there = found.collection.value.place == place;
            is_there && self.reach.may_read(&found.document.value.document)
        }))
    }

    async fn collection(&mut self, id: &str) -> Result<Option<CollectionPlace>> {
        if let Some(known) = self.collections.get(id) {
            return Ok(known.clone());
        }
        let found = self.base.collection_record(self.tenant, id).await?;
        let usable = found.filter(|found| found.value.is_usable(self.reach));
        let place = usable.map(|found| found.value.place);
        self.collections.insert(id.to_owned(), place.clone());
        Ok(place)
    }
}

impl JobFilter {
    fn matches(&self, job: &Job) -> bool {
        let is_of = |id: &String| job.collection_id == *id;
        self.collection_id.as_ref().is_none_or(is_of)
            && self.status.is_none_or(|status| job.status == status)
    }
}
