//! A batch as one transaction.

use super::sql_value::bind;
use super::store::PostgresStore;
use super::transaction::{PostgresTransaction, QueuedStatement, TransactionError};
use super::value::{LoadedValue, ValueWrite};
use super::{direct, locks, log, rows, value};
use crate::Result;
use crate::address::{ITEMS, Space};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite, WriteOutcome};
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How often a batch that lost a race is tried in all.
const ATTEMPTS: u32 = 8;

/// The topics of logs that an erasure found.
type ErasedTopics = Arc<Mutex<Vec<String>>>;

/// Writes the batch; gives its outcomes and the topics of the logs that it changed.
pub(super) async fn commit(store: &PostgresStore, batch: &Batch) -> Result<BatchOutcome> {
    raise_counter(store, batch).await?;
    let mut attempt = 1;
    let mut alone = direct::alone(batch);
    loop {
        match once(store, batch, alone.take()).await {
            Err(stop) if stop.is_lost_race() && attempt < ATTEMPTS => {
                tokio::time::sleep(Duration::from_millis(u64::from(rand::random::<u8>()) >> 3))
                    .await;
                attempt += 1;
            }
            Err(stop) => return Err(stop.error(&store.settings)),
            Ok(None) => {}
            Ok(Some(outcomes)) => return Ok(outcomes),
        }
    }
}

/// Outcomes of a batch, and the topics of the logs that it changed.
type BatchOutcome = (Vec<WriteOutcome>, Vec<String>);

/// Tries once, with this statement for all writes if there is one; `None` where that has done nothing.
async fn once(
    store: &PostgresStore,
    batch: &Batch,
    alone: Option<QueuedStatement>,
) -> Result<Option<BatchOutcome>, TransactionError> {
    let mut transaction = PostgresTransaction::begin(store, store.connection().await?);
    let is_alone = alone.is_some();
    let erased = ErasedTopics::default();
    let done = async {
        begin(store, batch, &mut transaction);
        match alone {
            Some(call) => transaction.queue(call),
            None => queue_writes(&mut transaction, batch, &erased).await?,
        }
        finish(store, &mut transaction).await
    };
    match done.await {
        Ok(outcomes) if is_alone && matches!(outcomes.as_slice(), [WriteOutcome::Done]) => Ok(None),
        Ok(outcomes) => {
            let mut topics = changed(batch);
            topics.append(&mut erased.lock());
            Ok(Some((outcomes, topics)))
        }
        Err(stop) => {
            transaction.roll_back().await;
            Err(stop)
        }
    }
}

