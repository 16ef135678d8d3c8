//! The one writer: a thread that commits all waiting jobs together, so that many callers share one wait for the disk.

use super::ledger::Ledger;
use super::place::{Done, Place, Stop};
use crate::batch::{Batch, Outcome, Write};
use crate::driver::{FaultPoints, Hub, memory};
use crate::{Error, Result};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// At most so many jobs share a commit.
const GROUP: usize = 256;
/// How often the writer looks for commits of other processes while somebody follows a log.
const LOOK: Duration = Duration::from_millis(20);
/// How often a checkpoint that readers held up is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How long a checkpoint may wait for readers.
const CHECKPOINT_WAIT: Duration = Duration::from_millis(100);
/// A WAL file of this size is cut, which the ordinary checkpoint (at 4 MB) does not do.
const LONG_WAL: u64 = 16 << 20;

/// What the writer is asked to do.
pub enum Message {
    /// A job, answered when it is committed.
    Job(Job),
    /// Somebody follows a log now.
    Look,
}

/// One caller's work.
pub struct Job {
    pub work: Work,
    pub answer: oneshot::Sender<Result<Vec<Outcome>>>,
    /// The job's place in the queue, which is bounded.
    pub _place: OwnedSemaphorePermit,
}

/// What is to be done.
pub enum Work {
    /// A batch.
    Commit(Batch),
    /// Erases at most so many expired values.
    Sweep(usize),
}

/// Where a transaction failed.
enum Failure {
    /// In one of the jobs; alone, the others may succeed.
    Work(Error),
    /// At its begin or end.
    Commit(Error),
}

/// The writer's own state.
pub struct Writer {
    pub ledger: Ledger,
    pub place: Place,
    pub hub: Hub,
    pub faults: FaultPoints,
    /// Set while removed bytes, or too many bytes, are in the WAL; when to cut it.
    pub cut_at: Option<Instant>,
}

