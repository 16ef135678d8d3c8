//! Operations that the server does without showing the value first, so that a batch of them is one wave.
//!
//! Some do not depend on the value, or only on whose lease it is. Others, the steps, are done here as long as it is what
//! it mostly is – a whole number, a list that is there – and else not at all: then nothing has changed, and the batch is
//! done again with a look at the value. So these must be alone in their batch.

use super::locks;
use super::log::{one, signed, unsigned};
use super::sql_value::bind;
use super::transaction::{QueuedStatement, TransactionError};
use super::value::{self, ValueWrite};
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::json::{Json, StoredValue};
use crate::operation::{LeaseGrant, MAX_LIST, MAX_SAFE, Operation, OperationOutput};
use crate::{Error, Result};
use tokio_postgres::Row;

const SET: &str = "SELECT store_value($1, $2, $3, $4, $5, $6, $7, w.version, \
     CASE WHEN $9::bigint IS NULL THEN NULL ELSE batch_time() + least($9, 9223372036854775807 - batch_time()) END, $8), \
     w.version FROM (SELECT nextval('counter') AS version) w";
const RENEW: &str = "UPDATE value SET expires_at = CASE WHEN $3::bigint IS NULL THEN NULL \
     ELSE batch_time() + least($3, 9223372036854775807 - batch_time()) END \
     WHERE space = $1 AND name = $2 RETURNING version";
/// A number that is stored in another way, like 1.0 or 1e3, is left to others.
const INCR: &str = "INSERT INTO value AS v (space, name, tenant, path, body, length, version, expires_at) \
     VALUES ($1, $2, $3, $4, ($5::bigint)::text, 1, nextval('counter'), CASE WHEN $6::bigint IS NULL THEN NULL \
     ELSE batch_time() + least($6, 9223372036854775807 - batch_time()) END) \
     ON CONFLICT (space, name) DO UPDATE SET body = (v.body::bigint + $5)::text, version = excluded.version \
     WHERE CASE WHEN v.expires_at <= batch_time() THEN false WHEN v.body ~ '^(0|-?[1-9][0-9]{0,15})$' \
     THEN abs(v.body::bigint + $5) <= $7 ELSE false END RETURNING v.body, v.version";
const PUSH: &str = "SELECT change_list(l.id, l.length, ARRAY(SELECT l.length + n FROM generate_series(0, $5::bigint - 1) AS n), \
     $3, $4, w.version, l.expires_at), l.length + $5, w.version \
     FROM (SELECT nextval('counter') AS version) w, (SELECT id, length, expires_at FROM value \
     WHERE space = $1 AND name = $2 AND body IS NULL AND (expires_at IS NULL OR expires_at > batch_time()) \
     FOR UPDATE) l WHERE l.length + $5::bigint <= $6";
const POP: &str = "SELECT change_list(l.id, l.length - 1, '{}', '{}', '{}', w.version, l.expires_at), i.body, w.version \
     FROM (SELECT nextval('counter') AS version) w, (SELECT id, length, expires_at FROM value \
     WHERE space = $1 AND name = $2 AND body IS NULL AND (expires_at IS NULL OR expires_at > batch_time()) \
     FOR UPDATE) l JOIN item i ON i.list_id = l.id AND i.pos = l.length - 1";
/// A sweep takes no other lock: it must not come between a condition and the change.
const HOLD: &str = "SELECT 1 FROM value WHERE space = $1 AND name = $2 FOR UPDATE";

/// Whether the server can do an operation whatever the value is.
pub(super) fn is_blind(op: &Operation) -> bool {
    matches!(
        op,
        Operation::Set(_) | Operation::Del | Operation::Renew { .. } | Operation::Acquire { .. }
    )
}

/// The statements of an operation that the server can do whatever the value is.
pub(super) fn statements(write: &ValueWrite<'_>) -> Option<Vec<QueuedStatement>> {
    match write.op {
        Operation::Set(value) => Some(vec![set(write, value)]),
        Operation::Del => {
            let outcome = WriteOutcome::applied(OperationOutput::Nothing, None);
            let delete = value::delete(write.key);
            Some(vec![delete.reading(|_| Ok(outcome))])
        }
        Operation::Renew { epoch } => Some(renew(write, *epoch)),
        Operation::Acquire { holder } => Some(vec![acquire(write, holder)?]),
        _ => None,
    }
}

pub(super) fn set(write: &ValueWrite<'_>, value: &StoredValue) -> QueuedStatement {
    let (body, items, epoch) = value::columns(value.clone());
    let (texts, prints) = value::rows_of(&items);
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        write.key.space.tenant.clone(),
        write.key.space.path.clone(),
        body,
        texts,
        prints,
        epoch,
        write.life,
    ];
    QueuedStatement::new(SET, values).reading(|rows| {
        let version = rows.first().map(|row| unsigned(row.get(1)));
        Ok(WriteOutcome::applied(OperationOutput::Nothing, version))
    })
}

