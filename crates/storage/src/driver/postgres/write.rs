//! Batches as one transaction.

use super::compose::ComposeMode;
use super::group::PreparedBatch;
use super::merged::{MergedWrites, is_mergeable};
use super::sql_value::bind;
use super::statement::QueuedStatement;
use super::store::PostgresStore;
use super::transaction::{PostgresTransaction, TransactionError};
use super::value::{LoadedValue, ValueWrite};
use super::{direct, locks, log, rows, value};
use crate::Result;
use crate::address::{ITEMS, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite, WriteOutcome};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a batch that lost a race is tried in all.
const ATTEMPTS: u32 = 8;
/// How long batches that share a transaction wait for the locks of other transactions: one that has to wait for longer
/// must not hold up the others, so that each is done by itself then.
const GROUP_LOCK_TIMEOUT: &str = "500ms";

/// The topics of logs that an erasure found.
type ErasedTopics = Arc<Mutex<Vec<String>>>;

/// Outcomes of a batch, and the topics of the logs that it changed.
pub(super) type BatchOutcome = (Vec<WriteOutcome>, Vec<String>);

/// Who judges what operations do to values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum JudgedBy {
    /// The server, wherever it can.
    Server,
    /// This process, which looks at them first.
    Client,
}

/// Writes a batch in a transaction of its own.
pub(super) async fn alone(store: &PostgresStore, batch: &PreparedBatch) -> Result<BatchOutcome> {
    raise_counter(store, &batch.batch).await?;
    let mut attempt = 1;
    let mut judge = JudgedBy::Server;
    loop {
        match together(store, &[batch], judge).await {
            Err(TransactionError::Unseen) if judge == JudgedBy::Server => judge = JudgedBy::Client,
            Err(stop) if stop.is_lost_race() && attempt < ATTEMPTS => {
                tokio::time::sleep(Duration::from_millis(u64::from(rand::random::<u8>()) >> 3))
                    .await;
                attempt += 1;
            }
            Err(stop) => return Err(stop.error(&store.settings)),
            Ok(mut outcomes) => match outcomes.pop().flatten() {
                Some(outcome) => return Ok(outcome),
                None => judge = JudgedBy::Client,
            },
        }
    }
}

/// Writes batches in one transaction, once. Nothing is done of those whose outcome is `None`: they cannot be judged among
/// others, or not by the server. Several batches must go with each other.
pub(super) async fn together(
    store: &PostgresStore,
    batches: &[&PreparedBatch],
    judge: JudgedBy,
) -> Result<Vec<Option<BatchOutcome>>, TransactionError> {
    let writes = batches.iter().map(|one| one.batch.writes.len()).sum();
    let connection = store.connection().await;
    let connection = connection.map_err(TransactionError::Unreached)?;
    let composing = match (batches, judge) {
        ([one], JudgedBy::Server) if one.is_apart => ComposeMode::WholeBatch,
        ([_, _, ..], JudgedBy::Server) => ComposeMode::SameExpression,
        _ => ComposeMode::Separate,
    };
    let mut transaction = PostgresTransaction::begin(store, connection, writes, composing);
    let erased = ErasedTopics::default();
    let done = async {
        begin(store, batches, &mut transaction);
        let is_queued = queue_writes(&mut transaction, batches, &erased, judge).await?;
        let outcomes = finish(store, &mut transaction).await?;
        Ok::<_, TransactionError>((is_queued, outcomes))
    };
    match done.await {
        Ok((is_queued, outcomes)) => {
            let mut outcomes = outcomes.into_iter();
            let done = batches.iter().zip(is_queued).map(|(one, is_queued)| {
                let own: Vec<WriteOutcome> =
                    outcomes.by_ref().take(one.batch.writes.len()).collect();
                let is_step = judge == JudgedBy::Server && direct::is_step(&one.batch);
                let is_done = is_queued && !(is_step && own == [WriteOutcome::Done]);
                is_done.then(|| (own, changed(&one.batch, &erased)))
            });
            Ok(done.collect())
        }
        Err(stop) => {
            transaction.roll_back().await;
            Err(stop)
        }
    }
}

