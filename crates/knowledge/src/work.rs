//! What is done in the background: documents are read and indexed, and what was removed is erased.

mod collection_work;
mod document_job;
mod embedder_wait;
mod embedding;
mod erasure;
mod index_erasure;
mod indexing;
mod known_vectors;
mod old_terms;
mod publishing;
mod reading;
mod reindex;
mod reindex_attempts;
mod reindex_vectors;
mod round;
mod round_queue;

use crate::base::KnowledgeBase;
use crate::error::Result;
use crate::names::CollectionPlace;
use crate::records::WorkRecord;
use crate::stored;
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::lease::{Lease, OnBusy};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use round_queue::RoundQueue;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::task::JoinHandle;

/// From one look for work that others have left to the next.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Does the work of a knowledge base until it is dropped.
#[derive(Debug)]
pub struct KnowledgeWorker {
    task: JoinHandle<()>,
}

impl Drop for KnowledgeWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl KnowledgeBase {
    /// Begins to do what is to be done, until what this returns is dropped. What is left then is done by another node, or later.
    pub fn start(&self) -> KnowledgeWorker {
        let base = self.clone();
        let task = tokio::spawn(async move {
            loop {
                let woken = base.shared.wake.notified();
                let worked = AssertUnwindSafe(base.work()).catch_unwind().await;
                // The thread has told of a panic.
                if let Ok(Err(error)) = worked {
                    tracing::warn!(error.message = %error, "work on collections failed; it is tried again");
                }
                // What is added meanwhile wakes it, and what another node has left is looked for now and then.
                let _ = tokio::time::timeout(POLL_INTERVAL, woken).await;
            }
        });
        KnowledgeWorker { task }
    }

    /// Does all that is to be done now and that nobody else does. What comes meanwhile waits for no other collection, as long as
    /// there are not too many of them.
    pub async fn work(&self) -> Result<()> {
        let mut queue = RoundQueue::default();
        let mut rounds = FuturesUnordered::new();
        let (mut has_done, mut failure) = (true, None);
        loop {
            if rounds.is_empty() {
                match failure {
                    Some(error) => return Err(error),
                    None if has_done => queue.add(self.work_records().await?),
                    None => return Ok(()),
                }
                has_done = false;
            }
            while let Some(work) = queue.next() {
                rounds.push(async move { (self.try_round(&work).await, work.place) });
            }
            tokio::select! {
                Some((round, place)) = rounds.next() => {
                    queue.end(&place);
                    match round {
                        Ok(done) => has_done |= done,
                        Err(error) => failure = Some(error),
                    }
                }
                () = tokio::time::sleep(POLL_INTERVAL), if !rounds.is_empty() && failure.is_none() => {
                    queue.add(self.work_records().await?);
                }
                else => {}
            }
        }
    }

    async fn work_records(&self) -> Result<Vec<WorkRecord>> {
        Ok(stored::all(self.driver(), &Space::knowledge_work(), "").await?)
    }

    /// Works on a collection, if nobody else does. False where nothing was to be done.
    async fn try_round(&self, work: &WorkRecord) -> Result<bool> {
        let Some(lease) = self.take_lease(&work.place).await? else {
            return Ok(false);
        };
        let done = tokio::select! {
            // Its panic, of which the thread has told, is no other collection's matter.
            done = AssertUnwindSafe(self.round(&work.place, &lease)).catch_unwind() => done.unwrap_or(Ok(false)),
            _ = lease.ended() => Ok(false),
        };
        match lease.release().await {
            Ok(()) | Err(Error::Fenced { .. }) => {}
            Err(error) => {
                tracing::warn!(error.message = %error, "the lease of a collection ends by itself");
            }
        }
        done
    }

    async fn take_lease(&self, place: &CollectionPlace) -> Result<Option<Lease>> {
        let driver = self.settings().driver.clone();
        match Lease::take(driver, place.lease(), OnBusy::Reject).await {
            Ok(lease) => Ok(Some(lease)),
            Err(Error::Busy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
