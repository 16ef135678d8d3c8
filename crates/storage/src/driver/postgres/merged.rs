//! Appends and plain values of a whole transaction, each kind as one statement however many batches they come from.

use super::log::{self, signed, unsigned};
use super::sql_value::bind;
use super::statement::QueuedStatement;
use super::transaction::{PostgresTransaction, TransactionError};
use super::value::{self, ValueWrite};
use super::{direct, locks};
use crate::address::{ITEMS, LogKey};
use crate::batch::{BatchWrite, Head, NewEntry, WriteOutcome};
use crate::driver::state::rows::ACTIVITY_STEP;
use crate::json::StoredValue;
use crate::operation::{Operation, OperationOutput};
use std::collections::HashMap;

/// Writes that wait for others of their kind. Those of one log may come from several batches; a value is named once.
#[derive(Default)]
pub(super) struct MergedWrites<'a> {
    logs: Vec<LogAppends<'a>>,
    places: HashMap<&'a LogKey, usize>,
    values: Vec<PlainSet<'a>>,
}

/// All appends to one log.
struct LogAppends<'a> {
    log: &'a LogKey,
    parts: Vec<AppendPart<'a>>,
}

/// One append, and its place in the transaction.
struct AppendPart<'a> {
    write: usize,
    entries: &'a [NewEntry],
}

/// A `Set` of anything but a list, and its place in the transaction.
struct PlainSet<'a> {
    write: usize,
    set: ValueWrite<'a>,
    value: &'a StoredValue,
}

/// True for writes that can be put together with others.
pub(super) fn is_mergeable(write: &BatchWrite) -> bool {
    match write {
        BatchWrite::Append { .. } => true,
        BatchWrite::Apply { op, .. } => matches!(op, Operation::Set(StoredValue::Plain(_))),
        _ => false,
    }
}

impl<'a> MergedWrites<'a> {
    /// Adds the write at this place, if it is of a kind that can be put together.
    pub(super) fn add(&mut self, write: usize, change: &'a BatchWrite) {
        match change {
            BatchWrite::Append { log, entries } => {
                let place = *self.places.entry(log).or_insert(self.logs.len());
                if place == self.logs.len() {
                    let parts = Vec::new();
                    self.logs.push(LogAppends { log, parts });
                }
                self.logs[place].parts.push(AppendPart { write, entries });
            }
            BatchWrite::Apply { key, op, life } => {
                if let Operation::Set(value) = op {
                    let life = *life;
                    let set = ValueWrite { key, op, life };
                    self.values.push(PlainSet { write, set, value });
                }
            }
            _ => {}
        }
    }

    /// Queues all of them. What stands alone is done by the statement for one.
    pub(super) fn queue(self, transaction: &mut PostgresTransaction) {
        match self.values.as_slice() {
            [] => {}
            [one] => {
                transaction.turn_to(one.write);
                transaction.queue(direct::set(&one.set, one.value));
            }
            all => transaction.queue(store_all(all)),
        }
        match self.logs.as_slice() {
            [] => {}
            [LogAppends { log, parts }] if parts.len() == 1 => {
                for part in parts {
                    transaction.turn_to(part.write);
                    transaction.queue(log::append(log, part.entries));
                }
            }
            all => transaction.queue(append_all(all)),
        }
    }
}

