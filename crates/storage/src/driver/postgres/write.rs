//! A batch as one transaction.

use super::sql_value::bind;
use super::store::PostgresStore;
use super::transaction::{PostgresTransaction, QueuedStatement, TransactionError};
use super::{locks, log, rows, value};
use crate::Result;
use crate::address::{ITEMS, Space};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite, WriteOutcome};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How often a batch that lost a race is tried in all.
const ATTEMPTS: u32 = 8;

/// The topics of logs that an erasure found.
type ErasedTopics = Arc<Mutex<Vec<String>>>;

/// Writes the batch; gives its outcomes and the topics of the logs that it changed.
pub(super) async fn commit(
    store: &PostgresStore,
    batch: &Batch,
) -> Result<(Vec<WriteOutcome>, Vec<String>)> {
    raise_counter(store, batch).await?;
    let mut attempt = 1;
    loop {
        match once(store, batch).await {
            Err(stop) if stop.is_lost_race() && attempt < ATTEMPTS => {
                tokio::time::sleep(Duration::from_millis(u64::from(rand::random::<u8>()) >> 3))
                    .await;
                attempt += 1;
            }
            Err(stop) => return Err(stop.error(&store.settings)),
            Ok(done) => return Ok(done),
        }
    }
}

async fn once(
    store: &PostgresStore,
    batch: &Batch,
) -> Result<(Vec<WriteOutcome>, Vec<String>), TransactionError> {
    let mut transaction = PostgresTransaction::begin(store, store.connection().await?);
    let erased = ErasedTopics::default();
    match run(store, batch, &mut transaction, &erased).await {
        Ok(outcomes) => {
            let mut topics = changed(batch);
            topics.append(&mut erased.lock());
            Ok((outcomes, topics))
        }
        Err(stop) => {
            transaction.roll_back().await;
            Err(stop)
        }
    }
}

async fn run(
    store: &PostgresStore,
    batch: &Batch,
    transaction: &mut PostgresTransaction,
    erased: &ErasedTopics,
) -> Result<Vec<WriteOutcome>, TransactionError> {
    let fault_points = &store.options.fault_points;
    fault_points.reach("postgres.begin");
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
    for write in &batch.writes {
        queue(transaction, write, erased).await?;
    }
    if fault_points.is_watched() {
        transaction.flush().await?;
        fault_points.reach("postgres.written");
    }
    let outcomes = transaction.commit().await?;
    fault_points.reach("postgres.committed");
    Ok(outcomes)
}

async fn queue(
    transaction: &mut PostgresTransaction,
    write: &BatchWrite,
    erased: &ErasedTopics,
) -> Result<(), TransactionError> {
    let call = match write {
        BatchWrite::Append { log, entries } => log::append(log, entries),
        BatchWrite::Redact { log, bodies } => log::redact(log, bodies),
        BatchWrite::Drop { log } => log::drop_log(log),
        BatchWrite::Apply { key, op, life } => {
            return value::apply(transaction, key, op, *life).await;
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