fn renew(write: &ValueWrite<'_>, epoch: u64) -> Vec<QueuedStatement> {
    let lease = write.key.name.clone();
    let check = value::check_lease(write.key, epoch);
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        write.life,
    ];
    let renew = QueuedStatement::new(RENEW, values).reading(move |rows| {
        let version = rows.first().map(|row| unsigned(row.get(0)));
        Ok(WriteOutcome::applied(
            OperationOutput::Epoch(epoch),
            version,
        ))
    });
    let hold = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
    ];
    vec![
        QueuedStatement::new(HOLD, hold),
        check.refused(move |_| Error::Fenced { lease, epoch }),
        renew,
    ]
}

/// `None` where the grant cannot be written.
fn acquire(write: &ValueWrite<'_>, holder: &str) -> Option<QueuedStatement> {
    let grant = LeaseGrant {
        holder: holder.to_owned(),
        epoch: 0,
    };
    let grant = Json::of(&grant).ok()?;
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        write.key.space.tenant.clone(),
        write.key.space.path.clone(),
        grant.as_str().strip_suffix("0}")?.to_owned(),
        write.life,
    ];
    let (name, op) = (write.key.name.clone(), write.op.clone());
    let sql = "SELECT acquire($1, $2, $3, $4, $5, $6)";
    let call = QueuedStatement::new(sql, values).refused(move |found| {
        let found = StoredValue::from(Json::stored(found));
        // One's own grant may have been spelled in another way.
        let judged = op.apply(&name, Some(found), 0).err();
        judged.map_or(TransactionError::Unseen, TransactionError::Refused)
    });
    Some(call.reading(|rows| {
        let epoch = unsigned(one(rows)?.get(0));
        Ok(WriteOutcome::applied(
            OperationOutput::Epoch(epoch),
            Some(epoch),
        ))
    }))
}

/// Whether the only write of a batch is a step.
pub(super) fn is_step(batch: &Batch) -> bool {
    let [BatchWrite::Apply { op, .. }] = batch.writes.as_slice() else {
        return false;
    };
    match op {
        Operation::Incr(delta) => delta
            .as_i64()
            .is_some_and(|delta| (-MAX_SAFE..=MAX_SAFE).contains(&delta)),
        Operation::Push(items) => !items.is_empty(),
        Operation::Pop => true,
        _ => false,
    }
}

/// The statement of a batch whose only write is a step. Its outcome is `Done` where it has done nothing.
pub(super) fn step(batch: &Batch) -> Option<QueuedStatement> {
    let [BatchWrite::Apply { key, op, life }] = batch.writes.as_slice() else {
        return None;
    };
    if !is_step(batch) {
        return None;
    }
    let life = *life;
    let write = ValueWrite { key, op, life };
    match op {
        Operation::Incr(delta) => Some(incr(&write, delta.as_i64()?)),
        Operation::Push(items) => Some(push(&write, items)),
        Operation::Pop => Some(pop(&write)),
        _ => None,
    }
}

fn incr(write: &ValueWrite<'_>, delta: i64) -> QueuedStatement {
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        write.key.space.tenant.clone(),
        write.key.space.path.clone(),
        delta,
        write.life,
        MAX_SAFE,
    ];
    let output = |row: &Row| OperationOutput::Number(Json::stored(row.get::<_, String>(0)));
    QueuedStatement::new(INCR, values).reading(move |rows| outcome(rows, 1, output))
}

fn push(write: &ValueWrite<'_>, items: &[Json]) -> QueuedStatement {
    let (texts, prints) = value::rows_of(items);
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        texts,
        prints,
        signed(items.len() as u64),
        signed(MAX_LIST),
    ];
    let output = |row: &Row| OperationOutput::Length(unsigned(row.get(1)));
    QueuedStatement::new(PUSH, values).reading(move |rows| outcome(rows, 2, output))
}

fn pop(write: &ValueWrite<'_>) -> QueuedStatement {
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
    ];
    let output = |row: &Row| {
        let item = Json::stored(row.get::<_, String>(1));
        OperationOutput::Taken(Some(item.into()))
    };
    QueuedStatement::new(POP, values).reading(move |rows| outcome(rows, 2, output))
}

/// The outcome that the row tells, if there is one, with the version in this column.
fn outcome(
    rows: &[Row],
    version: usize,
    output: impl Fn(&Row) -> OperationOutput,
) -> Result<WriteOutcome> {
    Ok(match rows.first() {
        Some(row) => WriteOutcome::applied(output(row), Some(unsigned(row.get(version)))),
        None => WriteOutcome::Done,
    })
}