/// Queues locks and conditions.
fn begin(store: &PostgresStore, batches: &[&PreparedBatch], transaction: &mut PostgresTransaction) {
    store.options.fault_points.reach("postgres.begin");
    let mut all = locks::BatchLocks::default();
    batches.iter().for_each(|one| all.add(&one.locks));
    let (keys, exclusive) = all.columns(store.lock);
    let timeout = (batches.len() > 1).then_some(GROUP_LOCK_TIMEOUT);
    let offset = store.options.clock.offset();
    transaction.queue(QueuedStatement::locks(
        "begin_batch($1, $2, $3, $4)",
        bind![keys, exclusive, offset, timeout],
    ));
    for check in batches.iter().flat_map(|one| &one.batch.checks) {
        transaction.queue(match check {
            BatchCheck::Head { log, head } => log::check_head(log, *head),
            BatchCheck::Version { key, version } => value::check_version(key, *version),
            BatchCheck::Lease { key, epoch } => value::check_lease(key, *epoch),
            BatchCheck::Row { space, mark } => rows::check(space, mark.as_ref()),
            BatchCheck::RowId { space, id } => rows::check_id(space, id),
        });
    }
}

async fn finish(
    store: &PostgresStore,
    transaction: &mut PostgresTransaction,
) -> Result<Vec<WriteOutcome>, TransactionError> {
    let fault_points = &store.options.fault_points;
    if fault_points.is_watched() {
        transaction.flush().await?;
        fault_points.reach("postgres.written");
    }
    let outcomes = transaction.commit().await?;
    fault_points.reach("postgres.committed");
    Ok(outcomes)
}

/// Queues the writes of all batches; false for those of which nothing is queued, because they are refused.
async fn queue_writes(
    transaction: &mut PostgresTransaction,
    batches: &[&PreparedBatch],
    erased: &ErasedTopics,
    judge: JudgedBy,
) -> Result<Vec<bool>, TransactionError> {
    let mut queue = WriteQueue {
        transaction,
        judge,
        erased,
        loaded: HashMap::new(),
        merged: MergedWrites::default(),
    };
    queue.load_ahead(batches).await?;
    let mut is_queued = Vec::with_capacity(batches.len());
    let mut first = 0;
    for one in batches.iter().copied() {
        let queued = queue.transaction.queued();
        match queue.batch(one, first).await {
            Ok(()) => is_queued.push(true),
            Err(TransactionError::Refused(_)) if batches.len() > 1 => {
                queue.transaction.forget_behind(queued);
                is_queued.push(false);
            }
            Err(stop) => {
                // What a condition or an earlier write is refused for comes first.
                queue.transaction.flush().await?;
                return Err(stop);
            }
        }
        first += one.batch.writes.len();
    }
    queue.merged.queue(queue.transaction);
    Ok(is_queued)
}

/// The writes of a transaction on their way to its queue.
struct WriteQueue<'a, 't> {
    transaction: &'t mut PostgresTransaction,
    judge: JudgedBy,
    erased: &'t ErasedTopics,
    /// What operations see, where nothing in front of them can change it.
    loaded: HashMap<&'a ValueKey, LoadedValue>,
    merged: MergedWrites<'a>,
}

