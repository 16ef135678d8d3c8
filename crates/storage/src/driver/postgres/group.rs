//! Batches that wait at the same time share a transaction, and so a way to the server and a wait for its disk.
//!
//! Two transactions of batches that may share one are under way at once; a caller who comes while fewer are is on its own and
//! waits for nobody. Who comes later waits until one of them has ended: then all that wait and go with each other are written in
//! one. If the server refuses anything in it, nothing is written, and each of them does its batch by itself: so a batch is refused
//! for its own reasons only. A caller who leaves takes back what was not begun; what is begun for several is a task's.

use super::listener::NotificationState;
use super::locks::{BatchLocks, MOST_LOCKS};
use super::store::PostgresStore;
use super::write::{self, BatchOutcome, JudgedBy};
use crate::address::Space;
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::json::StoredValue;
use crate::operation::Operation;
use crate::{Error, Result};
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::instrument::WithSubscriber;

/// Transactions under way at once: while the server makes one durable, it can do the next.
const SLOTS: usize = 2;
/// At most so many batches share a transaction, with `MOST_LOCKS` locks.
const GROUP: usize = 64;
/// A batch with more writes, entries or bytes has a transaction of its own, so that small ones need not wait for it.
const MOST_WRITES: usize = 64;
const MOST_ENTRIES: usize = 256;
const MOST_BYTES: usize = 256 << 10;

/// A batch, and what must be known of it before it is begun.
pub(super) struct PreparedBatch {
    pub(super) batch: Batch,
    pub(super) locks: BatchLocks,
    /// No write can change what another one's operation sees.
    pub(super) has_apart_values: bool,
    /// No two writes are about the same thing, so that their order does not matter.
    pub(super) is_apart: bool,
}

impl PreparedBatch {
    fn new(store: i64, batch: Batch) -> Self {
        Self {
            locks: BatchLocks::of(store, &batch),
            has_apart_values: has_apart_values(&batch),
            is_apart: is_apart(&batch),
            batch,
        }
    }

    /// Whether it may share a transaction with others.
    fn is_shareable(&self) -> bool {
        let writes = &self.batch.writes;
        if !self.is_apart || writes.len() > MOST_WRITES || self.locks.count() > MOST_WRITES {
            return false;
        }
        let (mut entries, mut bytes) = (0, 0);
        for write in writes {
            match write {
                BatchWrite::Append { entries: new, .. } => {
                    entries += new.len();
                    bytes += new.iter().map(|one| one.body.as_str().len()).sum::<usize>();
                }
                BatchWrite::Redact { bodies, .. } => {
                    entries += bodies.len();
                    bytes += bodies
                        .iter()
                        .map(|(_, body)| body.as_str().len())
                        .sum::<usize>();
                }
                BatchWrite::Apply { op, .. } => {
                    let items = items(op);
                    entries += items;
                    bytes += op.size() * items.max(1);
                }
                _ => {}
            }
        }
        entries <= MOST_ENTRIES && bytes <= MOST_BYTES
    }
}

/// How many items an operation brings.
fn items(op: &Operation) -> usize {
    match op {
        Operation::Push(items) | Operation::AddToSet(items) => items.len(),
        Operation::Set(StoredValue::List(items)) => items.len(),
        _ => 0,
    }
}

fn has_apart_values(batch: &Batch) -> bool {
    let mut keys = HashSet::new();
    batch.writes.iter().all(|write| match write {
        BatchWrite::Apply { key, .. } => keys.insert(key),
        BatchWrite::Wipe { .. } | BatchWrite::Clear { .. } | BatchWrite::Remove { .. } => false,
        BatchWrite::Mirror(_) => false,
        _ => true,
    })
}

fn is_apart(batch: &Batch) -> bool {
    let mut things: HashSet<(u8, &Space, &str)> = HashSet::new();
    let mut rows = HashSet::new();
    batch.writes.iter().all(|write| match write {
        BatchWrite::Append { log, .. }
        | BatchWrite::Redact { log, .. }
        | BatchWrite::Drop { log } => things.insert((0, &log.space, log.name.as_str())),
        BatchWrite::Apply { key, .. } => things.insert((1, &key.space, key.name.as_str())),
        BatchWrite::Track(track) => rows.insert(track.space()),
        _ => false,
    })
}

/// Who waits, and how many transactions are under way.
pub(super) struct CommitQueue {
    store: Arc<PostgresStore>,
    board: Arc<NotificationState>,
    state: Mutex<QueueState>,
    /// Where transactions run that a caller began who has left.
    runtime: Handle,
}

#[derive(Default)]
struct QueueState {
    running: usize,
    waiting: VecDeque<WaitingBatch>,
}

struct WaitingBatch {
    batch: PreparedBatch,
    answer: oneshot::Sender<QueueAnswer>,
}

/// What a caller who waited is told.
enum QueueAnswer {
    Done(Result<BatchOutcome>),
    /// It does its batch by itself, as one of the transactions under way if it has the slot for it.
    Alone(PreparedBatch, Option<CommitSlot>),
}

/// The right to a transaction under way. Given back, it goes to those who wait.
struct CommitSlot(Arc<CommitQueue>);

