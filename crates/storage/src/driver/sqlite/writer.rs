//! The one writer: a thread that commits all waiting jobs together, so that many callers share one wait for the disk.

use super::database_file::{DatabaseFile, DatabaseFileIds, SqliteError, SqliteResult};
use super::reclaim::{HeldAnswer, ReclaimSchedule};
use super::scrub::{RETRY, ScrubSchedule};
use super::sync_mode::SyncMode;
use super::write_connection::{BatchFailure, BatchGuard, WriteConnection};
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::driver::{FaultPoints, WatchHub, memory};
use crate::{Error, Result};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// At most so many jobs share a commit.
const GROUP: usize = 256;
/// A commit waits at most so long for company.
const LONGEST_WAIT: Duration = Duration::from_millis(1);
/// Where the last job came within this time, the writer stays awake so long for the next one: to wake it takes as long as to
/// write it. For jobs that come less often, staying awake would cost more than the jobs.
const AWAKE: Duration = Duration::from_micros(100);
/// How often the writer looks for commits of other processes while somebody follows a log.
const LOOK: Duration = Duration::from_millis(20);

pub enum WriterMessage {
    /// A job, answered when it is committed.
    Job(WriterJob),
    /// Somebody follows a log now.
    Look,
}

/// One caller's work.
pub struct WriterJob {
    pub work: WriterTask,
    /// Where the caller waits.
    pub answer: oneshot::Sender<Result<Vec<WriteOutcome>>>,
    /// The job's place in the queue, which is bounded.
    pub _place: OwnedSemaphorePermit,
}

pub enum WriterTask {
    Commit(Batch),
    /// Erases at most so many expired values.
    Sweep(usize),
}

enum TransactionFailure {
    /// In one of the jobs; alone, the others may succeed.
    Work(Error),
    /// At its begin or end.
    Commit(Error),
    /// A job without a guard was refused in the middle of its writes.
    StoppedMidway(Error),
}

pub struct SqliteWriter {
    /// The connection that writes.
    pub ledger: WriteConnection,
    /// The file.
    pub place: DatabaseFile,
    pub files: DatabaseFileIds,
    /// Those who follow logs.
    pub hub: WatchHub,
    /// Where tests end the process.
    pub faults: FaultPoints,
    /// Which commits wait for the disk.
    pub syncs: SyncMode,
    /// What is to be done about removed bytes.
    pub scrub: ScrubSchedule,
    /// What is to be given back in steps.
    pub reclaim: ReclaimSchedule,
    /// Removals that are answered once nothing is left of what they removed.
    pub held: Vec<HeldAnswer>,
    /// What the last commit was like.
    pub last: CommitStats,
    /// Whether the last job came soon.
    pub is_awake: bool,
}

/// How many jobs a commit had, and how long it took.
#[derive(Default)]
pub struct CommitStats {
    jobs: usize,
    took: Duration,
}

impl CommitStats {
    /// How long a commit may wait for those who shared the last one: they come back once they have read its answers.
    /// A wait this short costs them less than a commit of their own would.
    fn patience(&self, jobs: usize) -> Duration {
        if jobs < self.jobs {
            self.took.min(LONGEST_WAIT)
        } else {
            Duration::ZERO
        }
    }
}

