//! Batches that wait at the same time share a transaction, and so a way to the server and a wait for its disk.
//!
//! Two transactions of batches that may share one are under way at once; a caller who comes while fewer are is on its own and
//! waits for nobody. Who comes later waits until one of them has ended: then all that wait and go with each other are written in
//! one. If the server refuses anything in it, nothing is written, and each of them does its batch by itself: so a batch is refused
//! for its own reasons only. A caller who leaves takes back what was not begun; what is begun is a task's.

use super::listener::NotificationState;
use super::locks::{BatchLocks, MOST_LOCKS};
use super::store::PostgresStore;
use super::write::{self, BatchOutcome, JudgedBy};
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::json::StoredValue;
use crate::operation::Operation;
use crate::{Error, Result};
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::instrument::WithSubscriber;

/// Transactions under way at once: while the server makes one durable, it can do the next.
const SLOTS: usize = 2;
/// One that takes longer is no longer counted among them.
const HOLD: Duration = Duration::from_millis(500);
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
    /// No two writes are about the same thing, but for appends to one log: the order of the others does not matter.
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
                // Refused as a matter of course, as often as somebody asks for what others hold.
                BatchWrite::Apply {
                    op: Operation::Acquire { .. },
                    ..
                } => return false,
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
        Operation::Set(StoredValue::List(items)) | Operation::Replace(StoredValue::List(items)) => {
            items.len()
        }
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
    let (mut logs, mut appended) = (HashSet::new(), HashSet::new());
    let (mut values, mut rows) = (HashSet::new(), HashSet::new());
    batch.writes.iter().all(|write| match write {
        // Several appends to one log stay in their order (`merged`).
        BatchWrite::Append { log, .. } => !appended.insert(log) || logs.insert(log),
        BatchWrite::Redact { log, .. } | BatchWrite::Drop { log } => logs.insert(log),
        BatchWrite::Apply { key, .. } => values.insert(key),
        BatchWrite::Track(track) => rows.insert(track.space()),
        _ => false,
    })
}

/// Who waits, and how many transactions are under way.
pub(super) struct CommitQueue {
    store: Arc<PostgresStore>,
    board: Arc<NotificationState>,
    state: Mutex<QueueState>,
    /// Where transactions run.
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
    Done(Result<Vec<WriteOutcome>>),
    /// It does its batch by itself.
    Alone(PreparedBatch),
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
        match self.enter(batch).await.map_err(|_| self.cut_off())? {
            QueueAnswer::Done(outcomes) => outcomes,
            QueueAnswer::Alone(batch) => self.alone(&batch).await,
        }
    }

    async fn alone(&self, batch: &PreparedBatch) -> Result<Vec<WriteOutcome>> {
        let (outcomes, topics) = write::alone(&self.store, batch).await?;
        self.board.notify(topics);
        Ok(outcomes)
    }

    /// Where the batch's answer will come.
    fn enter(self: &Arc<Self>, batch: PreparedBatch) -> oneshot::Receiver<QueueAnswer> {
        let (answer, answered) = oneshot::channel();
        let one = WaitingBatch { batch, answer };
        let mut state = self.state.lock();
        if state.running < SLOTS {
            state.running += 1;
            drop(state);
            self.begin(vec![one], CommitSlot(Arc::clone(self)));
        } else {
            state.waiting.push_back(one);
        }
        answered
    }

    /// Writes these batches in a task: a slot must not be held by a caller, who may wait for something else before it goes on.
    fn begin(self: &Arc<Self>, group: Vec<WaitingBatch>, slot: CommitSlot) {
        let run = Arc::clone(self).run(group, slot);
        self.runtime.spawn(run.with_current_subscriber());
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
    async fn run(self: Arc<Self>, mut group: Vec<WaitingBatch>, slot: CommitSlot) {
        if group.len() == 1 {
            let Some(one) = group.pop() else { return };
            let done = slot.lend(self.alone(&one.batch)).await;
            // A caller that has gone away needs no answer.
            let _ = one.answer.send(QueueAnswer::Done(done));
            return;
        }
        let batches: Vec<&PreparedBatch> = group.iter().map(|one| &one.batch).collect();
        let done = slot
            .lend(write::together(&self.store, &batches, JudgedBy::Server))
            .await;
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
                    let _ = one.answer.send(QueueAnswer::Done(Err(error.clone())));
                }
            }
        }
    }

    fn answer(&self, one: WaitingBatch, outcome: Option<BatchOutcome>) {
        let answer = match outcome {
            Some((outcomes, topics)) => {
                self.board.notify(topics);
                QueueAnswer::Done(Ok(outcomes))
            }
            None => QueueAnswer::Alone(one.batch),
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

impl CommitSlot {
    /// Holds the slot while the work is done, but no longer than `HOLD`: what waits for others must not keep those waiting who do
    /// not.
    async fn lend<T>(self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(HOLD) => drop(self),
        }
        work.await
    }
}

impl Drop for CommitSlot {
    fn drop(&mut self) {
        let group = self.0.leave();
        if !group.is_empty() {
            self.0.begin(group, Self(Arc::clone(&self.0)));
        }
    }
}