impl CommitQueue {
    pub(super) fn new(store: Arc<PostgresStore>, board: Arc<NotificationState>) -> Self {
        Self {
            store,
            board,
            state: Mutex::default(),
            runtime: Handle::current(),
        }
    }

    /// Writes the batch, with others or by itself, and tells followers.
    pub(super) async fn commit(self: &Arc<Self>, batch: Batch) -> Result<Vec<WriteOutcome>> {
        let batch = PreparedBatch::new(self.store.lock, batch);
        if !batch.is_shareable() {
            return self.alone(&batch).await;
        }
        let answer = match self.enter(batch) {
            Ok((batch, slot)) => QueueAnswer::Alone(batch, Some(slot)),
            Err(answer) => answer.await.map_err(|_| self.cut_off())?,
        };
        match answer {
            QueueAnswer::Done(outcome) => outcome.map(|(outcomes, _)| outcomes),
            QueueAnswer::Alone(batch, slot) => {
                let outcomes = self.alone(&batch).await;
                drop(slot);
                outcomes
            }
        }
    }

    async fn alone(&self, batch: &PreparedBatch) -> Result<Vec<WriteOutcome>> {
        let (outcomes, topics) = write::alone(&self.store, batch).await?;
        self.board.notify(topics);
        Ok(outcomes)
    }

    /// A slot for the batch, or where its answer will come.
    fn enter(
        self: &Arc<Self>,
        batch: PreparedBatch,
    ) -> std::result::Result<(PreparedBatch, CommitSlot), oneshot::Receiver<QueueAnswer>> {
        let mut state = self.state.lock();
        if state.running < SLOTS {
            state.running += 1;
            return Ok((batch, CommitSlot(Arc::clone(self))));
        }
        let (answer, answered) = oneshot::channel();
        state.waiting.push_back(WaitingBatch { batch, answer });
        Err(answered)
    }

    /// Gives the slot back, and takes the batches of the next transaction; none where nobody waits.
    fn leave(&self) -> Vec<WaitingBatch> {
        let mut state = self.state.lock();
        state.waiting.retain(|one| !one.answer.is_closed());
        let group = state.next_group();
        if group.is_empty() {
            state.running -= 1;
        }
        group
    }

    /// Writes these batches in one transaction.
    async fn run(self: Arc<Self>, group: Vec<WaitingBatch>, slot: CommitSlot) {
        let batches: Vec<&PreparedBatch> = group.iter().map(|one| &one.batch).collect();
        let done = write::together(&self.store, &batches, JudgedBy::Server).await;
        drop(slot);
        match done {
            Ok(outcomes) => {
                for (one, outcome) in group.into_iter().zip(outcomes) {
                    self.answer(one, outcome);
                }
            }
            Err(stop) if stop.is_taken_back() => {
                group.into_iter().for_each(|one| self.answer(one, None));
            }
            Err(stop) => {
                let error = stop.error(&self.store.settings);
                for one in group {
                    // A caller that has gone away needs no answer.
                    let _ = one.answer.send(QueueAnswer::Done(Err(error.clone())));
                }
            }
        }
    }

    fn answer(&self, one: WaitingBatch, outcome: Option<BatchOutcome>) {
        let answer = match outcome {
            Some((outcomes, topics)) => {
                self.board.notify(topics);
                QueueAnswer::Done(Ok((outcomes, Vec::new())))
            }
            None => QueueAnswer::Alone(one.batch, None),
        };
        let _ = one.answer.send(answer);
    }

    /// The error of a caller whose transaction ended without a word: the process is about to end.
    fn cut_off(&self) -> Error {
        let reason = std::io::Error::from(std::io::ErrorKind::Interrupted);
        Error::unavailable(self.store.settings.name.clone(), reason)
    }
}

impl QueueState {
    /// Takes the batches that wait longest and go with each other; the others stay, in their order.
    fn next_group(&mut self) -> Vec<WaitingBatch> {
        let (mut group, mut locks) = (Vec::new(), BatchLocks::default());
        let mut passed_over = VecDeque::new();
        while let Some(next) = self.waiting.pop_front() {
            let fits = locks.count() + next.batch.locks.count() <= MOST_LOCKS;
            if group.len() == GROUP || !fits {
                self.waiting.push_front(next);
                break;
            }
            if locks.goes_with(&next.batch.locks) {
                locks.add(&next.batch.locks);
                group.push(next);
            } else {
                passed_over.push_back(next);
            }
        }
        passed_over.append(&mut self.waiting);
        self.waiting = passed_over;
        group
    }
}

impl Drop for CommitSlot {
    fn drop(&mut self) {
        let mut group = self.0.leave();
        let slot = || Self(Arc::clone(&self.0));
        match group.pop() {
            None => {}
            // Who waits for it can do it, without a task.
            Some(one) if group.is_empty() => {
                let alone = QueueAnswer::Alone(one.batch, Some(slot()));
                let _ = one.answer.send(alone);
            }
            Some(last) => {
                group.push(last);
                let runtime = Handle::try_current().unwrap_or_else(|_| self.0.runtime.clone());
                let run = Arc::clone(&self.0).run(group, slot());
                runtime.spawn(run.with_current_subscriber());
            }
        }
    }
}