impl Writer {
    /// Works until the queue is closed and empty.
    pub fn run(mut self, queue: &Receiver<Message>) {
        loop {
            match self.wait(queue) {
                Ok(Message::Job(job)) => self.serve(job, queue),
                Ok(Message::Look) => self.look(),
                Err(RecvTimeoutError::Timeout) => {
                    self.look();
                    self.cut();
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn wait(&self, queue: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        if let Ok(message) = queue.try_recv() {
            return Ok(message);
        }
        if self.hub.is_watched() {
            return queue.recv_timeout(LOOK);
        }
        match self.cut_at {
            Some(_) => queue.recv_timeout(RETRY),
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// Commits this job and those that wait behind it.
    fn serve(&mut self, first: Job, queue: &Receiver<Message>) {
        let mut jobs = vec![first];
        let mut is_idle = false;
        while jobs.len() < GROUP && !is_idle {
            match queue.try_recv() {
                Ok(Message::Job(job)) => jobs.push(job),
                Ok(Message::Look) => {}
                Err(_) => is_idle = true,
            }
        }
        let answers = self.commit(&jobs);
        self.plan_cut(&jobs);
        if is_idle || self.cut_at.is_some_and(|at| at.elapsed() > RETRY) {
            self.cut();
        }
        for (job, answer) in jobs.into_iter().zip(answers) {
            // A caller that has gone away needs no answer.
            let _ = job.answer.send(answer);
        }
    }

    fn commit(&mut self, jobs: &[Job]) -> Vec<Result<Vec<Outcome>>> {
        match self.transact(jobs) {
            Ok(answers) => answers,
            Err(Failure::Work(_)) if jobs.len() > 1 => jobs
                .iter()
                .flat_map(|job| self.commit(std::slice::from_ref(job)))
                .collect(),
            Err(Failure::Work(error) | Failure::Commit(error)) => {
                jobs.iter().map(|_| Err(error.clone())).collect()
            }
        }
    }

    /// All jobs in one transaction; a job that is refused leaves no trace in it.
    fn transact(&mut self, jobs: &[Job]) -> Result<Vec<Result<Vec<Outcome>>>, Failure> {
        self.begin()
            .map_err(|stop| Failure::Commit(self.place.error("beginning a write", stop)))?;
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            match self.work(&job.work) {
                Ok(outcomes) => answers.push(Ok(outcomes)),
                Err(Stop::Refused(error)) => answers.push(Err(error)),
                Err(stop) => {
                    self.roll_back();
                    return Err(Failure::Work(self.place.error("writing", stop)));
                }
            }
        }
        if let Err(stop) = self.end() {
            self.roll_back();
            return Err(Failure::Commit(self.place.error("committing", stop)));
        }
        self.notify(jobs, &answers);
        Ok(answers)
    }

    fn begin(&mut self) -> Done<()> {
        self.ledger.run("BEGIN IMMEDIATE", [])?;
        self.faults.reach("sqlite.begin");
        match self.ledger.begin() {
            Ok(true) => self.hub.notify_all(),
            Ok(false) => {}
            Err(error) => {
                self.roll_back();
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn work(&mut self, work: &Work) -> Done<Vec<Outcome>> {
        match work {
            Work::Commit(batch) => self.ledger.apply(batch),
            Work::Sweep(limit) => Ok(vec![self.ledger.sweep(*limit)?]),
        }
    }

    fn end(&mut self) -> Done<()> {
        self.ledger.end()?;
        self.faults.reach("sqlite.before_commit");
        self.ledger.run("COMMIT", [])?;
        self.faults.reach("sqlite.after_commit");
        Ok(())
    }

    /// After some failures SQLite has rolled back already, and then refuses to do it again.
    fn roll_back(&mut self) {
        let _ = self.ledger.run("ROLLBACK", []);
        self.ledger.forget_all();
    }

    fn notify(&self, jobs: &[Job], answers: &[Result<Vec<Outcome>>]) {
        for (job, answer) in jobs.iter().zip(answers) {
            if let (Work::Commit(batch), Ok(_)) = (&job.work, answer) {
                memory::notify(&self.hub, batch);
            }
        }
    }

    /// Wakes those who follow logs, if another process has committed.
    fn look(&mut self) {
        match self.ledger.refresh() {
            Ok(true) => self.hub.notify_all(),
            Ok(false) => {}
            Err(error) => {
                let error = self
                    .place
                    .failed("looking for writes of other processes", error);
                tracing::warn!(error = %error, "sqlite.watch");
            }
        }
    }

    /// Removed bytes are still in the WAL after the commit that removed them.
    fn plan_cut(&mut self, jobs: &[Job]) {
        let is_removal = |job: &Job| match &job.work {
            Work::Commit(batch) => batch.writes.iter().any(removes),
            Work::Sweep(_) => false,
        };
        if self.cut_at.is_none() && (jobs.iter().any(is_removal) || self.is_wal_long()) {
            self.cut_at = Some(Instant::now());
        }
    }

    fn is_wal_long(&self) -> bool {
        let mut wal = self.place.path.clone().into_os_string();
        wal.push("-wal");
        std::fs::metadata(wal).is_ok_and(|found| found.len() > LONG_WAL)
    }

    /// Brings the WAL into the database and cuts the file to nothing, if that is due.
    fn cut(&mut self) {
        if self.cut_at.is_none() {
            return;
        }
        // A reader of another process may hold the WAL for long; writers do not wait for it.
        let connection = &self.ledger.connection;
        let waited = connection.busy_timeout(CHECKPOINT_WAIT.min(self.place.busy));
        let cut = waited.and_then(|()| self.ledger.one("PRAGMA wal_checkpoint(TRUNCATE)", []));
        let restored = self.ledger.connection.busy_timeout(self.place.busy);
        self.cut_at = match cut.and_then(|held_up| restored.map(|()| held_up)) {
            Ok(0) => None,
            Ok(_) => Some(Instant::now()),
            Err(error) => {
                let error = self.place.failed("cutting the WAL", error);
                tracing::warn!(error = %error, "sqlite.checkpoint");
                Some(Instant::now())
            }
        };
    }
}

fn removes(write: &Write) -> bool {
    matches!(
        write,
        Write::Remove { .. } | Write::Clear { .. } | Write::Redact { .. } | Write::Untrack { .. }
    )
}
