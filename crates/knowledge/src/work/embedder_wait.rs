//! Vectors that wait for an embedder that is down.

use super::collection_work::{WaitingItem, WorkPlace};
use super::embedding::VectorlessDocument;
use crate::error::Result;
use crate::names::VECTORS;
use crate::records::VectorTask;
use crate::stored::checked;
use ambit_storage::Error;
use ambit_storage::batch::Batch;
use ambit_storage::clock::{backoff, to_millis};
use std::time::Duration;

/// From one try to the next, while the embedder is down; and at most.
const RETRY: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);
/// For so long it is tried.
pub(super) const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

impl WorkPlace<'_> {
    /// It is tried again later, for a day. Words find the document meanwhile.
    pub(super) async fn postpone(&self, mut found: VectorlessDocument, reason: &str) -> Result<()> {
        let now = self.base.now();
        let task = &mut found.task.value;
        if now - task.since > to_millis(PATIENCE) {
            let warning = format!("found by words alone: {reason}");
            found.document.value.document.warnings.push(warning);
            return self.end_embedding(found, None).await;
        }
        task.attempts += 1;
        task.not_before = now + retry_time(task.attempts);
        let batch = Batch::of([found.task.put()?]);
        self.commit_with(&found, batch).await
    }

    /// Others wait for the same embedder: each would only find out again that it is down.
    pub(super) async fn postpone_others(&self) -> Result<()> {
        let now = self.base.now();
        let is_due = |task: &VectorTask| task.not_before <= now;
        let due = self.base.waiting(self.place(), VECTORS, is_due).await?;
        let mut batch = checked([self.lease.check()], []);
        for WaitingItem { mut record, .. } in due {
            record.value.not_before = now + to_millis(RETRY);
            batch.checks.push(record.check());
            batch.writes.push(record.put()?);
        }
        match self.base.driver().commit(batch).await {
            // Some of them was called off: the others are looked at again.
            Ok(_) | Err(Error::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// How long is waited where the embedder was down so often.
pub(super) fn retry_time(attempts: u32) -> i64 {
    to_millis(backoff(RETRY, LONGEST_RETRY, attempts))
}