/// Queues locks and conditions.
fn begin(store: &PostgresStore, batch: &Batch, transaction: &mut PostgresTransaction) {
    store.options.fault_points.reach("postgres.begin");
    let (keys, alone) = locks::locks(store.lock, batch);
    transaction.queue(QueuedStatement::new(
        "SELECT take_locks($1, $2, $3)",
        bind![keys, alone, store.options.clock.offset()],
    ));
    for check in &batch.checks {
        transaction.queue(match check {
            BatchCheck::Head { log, head } => log::check_head(log, *head),
            BatchCheck::Version { key, version } => value::check_version(key, *version),
            BatchCheck::Lease { key, epoch } => value::check_lease(key, *epoch),
            BatchCheck::Row { space, mark } => rows::check(space, mark.as_ref()),
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

async fn queue_writes(
    transaction: &mut PostgresTransaction,
    batch: &Batch,
    erased: &ErasedTopics,
) -> Result<(), TransactionError> {
    let mut loaded = load_ahead(transaction, batch).await?;
    for write in &batch.writes {
        queue(transaction, write, &mut loaded, erased).await?;
    }
    Ok(())
}

/// Loads what the operations must see, all at once, if nothing in front of them in the batch can change it.
async fn load_ahead(
    transaction: &mut PostgresTransaction,
    batch: &Batch,
) -> Result<VecDeque<LoadedValue>, TransactionError> {
    let mut keys = HashSet::new();
    let is_apart = batch.writes.iter().all(|write| match write {
        BatchWrite::Apply { key, .. } => keys.insert(key),
        BatchWrite::Wipe { .. } | BatchWrite::Clear { .. } | BatchWrite::Remove { .. } => false,
        BatchWrite::Mirror(_) => false,
        _ => true,
    });
    let load = |write: &BatchWrite| {
        let BatchWrite::Apply { key, op, life } = write else {
            return None;
        };
        let life = *life;
        let write = ValueWrite { key, op, life };
        (!direct::is_blind(op)).then(|| write.load())
    };
    let loads: Vec<QueuedStatement> = batch.writes.iter().filter_map(load).collect();
    if loads.is_empty() || !is_apart {
        return Ok(VecDeque::new());
    }
    let answers = transaction.ask_all(loads).await?;
    let values = answers
        .iter()
        .map(|rows| Ok(LoadedValue::of(log::one(rows)?)));
    Ok(values.collect::<Result<_>>()?)
}

async fn apply(
    transaction: &mut PostgresTransaction,
    write: &ValueWrite<'_>,
    loaded: &mut VecDeque<LoadedValue>,
) -> Result<(), TransactionError> {
    if let Some(calls) = direct::statements(write) {
        calls.into_iter().for_each(|call| transaction.queue(call));
        return Ok(());
    }
    let value = match loaded.pop_front() {
        Some(value) => value,
        None => LoadedValue::of(log::one(&transaction.ask(write.load()).await?)?),
    };
    if let Err(error) = write.apply(transaction, value) {
        // What an earlier write is refused for comes first.
        transaction.flush().await?;
        return Err(error.into());
    }
    Ok(())
}

async fn queue(
    transaction: &mut PostgresTransaction,
    write: &BatchWrite,
    loaded: &mut VecDeque<LoadedValue>,
    erased: &ErasedTopics,
) -> Result<(), TransactionError> {
    let call = match write {
        BatchWrite::Append { log, entries } => log::append(log, entries),
        BatchWrite::Redact { log, bodies } => log::redact(log, bodies),
        BatchWrite::Drop { log } => log::drop_log(log),
        BatchWrite::Apply { key, op, life } => {
            let life = *life;
            return apply(transaction, &ValueWrite { key, op, life }, loaded).await;
        }
        BatchWrite::Wipe { space, pattern } => {
            return value::wipe(transaction, space, pattern).await;
        }
        BatchWrite::Clear { space } => erase(space, Some(ITEMS), erased),
        BatchWrite::Remove { space } => erase(space, None, erased),
        BatchWrite::Track(track) => rows::track(track)?,
        BatchWrite::Untrack { tenant, id } => rows::untrack(tenant, id),
        BatchWrite::Mirror(MirrorWrite::Log { log, head, entries }) => {
            log::mirror(log, *head, entries)
        }
        BatchWrite::Mirror(MirrorWrite::Value { key, entry }) => value::mirror(key, entry.as_ref()),
        BatchWrite::Mirror(MirrorWrite::Row(row)) => rows::mirror(row)?,
    };
    transaction.queue(call);
    Ok(())
}

fn erase(space: &Space, keep: Option<&str>, erased: &ErasedTopics) -> QueuedStatement {
    let keep = keep.map(|name| name.as_bytes().to_vec());
    let (owner, erased) = (space.clone(), Arc::clone(erased));
    QueuedStatement::new(
        "SELECT * FROM erase_space($1, $2)",
        bind![locks::space(space), keep],
    )
    .reading(move |rows| {
        let row = log::one(rows)?;
        let names: Vec<Vec<u8>> = row.get(1);
        let topics = names
            .into_iter()
            .filter_map(|name| Some(locks::topic(&owner.log(String::from_utf8(name).ok()?))));
        erased.lock().extend(topics);
        Ok(WriteOutcome::Erased(log::unsigned(row.get(0))))
    })
}

fn changed(batch: &Batch) -> Vec<String> {
    let log = |write: &BatchWrite| match write {
        BatchWrite::Append { log, .. }
        | BatchWrite::Redact { log, .. }
        | BatchWrite::Drop { log }
        | BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => Some(locks::topic(log)),
        _ => None,
    };
    batch.writes.iter().filter_map(log).collect()
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
