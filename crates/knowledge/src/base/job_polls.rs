//! Polls the versions of all jobs in one place, which those who follow some of them on this node share.

use super::KnowledgeBase;
use super::jobs::POLL_INTERVAL;
use crate::error::Result;
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// For so long nobody else polls while somebody does, who may be gone.
const LONGEST: Duration = Duration::from_secs(10);

/// The versions of jobs, by their ids.
pub(super) type JobVersions = HashMap<String, u64>;

/// The last polls of the jobs of tenants, and of those of the app's files.
#[derive(Default)]
pub(super) struct JobPolls(Mutex<HashMap<Option<String>, JobPoll>>);

struct JobPoll {
    /// As long as somebody follows.
    versions: Weak<JobVersions>,
    next: Instant,
}

impl KnowledgeBase {
    /// The versions of the jobs of a tenant, or of the app's files, as somebody has seen them just now.
    pub(super) async fn poll_jobs(&self, tenant: Option<&str>) -> Result<Arc<JobVersions>> {
        let polls = &self.shared.job_polls;
        if let Some(known) = polls.known(tenant) {
            return Ok(known);
        }
        let begun = Instant::now();
        let versions = Arc::new(self.job_versions(tenant).await?);
        polls.note(tenant, &versions, begun.elapsed());
        Ok(versions)
    }

    async fn job_versions(&self, tenant: Option<&str>) -> Result<JobVersions> {
        let (all, nothing) = (Pattern::all(), ValuePart::Nothing);
        let space = Space::knowledge_jobs(tenant);
        let mut pages = ValuePages::of(self.driver(), &space, all, nothing);
        let mut versions = JobVersions::new();
        while let Some(page) = pages.next().await? {
            versions.extend(page.into_iter().map(|(id, entry)| (id, entry.version)));
        }
        Ok(versions)
    }
}

impl JobPolls {
    /// What was seen last; none where it is time to poll again, for the first who asks.
    fn known(&self, tenant: Option<&str>) -> Option<Arc<JobVersions>> {
        let mut polls = self.0.lock();
        polls.retain(|_, poll| poll.versions.strong_count() > 0);
        let poll = polls.get_mut(&tenant.map(str::to_owned))?;
        let now = Instant::now();
        if poll.next <= now {
            poll.next = now + LONGEST;
            return None;
        }
        poll.versions.upgrade()
    }

    fn note(&self, tenant: Option<&str>, versions: &Arc<JobVersions>, took: Duration) {
        let poll = JobPoll {
            versions: Arc::downgrade(versions),
            next: Instant::now() + pause_after(took),
        };
        self.0.lock().insert(tenant.map(str::to_owned), poll);
    }
}

/// How long nobody polls again: a store with many jobs is not read all the time.
fn pause_after(poll: Duration) -> Duration {
    POLL_INTERVAL.max(poll * 4)
}

#[cfg(test)]
mod tests {
    use super::{POLL_INTERVAL, pause_after};
    use crate::base::KnowledgeBase;
    use crate::settings::KnowledgeSettings;
    use ambit_storage::conformance::{FaultKind, FlakyDriver};
    use ambit_storage::driver::DriverOptions;
    use ambit_storage::driver::memory::MemoryDriver;
    use std::sync::Arc;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn followers_of_one_tenant_share_a_look() {
        let store = Arc::new(MemoryDriver::new(DriverOptions::default()));
        let store = Arc::new(FlakyDriver::new(store));
        let base = KnowledgeBase::open(KnowledgeSettings::new(store.clone()));
        let polls = || store.seen(FaultKind::Read);
        let poll = async |tenant: &str| base.poll_jobs(Some(tenant)).await.unwrap();
        let first = poll("t").await;
        assert!(Arc::ptr_eq(&first, &poll("t").await));
        let other = poll("other").await;
        assert_eq!(polls(), 2);
        tokio::time::advance(POLL_INTERVAL).await;
        let second = poll("t").await;
        assert!(Arc::ptr_eq(&second, &poll("t").await));
        assert_eq!(polls(), 3);
        // Nobody follows any more: nothing of it is kept.
        drop((first, second, other));
        poll("t").await;
        assert_eq!((polls(), base.shared.job_polls.0.lock().len()), (4, 1));
    }

    #[test]
    fn a_slow_look_is_followed_by_a_long_pause() {
        assert_eq!(pause_after(Duration::from_millis(1)), POLL_INTERVAL);
        let (slow, long) = (Duration::from_secs(1), Duration::from_secs(4));
        assert_eq!(pause_after(slow), long);
    }
}
