//! Which commits wait for the disk: all that must survive a power cut.

use super::writer::{WriterJob, WriterTask};
use crate::batch::BatchWrite;
use crate::driver::Durability;
use crate::operation::Operation;
use rusqlite::Connection;

/// Whether commits are synced, and whether the next one is.
pub struct SyncMode {
    durability: Durability,
    is_on: bool,
}

impl SyncMode {
    /// As the writing connection was prepared.
    pub fn new(durability: Durability) -> Self {
        let is_on = durability == Durability::Full;
        Self { durability, is_on }
    }

    /// True where the commit that was prepared last is synced.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Says whether the commit of these jobs is synced. Must be called outside of a transaction.
    ///
    /// A lease need not be: who holds one dies with the machine, and every write under it is behind it in the WAL, so that
    /// none is kept without it.
    pub fn prepare(&mut self, connection: &Connection, jobs: &[WriterJob]) -> rusqlite::Result<()> {
        let is_on = self.durability == Durability::Full && jobs.iter().any(must_last);
        if is_on != self.is_on {
            // Prepared statements do not do: SQLite changes this when it reads the statement.
            connection.pragma_update(None, "synchronous", if is_on { "FULL" } else { "NORMAL" })?;
            self.is_on = is_on;
        }
        Ok(())
    }
}

fn must_last(job: &WriterJob) -> bool {
    match &job.work {
        WriterTask::Commit(batch) => !batch.writes.iter().all(is_of_lease),
        WriterTask::Sweep(_) => true,
    }
}

fn is_of_lease(write: &BatchWrite) -> bool {
    let BatchWrite::Apply { op, .. } = write else {
        return false;
    };
    matches!(
        op,
        Operation::Acquire { .. } | Operation::Renew { .. } | Operation::Release { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::{SyncMode, is_of_lease};
    use crate::address::Space;
    use crate::batch::{Batch, BatchWrite};
    use crate::driver::Durability;
    use crate::driver::sqlite::writer::{WriterJob, WriterTask};
    use crate::operation::Operation;
    use rusqlite::Connection;
    use std::sync::Arc;
    use tokio::sync::{Semaphore, oneshot};

    fn apply(op: Operation) -> BatchWrite {
        BatchWrite::apply(Space::turns().key("lease"), op, None)
    }

    async fn job(writes: Vec<BatchWrite>) -> WriterJob {
        let room = Arc::new(Semaphore::new(1));
        WriterJob {
            work: WriterTask::Commit(Batch::of(writes)),
            answer: oneshot::channel().0,
            _place: room.acquire_owned().await.unwrap(),
        }
    }

    /// What SQLite says: 1 is normal, 2 is full.
    async fn level(durability: Durability, groups: Vec<Vec<Vec<BatchWrite>>>) -> Vec<i64> {
        let connection = Connection::open_in_memory().unwrap();
        let start = match durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
        };
        let synchronous = "synchronous";
        connection.pragma_update(None, synchronous, start).unwrap();
        let mut syncs = SyncMode::new(durability);
        let mut levels = Vec::new();
        for group in groups {
            let mut jobs = Vec::new();
            for writes in group {
                jobs.push(job(writes).await);
            }
            syncs.prepare(&connection, &jobs).unwrap();
            let found = connection.pragma_query_value(None, synchronous, |row| row.get(0));
            levels.push(found.unwrap());
        }
        levels
    }

    fn acquire() -> BatchWrite {
        let holder = "me".to_owned();
        apply(Operation::Acquire { holder })
    }

    fn groups() -> Vec<Vec<Vec<BatchWrite>>> {
        let (renew, release) = (
            Operation::Renew { epoch: 1 },
            Operation::Release { epoch: 1 },
        );
        let (renew, release) = (|| apply(renew.clone()), || apply(release.clone()));
        vec![
            vec![vec![acquire()]],
            vec![vec![renew()], vec![release()]],
            vec![vec![acquire()], vec![apply(Operation::Del)]],
            vec![vec![release(), apply(Operation::Del)]],
            vec![vec![acquire()]],
            vec![vec![apply(Operation::Pop)]],
        ]
    }

    #[tokio::test]
    async fn only_commits_of_leases_alone_do_not_wait_for_the_disk() {
        assert!(is_of_lease(&acquire()));
        let full = level(Durability::Full, groups()).await;
        assert_eq!(full, [1, 1, 2, 2, 1, 2]);
    }

    #[tokio::test]
    async fn where_nothing_is_synced_that_stays_so() {
        let normal = level(Durability::Normal, groups()).await;
        assert_eq!(normal, [1; 6]);
    }
}
