//! Logs: appends, redactions, copies and reads.

pub(super) use crate::driver::integer::{signed, unsigned};

use super::locks;
use super::sql_value::bind;
use super::statement::QueuedStatement;
use super::store::PostgresStore;
use crate::address::{ITEMS, LogKey, Space};
use crate::batch::{Head, LogEntry, NewEntry, WriteOutcome};
use crate::driver::state::{self, rows::ACTIVITY_STEP};
use crate::driver::{Direction, LogPage, LogRange};
use crate::json::Json;
use crate::{Error, Result};
use std::collections::HashMap;
use tokio_postgres::Row;

const FORWARD: &str = "SELECT l.generation, l.last, e.seq, e.entry_id, e.at, e.body FROM log l LEFT JOIN LATERAL \
     (SELECT seq, entry_id, at, body FROM entry WHERE log_id = l.id AND seq >= $3 ORDER BY seq LIMIT $4) e ON true \
     WHERE l.space = $1 AND l.name = $2 ORDER BY e.seq";
const BACKWARD: &str = "SELECT l.generation, l.last, e.seq, e.entry_id, e.at, e.body FROM log l LEFT JOIN LATERAL \
     (SELECT seq, entry_id, at, body FROM entry WHERE log_id = l.id AND seq <= $3 ORDER BY seq DESC LIMIT $4) e ON true \
     WHERE l.space = $1 AND l.name = $2 ORDER BY e.seq DESC";
/// Generation, end, and the numbers of the entries where not all of them were new.
const APPEND: &str =
    "(SELECT ARRAY[o_generation, o_last] || o_seqs FROM append($1, $2, $3, $4, $5, $6, $7, $8))";
const REDACT: &str = "UPDATE entry SET body = w.body FROM unnest($3::bigint[], $4::text[]) AS w (seq, body) \
     WHERE entry.log_id = (SELECT id FROM log WHERE space = $1 AND name = $2) AND entry.seq = w.seq \
     RETURNING entry.seq";

/// The condition that a log ends at `head`.
pub(super) fn check_head(log: &LogKey, head: Option<Head>) -> QueuedStatement {
    let values = bind![
        locks::space(&log.space),
        log.name.clone().into_bytes(),
        head.map(|head| signed(head.generation)),
        head.map(|head| signed(head.last)),
    ];
    let log = log.clone();
    QueuedStatement::check("check_head($1, $2, $3, $4)", values).refused(move |found| {
        let found = pair(found).map(|(generation, last)| Head { generation, last });
        conflict(state::expect(&log, head, found))
    })
}

/// The error of a condition that the server found not to hold.
pub(super) fn conflict(judged: Result<()>) -> Error {
    judged
        .err()
        .unwrap_or_else(|| Error::internal("the server refused a condition that holds"))
}