impl SqliteWriter {
    /// Works until the queue is closed and empty.
    pub fn run(mut self, queue: &Receiver<WriterMessage>) {
        loop {
            match self.wait(queue) {
                Ok(WriterMessage::Job(job)) => self.serve(job, queue),
                // From now on it waits no longer than until the next look.
                Ok(WriterMessage::Look) => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.wake_followers();
                    if self.reclaim.wait().is_zero() {
                        self.reclaim();
                    }
                    self.clean(true);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    while self.reclaim.has_remains() && self.reclaim.wait().is_zero() {
                        self.reclaim();
                    }
                    self.scrub.finish(&self.ledger, &self.place);
                    self.answer_held(None);
                    return;
                }
            }
        }
    }

    /// Looks after removed bytes and a long WAL, where it is time, and answers those whose entries have all been erased.
    fn clean(&mut self, is_idle: bool) {
        if self.scrub.is_time(is_idle) {
            self.scrub.run(&self.ledger, &self.place);
            self.plan_to_shrink();
        }
        if !self.reclaim.has_remains() {
            self.answer_held(None);
        }
    }

    /// Answers those who wait until what they removed is erased, with this failure if it could not be.
    pub(super) fn answer_held(&mut self, failure: Option<&Error>) {
        for (job, answer) in self.held.drain(..) {
            let answer = match failure {
                Some(error) => answer.and(Err(error.clone())),
                None => answer,
            };
            // A caller that has gone away needs no answer.
            let _ = job.answer.send(answer);
        }
    }

    fn wait(&mut self, queue: &Receiver<WriterMessage>) -> Result<WriterMessage, RecvTimeoutError> {
        let start = Instant::now();
        let next = self.next(queue, start);
        self.is_awake = start.elapsed() < AWAKE;
        next
    }

    fn next(
        &self,
        queue: &Receiver<WriterMessage>,
        start: Instant,
    ) -> Result<WriterMessage, RecvTimeoutError> {
        while self.is_awake && start.elapsed() < AWAKE {
            if let Ok(message) = queue.try_recv() {
                return Ok(message);
            }
            std::thread::yield_now();
        }
        let is_watched = self.hub.is_watched();
        if self.reclaim.is_due() {
            let wait = self.reclaim.wait();
            return queue.recv_timeout(if is_watched { wait.min(LOOK) } else { wait });
        }
        if is_watched {
            return queue.recv_timeout(LOOK);
        }
        if self.scrub.is_due() {
            return queue.recv_timeout(RETRY);
        }
        queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// Commits this job and those that wait behind it.
    fn serve(&mut self, first: WriterJob, queue: &Receiver<WriterMessage>) {
        let (jobs, is_idle) = self.gather(first, queue);
        let start = Instant::now();
        let answers = self.commit(&jobs);
        self.last = CommitStats {
            jobs: jobs.len(),
            took: start.elapsed(),
        };
        let has_left = self.ledger.take_remains();
        // A removal that finds nothing may be the second one, after a process was killed.
        let is_behind =
            has_left || (jobs.iter().any(is_erasure) && self.ledger.has_remains().unwrap_or(true));
        if is_behind {
            self.reclaim.note_remains();
        }
        let has_removed = jobs.iter().any(is_removal);
        self.scrub.note(has_removed && !has_left, &self.place);
        let mut done = jobs.iter().zip(&answers);
        if done.any(|(job, answer)| has_swept(job, answer)) {
            self.scrub.cut_soon();
        }
        if jobs.iter().any(drops) {
            self.scrub.cut_later();
        }
        let is_held =
            |job: &WriterJob| (has_left && is_removal(job)) || (is_behind && is_erasure(job));
        let (held, done): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .zip(answers)
            .partition(|(job, _)| is_held(job));
        self.held.extend(held);
        self.clean(is_idle);
        for (job, answer) in done {
            // A caller that has gone away needs no answer.
            let _ = job.answer.send(answer);
        }
        if self.reclaim.is_overdue() {
            self.reclaim();
            self.clean(false);
        }
    }

    /// The jobs of the next commit; true where none is left behind them.
    fn gather(&self, first: WriterJob, queue: &Receiver<WriterMessage>) -> (Vec<WriterJob>, bool) {
        let start = Instant::now();
        let mut jobs = vec![first];
        while jobs.len() < GROUP {
            let patience = self.last.patience(jobs.len());
            match queue.recv_timeout(patience.saturating_sub(start.elapsed())) {
                Ok(WriterMessage::Job(job)) => jobs.push(job),
                Ok(WriterMessage::Look) => {}
                Err(_) => return (jobs, true),
            }
        }
        (jobs, false)
    }

    fn commit(&mut self, jobs: &[WriterJob]) -> Vec<Result<Vec<WriteOutcome>>> {
        let done = match self.transact(jobs, BatchGuard::None) {
            Err(TransactionFailure::StoppedMidway(_)) => self.transact(jobs, BatchGuard::Savepoint),
            done => done,
        };
        match done {
            Ok(answers) => answers,
            Err(TransactionFailure::Work(_)) if jobs.len() > 1 => jobs
                .iter()
                .flat_map(|job| self.commit(std::slice::from_ref(job)))
                .collect(),
            Err(
                TransactionFailure::Work(error)
                | TransactionFailure::Commit(error)
                | TransactionFailure::StoppedMidway(error),
            ) => jobs.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// All jobs in one transaction; a job that is refused leaves no trace in it.
    fn transact(
        &mut self,
        jobs: &[WriterJob],
        guard: BatchGuard,
    ) -> Result<Vec<Result<Vec<WriteOutcome>>>, TransactionFailure> {
        self.begin(jobs).map_err(|stop| {
            TransactionFailure::Commit(self.place.error("beginning a write", stop))
        })?;
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            match self.work(&job.work, guard) {
                Ok(outcomes) => answers.push(Ok(outcomes)),
                Err(BatchFailure::Failed(SqliteError::Refused(error))) => answers.push(Err(error)),
                Err(failure) => {
                    self.roll_back();
                    return Err(match failure {
                        BatchFailure::StoppedMidway(error) => {
                            TransactionFailure::StoppedMidway(error)
                        }
                        BatchFailure::Failed(stop) => {
                            TransactionFailure::Work(self.place.error("writing", stop))
                        }
                    });
                }
            }
        }
        if let Err(stop) = self.end() {
            self.roll_back();
            return Err(TransactionFailure::Commit(
                self.place.error("committing", stop),
            ));
        }
        self.notify(jobs, &answers);
        Ok(answers)
    }

    pub(super) fn begin(&mut self, jobs: &[WriterJob]) -> SqliteResult<()> {
        self.place.ensure_same(self.files)?;
        self.syncs.prepare(&self.ledger.connection, jobs)?;
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

    fn work(
        &mut self,
        work: &WriterTask,
        guard: BatchGuard,
    ) -> Result<Vec<WriteOutcome>, BatchFailure> {
        match work {
            WriterTask::Commit(batch) => self.ledger.apply(batch, guard),
            WriterTask::Sweep(limit) => Ok(vec![self.ledger.sweep(*limit)?]),
        }
    }

    pub(super) fn end(&mut self) -> SqliteResult<()> {
        self.ledger.end()?;
        self.faults.reach("sqlite.before_commit");
        self.ledger.run("COMMIT", [])?;
        self.ledger.note_commit();
        self.faults.reach("sqlite.after_commit");
        self.place.work.add_commit(self.syncs.is_on());
        Ok(())
    }

    /// After some failures SQLite has rolled back already, and then refuses to do it again.
    pub(super) fn roll_back(&mut self) {
        let _ = self.ledger.run("ROLLBACK", []);
        self.ledger.forget_all();
    }

    fn notify(&self, jobs: &[WriterJob], answers: &[Result<Vec<WriteOutcome>>]) {
        for (job, answer) in jobs.iter().zip(answers) {
            if let (WriterTask::Commit(batch), Ok(_)) = (&job.work, answer) {
                memory::notify(&self.hub, batch);
            }
        }
    }

    /// Wakes those who follow logs, if another process has committed.
    fn wake_followers(&mut self) {
        match self.ledger.look() {
            Ok(true) => self.hub.notify_all(),
            Ok(false) => {}
            Err(error) => {
                let error = self
                    .place
                    .failed("looking for writes of other processes", error);
                tracing::warn!(error.message = %error, "commits of other processes are not seen yet");
            }
        }
    }
}

/// True where a job removes what must not be found any more.
fn is_removal(job: &WriterJob) -> bool {
    match &job.work {
        WriterTask::Commit(batch) => batch.writes.iter().any(removes),
        WriterTask::Sweep(_) => false,
    }
}

/// True where a job erases logs.
fn is_erasure(job: &WriterJob) -> bool {
    let is_whole =
        |write: &BatchWrite| matches!(write, BatchWrite::Remove { .. } | BatchWrite::Clear { .. });
    matches!(&job.work, WriterTask::Commit(batch) if batch.writes.iter().any(is_whole))
}

/// True where expired values were erased.
fn has_swept(job: &WriterJob, answer: &Result<Vec<WriteOutcome>>) -> bool {
    let is_sweep = matches!(job.work, WriterTask::Sweep(_));
    let outcome = answer.as_ref().ok().and_then(|outcomes| outcomes.first());
    is_sweep && matches!(outcome, Some(WriteOutcome::Erased(1..)))
}

/// True where a job drops a log.
fn drops(job: &WriterJob) -> bool {
    let is_drop = |write: &BatchWrite| matches!(write, BatchWrite::Drop { .. });
    matches!(&job.work, WriterTask::Commit(batch) if batch.writes.iter().any(is_drop))
}

/// A value that is deleted alone is no removal: turns delete what they have noted, and each would have the file rewritten.
fn removes(write: &BatchWrite) -> bool {
    matches!(
        write,
        BatchWrite::Remove { .. }
            | BatchWrite::Clear { .. }
            | BatchWrite::Wipe { .. }
            | BatchWrite::Redact { .. }
            | BatchWrite::Untrack { .. }
    )
}