fn store_all(sets: &[PlainSet<'_>]) -> QueuedStatement {
    let key = |set: &PlainSet<'_>| set.set.key.clone();
    let keys = || sets.iter().map(key);
    let (mut bodies, mut epochs) = (Vec::new(), Vec::new());
    for set in sets {
        let (body, _, epoch) = value::columns(set.value.clone());
        bodies.push(body.unwrap_or_default());
        epochs.push(epoch);
    }
    let spaces: Vec<Vec<u8>> = keys().map(|key| locks::space(&key.space)).collect();
    let names: Vec<Vec<u8>> = keys().map(|key| key.name.into_bytes()).collect();
    let tenants: Vec<String> = keys().map(|key| key.space.tenant).collect();
    let paths: Vec<String> = keys().map(|key| key.space.path).collect();
    let lives: Vec<Option<i64>> = sets.iter().map(|set| set.set.life).collect();
    let values = bind![spaces, names, tenants, paths, bodies, lives, epochs];
    let writes = sets.iter().map(|set| set.write).collect();
    let sql = "store_all($1, $2, $3, $4, $5, $6, $7)";
    QueuedStatement::write(sql, values).reading_all(writes, |answer| {
        let versions: Vec<i64> = answer.value()?;
        let outcome =
            |version| WriteOutcome::applied(OperationOutput::Nothing, Some(unsigned(version)));
        Ok(versions.into_iter().map(outcome).collect())
    })
}

/// The columns of `append_all`.
#[derive(Default)]
struct AppendColumns {
    counts: Vec<i64>,
    /// Of each entry, its log, its place behind the log's end, its id and its body; logs and places from 1.
    logs: Vec<i64>,
    places: Vec<i64>,
    ids: Vec<String>,
    bodies: Vec<String>,
    outcomes: Vec<AppendOutcome>,
}

/// What an append answers, as soon as it is known where its log ended before.
struct AppendOutcome {
    /// The log's place among the columns.
    log: usize,
    /// How far behind the old end of the log this append ends.
    end: u64,
    /// Where behind the old end each of its entries is.
    places: Vec<u64>,
}

impl AppendColumns {
    /// Adds the appends to one log; an id that comes twice is sent once.
    fn add(&mut self, appends: &LogAppends<'_>) {
        let log = self.counts.len();
        let mut known: HashMap<&str, u64> = HashMap::new();
        for part in &appends.parts {
            let mut places = Vec::with_capacity(part.entries.len());
            for entry in part.entries {
                let next = known.len() as u64 + 1;
                let place = *known.entry(&entry.id).or_insert(next);
                if place == next {
                    self.logs.push(signed(log as u64 + 1));
                    self.places.push(signed(place));
                    self.ids.push(entry.id.clone());
                    self.bodies.push(entry.body.as_str().to_owned());
                }
                places.push(place);
            }
            let end = known.len() as u64;
            self.outcomes.push(AppendOutcome { log, end, places });
        }
        self.counts.push(signed(known.len() as u64));
    }
}

fn append_all(all: &[LogAppends<'_>]) -> QueuedStatement {
    let mut columns = AppendColumns::default();
    all.iter().for_each(|appends| columns.add(appends));
    let logs = || all.iter().map(|appends| appends.log.clone());
    let spaces: Vec<Vec<u8>> = logs().map(|log| locks::space(&log.space)).collect();
    let active = all.iter().zip(&spaces);
    let active: Vec<Vec<u8>> = active
        .filter(|(appends, _)| appends.log.name == ITEMS)
        .map(|(_, space)| space.clone())
        .collect();
    let values = bind![
        spaces,
        logs().map(|log| log.name.into_bytes()).collect::<Vec<_>>(),
        logs().map(|log| log.space.tenant).collect::<Vec<_>>(),
        logs().map(|log| log.space.path).collect::<Vec<_>>(),
        columns.counts.clone(),
        columns.logs,
        columns.places,
        columns.ids,
        columns.bodies,
        active,
        ACTIVITY_STEP,
    ];
    let parts = all.iter().flat_map(|appends| &appends.parts);
    let writes = parts.map(|part| part.write).collect();
    let (counts, outcomes) = (columns.counts, columns.outcomes);
    let sql = "(SELECT o_generations || o_lasts FROM append_all($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11))";
    QueuedStatement::write(sql, values)
        // An id is there already; how the others close up is for `append`.
        .refused(|_| TransactionError::Unseen)
        .reading_all(writes, move |answer| {
            let numbers: Vec<i64> = answer.value()?;
            let (generations, lasts) = numbers.split_at(numbers.len() / 2);
            let number = |column: &[i64], log: usize| column.get(log).map_or(0, |at| unsigned(*at));
            let outcome = |append: AppendOutcome| {
                let last = number(lasts, append.log);
                let before = last.saturating_sub(number(&counts, append.log));
                let head = Head::new(number(generations, append.log), before + append.end);
                let seqs = append.places.iter().map(|place| before + place).collect();
                WriteOutcome::appended(head, seqs)
            };
            Ok(outcomes.into_iter().map(outcome).collect())
        })
}
