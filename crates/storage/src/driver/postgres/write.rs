//! A batch as one transaction.

use super::store::Store;
use super::transaction::{Call, Stop, Transaction, bind};
use super::{log, place, rows, value};
use crate::Result;
use crate::address::{ITEMS, Space};
use crate::batch::{Batch, Check, Mirror, Outcome, Write};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How often a batch that lost a race is tried in all.
const ATTEMPTS: u32 = 8;

/// The topics of logs that an erasure found.
type Erased = Arc<Mutex<Vec<String>>>;

/// Writes the batch; gives its outcomes and the topics of the logs that it changed.
pub(super) async fn commit(store: &Store, batch: &Batch) -> Result<(Vec<Outcome>, Vec<String>)> {
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

async fn once(store: &Store, batch: &Batch) -> Result<(Vec<Outcome>, Vec<String>), Stop> {
    let mut transaction = Transaction::begin(store.connection().await?);
    let erased = Erased::default();
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
    store: &Store,
    batch: &Batch,
    transaction: &mut Transaction,
    erased: &Erased,
) -> Result<Vec<Outcome>, Stop> {
    let fault_points = &store.options.fault_points;
    fault_points.reach("postgres.begin");
    let (keys, alone) = place::locks(store.lock, batch);
    transaction.queue(Call::new(
        "SELECT take_locks($1, $2, $3)",
        bind![keys, alone, store.options.clock.offset()],
    ));
    for check in &batch.checks {
        transaction.queue(match check {
            Check::Head { log, head } => log::check_head(log, *head),
            Check::Version { key, version } => value::check_version(key, *version),
            Check::Lease { key, epoch } => value::check_lease(key, *epoch),
            Check::Row { space, mark } => rows::check(space, mark.as_ref()),
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

async fn queue(transaction: &mut Transaction, write: &Write, erased: &Erased) -> Result<(), Stop> {
    let call = match write {
        Write::Append { log, entries } => log::append(log, entries),
        Write::Redact { log, bodies } => log::redact(log, bodies),
        Write::Drop { log } => log::drop_log(log),
        Write::Apply { key, op, life } => return value::apply(transaction, key, op, *life).await,
        Write::Wipe { space, pattern } => return value::wipe(transaction, space, pattern).await,
        Write::Clear { space } => erase(space, Some(ITEMS), erased),
        Write::Remove { space } => erase(space, None, erased),
        Write::Track(track) => rows::track(track)?,
        Write::Untrack { tenant, id } => rows::untrack(tenant, id),
        Write::Mirror(Mirror::Log { log, head, entries }) => log::mirror(log, *head, entries),
        Write::Mirror(Mirror::Value { key, entry }) => value::mirror(key, entry.as_ref()),
        Write::Mirror(Mirror::Row(row)) => rows::mirror(row)?,
    };
    transaction.queue(call);
    Ok(())
}

fn erase(space: &Space, keep: Option<&str>, erased: &Erased) -> Call {
    let keep = keep.map(|name| name.as_bytes().to_vec());
    let (owner, erased) = (space.clone(), Arc::clone(erased));
    Call::new(
        "SELECT * FROM erase_space($1, $2)",
        bind![place::space(space), keep],
    )
    .reading(move |rows| {
        let row = log::one(rows)?;
        let names: Vec<Vec<u8>> = row.get(1);
        let topics = names
            .into_iter()
            .filter_map(|name| Some(place::topic(&owner.log(String::from_utf8(name).ok()?))));
        erased.lock().extend(topics);
        Ok(Outcome::Erased(log::unsigned(row.get(0))))
    })
}

fn changed(batch: &Batch) -> Vec<String> {
    let log = |write: &Write| match write {
        Write::Append { log, .. }
        | Write::Redact { log, .. }
        | Write::Drop { log }
        | Write::Mirror(Mirror::Log { log, .. }) => Some(place::topic(log)),
        _ => None,
    };
    batch.writes.iter().filter_map(log).collect()
}

/// Lifts the counter to the highest number that the batch copies from another store. In a transaction of its own,
/// because it waits for all others; that it stays lifted when the batch fails does no harm.
async fn raise_counter(store: &Store, batch: &Batch) -> Result<()> {
    let number = |write: &Write| match write {
        Write::Mirror(Mirror::Log { head, .. }) => head.generation,
        Write::Mirror(Mirror::Value { entry, .. }) => {
            entry.as_ref().map_or(0, |entry| entry.version)
        }
        Write::Mirror(Mirror::Row(row)) => row.ordinal,
        _ => 0,
    };
    let highest = batch.writes.iter().map(number).max().unwrap_or(0);
    if highest > 0 {
        let values = bind![log::signed(highest), store.lock];
        store.rows("SELECT raise_counter($1, $2)", &values).await?;
    }
    Ok(())
}