fn pair(found: &str) -> Option<(u64, u64)> {
    let (first, second) = found.split_once(' ')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

/// Appends; an id that stands in the batch twice is sent once.
pub(super) fn append(log: &LogKey, entries: &[NewEntry]) -> QueuedStatement {
    let mut places = HashMap::with_capacity(entries.len());
    let (mut ids, mut bodies) = (Vec::new(), Vec::new());
    let mut sent = Vec::with_capacity(entries.len());
    for entry in entries {
        let place = *places.entry(entry.id.as_str()).or_insert(ids.len());
        if place == ids.len() {
            ids.push(entry.id.clone());
            bodies.push(entry.body.as_str().to_owned());
        }
        sent.push(place);
    }
    let count = ids.len() as u64;
    let values = bind![
        locks::space(&log.space),
        log.name.clone().into_bytes(),
        log.space.tenant.clone(),
        log.space.path.clone(),
        ids,
        bodies,
        log.name == ITEMS,
        ACTIVITY_STEP,
    ];
    QueuedStatement::write(APPEND, values).reading(move |answer| {
        let numbers: Vec<i64> = answer.value()?;
        let (head, stored) = match numbers.as_slice() {
            [generation, last, seqs @ ..] => {
                (Head::new(unsigned(*generation), unsigned(*last)), seqs)
            }
            _ => return Err(Error::internal("an append gave no head")),
        };
        let first = head.last.saturating_sub(count) + 1;
        let seq = |place: &usize| match stored {
            [] => first + *place as u64,
            seqs => seqs.get(*place).map_or(0, |seq| unsigned(*seq)),
        };
        let seqs = sent.iter().map(seq).collect();
        Ok(WriteOutcome::Appended { head, seqs })
    })
}

pub(super) fn redact(log: &LogKey, bodies: &[(u64, Json)]) -> QueuedStatement {
    let last: HashMap<u64, &Json> = bodies.iter().map(|(seq, body)| (*seq, body)).collect();
    let (seqs, texts): (Vec<i64>, Vec<String>) = last
        .iter()
        .map(|(seq, body)| (signed(*seq), body.as_str().to_owned()))
        .unzip();
    let wanted: Vec<u64> = bodies.iter().map(|(seq, _)| *seq).collect();
    let values = bind![
        locks::space(&log.space),
        log.name.clone().into_bytes(),
        seqs,
        texts,
    ];
    QueuedStatement::query(REDACT, values).reading(move |answer| {
        let done: std::collections::HashSet<u64> =
            answer.rows.iter().map(|row| unsigned(row.get(0))).collect();
        let erased = wanted.iter().filter(|seq| done.contains(seq)).count();
        Ok(WriteOutcome::Erased(erased as u64))
    })
}

pub(super) fn drop_log(log: &LogKey) -> QueuedStatement {
    let values = bind![locks::space(&log.space), log.name.clone().into_bytes()];
    QueuedStatement::write("drop_log($1, $2)", values)
        .reading(|answer| Ok(WriteOutcome::Erased(unsigned(answer.value()?))))
}

/// Goes on with another store's entries.
pub(super) fn mirror(log: &LogKey, head: Head, entries: &[LogEntry]) -> QueuedStatement {
    let seqs: Vec<i64> = entries.iter().map(|entry| signed(entry.seq)).collect();
    let ids: Vec<String> = entries.iter().map(|entry| entry.id.clone()).collect();
    let times: Vec<i64> = entries.iter().map(|entry| entry.at).collect();
    let bodies: Vec<String> = entries
        .iter()
        .map(|entry| entry.body.as_str().to_owned())
        .collect();
    let values = bind![
        locks::space(&log.space),
        log.name.clone().into_bytes(),
        log.space.tenant.clone(),
        log.space.path.clone(),
        signed(head.generation),
        seqs,
        ids,
        times,
        bodies,
    ];
    let what = log.to_string();
    QueuedStatement::write("mirror_log($1, $2, $3, $4, $5, $6, $7, $8, $9)", values)
        .refused(move |found| {
            let (expected, found) = found.split_once(' ').unwrap_or((found, "?"));
            Error::gap(what, expected, found)
        })
        .reading(|_| Ok(WriteOutcome::Done))
}

/// Part of a log; head and entries are of one moment.
pub(super) async fn read(store: &PostgresStore, log: &LogKey, range: LogRange) -> Result<LogPage> {
    let sql = match range.direction {
        Direction::Forward => FORWARD,
        Direction::Backward => BACKWARD,
    };
    let values = bind![
        locks::space(&log.space),
        log.name.clone().into_bytes(),
        signed(range.from),
        signed(range.limit as u64),
    ];
    let rows = store.rows(sql, &values).await?;
    Ok(LogPage {
        head: rows.first().map(head),
        entries: rows.iter().filter_map(entry).collect(),
        stale_possible: false,
    })
}

fn head(row: &Row) -> Head {
    Head::new(unsigned(row.get(0)), unsigned(row.get(1)))
}

fn entry(row: &Row) -> Option<LogEntry> {
    Some(LogEntry {
        seq: unsigned(row.get::<_, Option<i64>>(2)?),
        id: row.get(3),
        at: row.get(4),
        body: Json::stored(row.get::<_, String>(5)),
    })
}

pub(super) async fn names(store: &PostgresStore, space: &Space) -> Result<Vec<String>> {
    let sql = "SELECT name FROM log WHERE space = $1 ORDER BY name";
    let rows = store.rows(sql, &bind![locks::space(space)]).await?;
    rows.iter()
        .map(|row| text(row.get(0), || format!("a log's name in {space}")))
        .collect()
}

/// A name of the tables.
pub(super) fn text(bytes: Vec<u8>, place: impl Fn() -> String) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| Error::corrupt(place(), error))
}

/// The only row of an answer that always has one.
pub(super) fn one(rows: &[Row]) -> Result<&Row> {
    rows.first()
        .ok_or_else(|| Error::internal("a function of the PostgreSQL store gave no row"))
}
