//! Vectors that wait for an embedder that is down, and those that it will never make.

use super::collection_work::WorkPlace;
use super::embedding::VectorlessDocument;
use super::known_vectors::RefusedChunk;
use crate::base::retried;
use crate::error::Result;
use crate::names::VECTORS;
use crate::records::{ContentRecord, VectorTask};
use crate::stored::{StoredRecord, checked};
use ambit_storage::batch::Batch;
use ambit_storage::clock::{Millis, backoff, to_millis};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use std::time::Duration;

/// From one try to the next, while the embedder is down; and at most.
const RETRY: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);
/// For so long it is tried.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

impl WorkPlace<'_> {
    /// It is tried again later, for a day. Words find the document meanwhile.
    pub(super) async fn postpone(&self, mut found: VectorlessDocument, reason: &str) -> Result<()> {
        if !found.task.value.postpone(self.base.now()) {
            let warning = format!("found by words alone: {reason}");
            found.document.value.document.warnings.push(warning);
            return self.end_embedding(found, None).await;
        }
        let batch = Batch::of([found.task.put()?]);
        self.commit_with(&found, batch).await
    }

    /// Others wait for the same embedder: each would only find out again that it is down.
    pub(super) async fn postpone_others(&self) -> Result<()> {
        let now = self.base.now();
        let is_due = |task: &VectorTask| task.not_before <= now;
        retried!(self.put_off(now + to_millis(RETRY), is_due))
    }

    /// None waits for an embedder that made the vectors of an index that is gone.
    pub(super) async fn hasten(&self) -> Result<()> {
        let now = self.base.now();
        let is_late = |task: &VectorTask| task.not_before > now;
        retried!(self.put_off(now, is_late))
    }

    /// Lets all tasks that are like this wait until then, and no longer.
    async fn put_off(&self, not_before: i64, is_like: impl Fn(&VectorTask) -> bool) -> Result<()> {
        let space = self.place().values();
        let tasks = Pattern::parse(&format!("{VECTORS}*"));
        let mut pages = ValuePages::of(self.base.driver(), &space, tasks, ValuePart::Whole);
        while let Some(page) = pages.next().await? {
            let mut batch = checked([self.lease.check()], []);
            for (name, entry) in page {
                let mut record = StoredRecord {
                    key: space.key(name),
                    value: entry.value.to()?,
                    version: entry.version,
                };
                if is_like(&record.value) {
                    record.value.not_before = not_before;
                    batch.checks.push(record.check());
                    batch.writes.push(record.put()?);
                }
            }
            if !batch.writes.is_empty() {
                self.base.driver().commit(batch).await?;
            }
        }
        Ok(())
    }
}

impl VectorTask {
    /// Is to be tried again later, the longer the more often it was. False where that has gone on for a day.
    pub(super) fn postpone(&mut self, now: Millis) -> bool {
        if now - self.since > to_millis(PATIENCE) {
            return false;
        }
        self.attempts += 1;
        self.not_before = now + to_millis(backoff(RETRY, LONGEST_RETRY, self.attempts));
        true
    }

    /// A chunk of a document stays without a vector. Returns what the document says of that.
    pub(super) fn refuse(
        &mut self,
        refused: &RefusedChunk,
        content: &ContentRecord,
    ) -> Option<String> {
        let place = content.place_of(refused.chunk)?;
        self.refused.push(content.ids[place as usize].clone());
        Some(format!("chunk {place} has no vector: {}", refused.reason))
    }
}
