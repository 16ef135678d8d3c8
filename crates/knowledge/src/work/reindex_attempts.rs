//! A re-index whose node dies again and again is given up, as the job of a document is.

use super::document_job::ATTEMPTS;
use super::reindex::ReindexPlace;
use crate::error::Result;
use crate::job::Job;
use crate::stored::{self, checked};
use ambit_search::terms::TERMS_VERSION;

impl ReindexPlace<'_> {
    /// Does a step that is counted as begun until it has ended in whatever way: a node that dies leaves it counted.
    pub(super) async fn attempt(&self, step: impl Future<Output = Result<()>>) -> Result<()> {
        let deaths = self.job().await?.attempts;
        if deaths >= ATTEMPTS {
            let reason = format!("given up: whoever made the index died {ATTEMPTS} times");
            return self.fail(reason).await;
        }
        let made = self.work.index().snapshot().await?;
        if made.manifest.terms_version != TERMS_VERSION {
            let reason = "a node with other terms has begun it: nodes of two versions of Ambit";
            return self.fail(reason.to_owned()).await;
        }
        self.count_attempts(deaths + 1).await?;
        let done = step.await;
        // What kills a node is done again by the next one: behind a step that was done it begins anew.
        let left = if done.is_ok() { 0 } else { deaths };
        match self.count_attempts(left).await {
            // It was called off just now.
            Err(error) if error.is_race() => {}
            counted => counted?,
        }
        done
    }

    async fn count_attempts(&self, attempts: u32) -> Result<()> {
        let (driver, key) = (
            self.work.base.driver(),
            self.work.place().job(&self.reindex.job_id),
        );
        let Some(mut job) = stored::get::<Job>(driver, key).await? else {
            return Ok(());
        };
        if job.value.status.is_final() {
            return Ok(());
        }
        job.value.attempts = attempts;
        let checks = [job.check(), self.work.lease.check()];
        driver.commit(checked(checks, [job.put()?])).await?;
        Ok(())
    }
}