impl<'a> WriteQueue<'a, '_> {
    /// Loads what the operations must see, all at once.
    async fn load_ahead(&mut self, batches: &[&'a PreparedBatch]) -> Result<(), TransactionError> {
        let (mut keys, mut loads) = (Vec::new(), Vec::new());
        let batches = batches.iter().copied();
        let batches = batches.filter(|one| one.has_apart_values);
        let batches = batches.filter(|one| !self.is_step(one));
        for write in batches.flat_map(|one| &one.batch.writes) {
            let BatchWrite::Apply { key, op, life } = write else {
                continue;
            };
            let life = *life;
            if !direct::is_blind(op, self.judge) {
                keys.push(key);
                loads.push(ValueWrite { key, op, life }.load());
            }
        }
        if loads.is_empty() {
            return Ok(());
        }
        let answers = self.transaction.ask_all(loads).await?;
        for (key, rows) in keys.into_iter().zip(answers) {
            self.loaded.insert(key, LoadedValue::of(log::one(&rows)?));
        }
        Ok(())
    }

    fn is_step(&self, one: &PreparedBatch) -> bool {
        self.judge == JudgedBy::Server && direct::is_step(&one.batch)
    }

    /// Queues a batch whose first write has this place in the transaction.
    async fn batch(
        &mut self,
        one: &'a PreparedBatch,
        first: usize,
    ) -> Result<(), TransactionError> {
        self.transaction.turn_to(first);
        if self.is_step(one)
            && let Some(step) = direct::step(&one.batch)
        {
            self.transaction.queue(step);
            return Ok(());
        }
        let is_merged = one.is_apart && self.judge == JudgedBy::Server;
        let mut merged = Vec::new();
        for (place, write) in (first..).zip(&one.batch.writes) {
            if is_merged && is_mergeable(write) {
                merged.push((place, write));
                continue;
            }
            self.transaction.turn_to(place);
            self.write(write).await?;
        }
        for (place, write) in merged {
            self.merged.add(place, write);
        }
        Ok(())
    }

    async fn write(&mut self, write: &'a BatchWrite) -> Result<(), TransactionError> {
        let call = match write {
            BatchWrite::Append { log, entries } => log::append(log, entries),
            BatchWrite::Redact { log, bodies } => log::redact(log, bodies),
            BatchWrite::Drop { log } => log::drop_log(log),
            BatchWrite::Apply { key, op, life } => {
                let life = *life;
                return self.apply(&ValueWrite { key, op, life }).await;
            }
            BatchWrite::Wipe { space, pattern } => {
                return value::wipe(self.transaction, space, pattern).await;
            }
            BatchWrite::Clear { space } => erase(space, Some(ITEMS), self.erased),
            BatchWrite::Remove { space } => erase(space, None, self.erased),
            BatchWrite::Track(track) => rows::track(track)?,
            BatchWrite::Untrack { tenant, id } => rows::untrack(tenant, id),
            BatchWrite::Mirror(MirrorWrite::Log { log, head, entries }) => {
                log::mirror(log, *head, entries)
            }
            BatchWrite::Mirror(MirrorWrite::Value { key, entry }) => {
                value::mirror(key, entry.as_ref())
            }
            BatchWrite::Mirror(MirrorWrite::Row(row)) => rows::mirror(row)?,
        };
        self.transaction.queue(call);
        Ok(())
    }

    async fn apply(&mut self, write: &ValueWrite<'a>) -> Result<(), TransactionError> {
        if direct::is_blind(write.op, self.judge)
            && let Some(calls) = direct::statements(write)
        {
            let queue = |call| self.transaction.queue(call);
            calls.into_iter().for_each(queue);
            return Ok(());
        }
        let value = match self.loaded.remove(write.key) {
            Some(value) => value,
            None => {
                let rows = self.transaction.ask(write.load()).await?;
                LoadedValue::of(log::one(&rows)?)
            }
        };
        Ok(write.apply(self.transaction, value)?)
    }
}

fn erase(space: &Space, keep: Option<&str>, erased: &ErasedTopics) -> QueuedStatement {
    let keep = keep.map(|name| name.as_bytes().to_vec());
    let (owner, erased) = (space.clone(), Arc::clone(erased));
    QueuedStatement::query(
        "SELECT * FROM erase_space($1, $2)",
        bind![locks::space(space), keep],
    )
    .reading(move |answer| {
        let row = log::one(answer.rows)?;
        let names: Vec<Vec<u8>> = row.get(1);
        let topics = names
            .into_iter()
            .filter_map(|name| Some(locks::topic(&owner.log(String::from_utf8(name).ok()?))));
        erased.lock().extend(topics);
        Ok(WriteOutcome::Erased(log::unsigned(row.get(0))))
    })
}

fn changed(batch: &Batch, erased: &ErasedTopics) -> Vec<String> {
    let log = |write: &BatchWrite| match write {
        BatchWrite::Append { log, .. }
        | BatchWrite::Redact { log, .. }
        | BatchWrite::Drop { log }
        | BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => Some(locks::topic(log)),
        _ => None,
    };
    let changed = batch.writes.iter().filter_map(log);
    changed.chain(erased.lock().drain(..)).collect()
}

/// Lifts the counter to the highest number that the batch copies from another store. In a transaction of its own,
/// because it waits for all others; that it stays lifted when the batch fails does no harm.
async fn raise_counter(store: &PostgresStore, batch: &Batch) -> Result<()> {
    let number = |write: &BatchWrite| match write {
        BatchWrite::Mirror(MirrorWrite::Log { head, .. }) => head.generation,
        BatchWrite::Mirror(MirrorWrite::Value { entry, .. }) => {
            entry.as_ref().map_or(0, |entry| entry.version)
        }
        BatchWrite::Mirror(MirrorWrite::Row(row)) => row.ordinal,
        _ => 0,
    };
    let highest = batch.writes.iter().map(number).max().unwrap_or(0);
    if highest > 0 {
        let values = bind![log::signed(highest), store.lock];
        store.rows("SELECT raise_counter($1, $2)", &values).await?;
    }
    Ok(())
}
