//! One holder's work on a collection: what is to be erased, then what waits to be read.

use super::collection_work::{SHARED_BYTES, SHARED_CHUNKS, WaitingItem, WorkPlace};
use super::document_job::PreparedDocument;
use crate::base::KnowledgeBase;
use crate::error::Result;
use crate::names::{CollectionPlace, ERASURES, QUEUE, VECTORS};
use crate::records::{ErasureRecord, QueueRecord, VectorTask};
use crate::stored::{checked, delete};
use ambit_storage::Error;
use ambit_storage::lease::Lease;
use futures::StreamExt;
use futures::stream;
use std::time::{Duration, Instant};

/// So many documents of a collection are read at once.
const READERS: usize = 2;
/// Behind this a collection lets others have their turn.
const TURN: Duration = Duration::from_secs(10);

impl KnowledgeBase {
    /// Does what is to be done for a collection. False where that was nothing.
    pub(super) async fn round(&self, place: &CollectionPlace, lease: &Lease) -> Result<bool> {
        let mut has_done = false;
        let begun = Instant::now();
        loop {
            if begun.elapsed() > TURN {
                return Ok(has_done);
            }
            let Some(work) = self.work_record(place).await? else {
                return Ok(has_done);
            };
            if let Some(removal) = &work.value.removal {
                self.erase_collection(&work, removal, lease).await?;
                return Ok(true);
            }
            let tenant = place.tenant.as_deref();
            let found = self.collection_record(tenant, &place.id).await?;
            let Some(collection) = found.filter(|found| found.value.place == *place) else {
                return Ok(has_done);
            };
            let at = WorkPlace {
                base: self,
                collection: &collection,
                index_record: &collection.value.index,
                lease,
            };
            if at.step().await? {
                has_done = true;
                continue;
            }
            let is_reindexed = collection.value.reindex.is_some();
            if is_reindexed || self.is_waited_for(place).await? {
                // Their time has not come.
                return Ok(has_done);
            }
            let over = checked([work.check(), lease.check()], [delete(work.key.clone())]);
            match self.driver().commit(over).await {
                Ok(_) => return Ok(has_done),
                // More has come.
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether something is to be done later.
    async fn is_waited_for(&self, place: &CollectionPlace) -> Result<bool> {
        let vectors = self.waiting::<VectorTask>(place, VECTORS, |_| true).await?;
        let erasures = self.waiting::<ErasureRecord>(place, ERASURES, |_| true);
        let erasures = erasures.await?;
        Ok(!vectors.is_empty() || !erasures.is_empty())
    }
}

impl WorkPlace<'_> {
    /// Does some of what is to be done. False where that is nothing.
    async fn step(&self) -> Result<bool> {
        let now = self.base.now();
        let is_due = |erasure: &ErasureRecord| erasure.not_before <= now;
        let erasures = self.base.waiting(self.place(), ERASURES, is_due).await?;
        for erasure in &erasures {
            self.erase(erasure).await?;
        }
        if !erasures.is_empty() {
            return Ok(true);
        }
        let has_read = self.takes_chunks().await? && self.read_some().await?;
        let has_embedded = !has_read && self.embed_some().await?;
        // It goes on beside what is added all the time.
        let has_reindexed = self.reindex_some().await?;
        Ok(has_read || has_embedded || has_reindexed)
    }

    /// Reads and indexes documents that wait. False where there are none.
    async fn read_some(&self) -> Result<bool> {
        let mut waiting = self
            .base
            .waiting::<QueueRecord>(self.place(), QUEUE, |_| true)
            .await?;
        let Some(first) = waiting.first() else {
            return Ok(false);
        };
        if first.record.value.attempts > 0 {
            // Its reader has died: what others wait for is not put at risk beside it.
            waiting.truncate(1);
        }
        self.read_and_index(waiting).await?;
        let index = self.index();
        while index.keep_up().await? {}
        Ok(true)
    }

    /// Reads some documents; those that are small are indexed by common commits.
    async fn read_and_index(&self, waiting: Vec<WaitingItem<QueueRecord>>) -> Result<()> {
        let reading = waiting.into_iter().map(|job| self.prepare(job));
        let mut reading = stream::iter(reading).buffered(READERS);
        let mut group: Vec<PreparedDocument> = Vec::new();
        while let Some(prepared) = reading.next().await {
            let Some(prepared) = prepared? else {
                continue;
            };
            if prepared.chunks.len() > SHARED_CHUNKS || prepared.text.len() > SHARED_BYTES {
                self.index_alone(prepared).await?;
                continue;
            }
            let chunks: usize = group.iter().map(|it| it.chunks.len()).sum();
            let bytes: usize = group.iter().map(|it| it.text.len()).sum();
            let is_full = chunks + prepared.chunks.len() > SHARED_CHUNKS
                || bytes + prepared.text.len() > SHARED_BYTES;
            if is_full {
                self.index_together(std::mem::take(&mut group)).await?;
            }
            group.push(prepared);
        }
        self.index_together(group).await
    }
}
