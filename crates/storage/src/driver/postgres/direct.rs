//! Operations that the server does without showing the value first, so that a batch of them is one wave.
//!
//! Some do not depend on the value, or only on whose lease it is. Others, the steps, are done here as long as it is what
//! it mostly is – a whole number, a list that is there – and else not at all: then nothing has changed, and the batch is
//! done again with a look at the value. So these must be alone in their batch.

use super::locks;
use super::log::{signed, unsigned};
use super::sql_value::bind;
use super::statement::{Answer, QueuedStatement};
use super::transaction::TransactionError;
use super::value::{self, ValueWrite};
use super::write::JudgedBy;
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::json::{Json, StoredValue};
use crate::operation::{LeaseGrant, MAX_LIST, MAX_SAFE, Operation, OperationOutput};
use crate::{Error, Result};
use std::collections::BTreeMap;

const SET: &str = "(SELECT w.version FROM (SELECT nextval('counter') AS version) w, \
     LATERAL store_value($1, $2, $3, $4, $5, $6, $7, w.version, end_of_life($9), $8))";
const RENEW: &str = "UPDATE value SET expires_at = end_of_life($3) WHERE space = $1 AND name = $2 RETURNING version";
/// A sweep takes no other lock: it must not come between a condition and the change.
const HOLD: &str = "SELECT 1 FROM value WHERE space = $1 AND name = $2 FOR UPDATE";

/// Whether the server can do an operation without a look at the value here. Where a lease or a sum is spelled in another way than
/// the server spells it, that refuses, and the client judges.
pub(super) fn is_blind(op: &Operation, judge: JudgedBy) -> bool {
    match op {
        Operation::Set(_) | Operation::Del | Operation::Renew { .. } => true,
        _ if judge == JudgedBy::Client => false,
        Operation::Acquire { .. } | Operation::Release { .. } => true,
        // No text of the server's can hold U+0000.
        Operation::Tally { add, .. } => {
            !add.is_empty() && !add.keys().any(|name| name.contains('\0'))
        }
        _ => false,
    }
}

/// The statements of such an operation.
pub(super) fn statements(write: &ValueWrite<'_>) -> Option<Vec<QueuedStatement>> {
    match write.op {
        Operation::Set(value) => Some(vec![set(write, value)]),
        Operation::Del => Some(vec![value::delete(write.key).reading(removed)]),
        Operation::Renew { epoch } => Some(renew(write, *epoch)),
        Operation::Acquire { holder } => Some(vec![acquire(write, holder)?]),
        Operation::Release { epoch } => Some(vec![release(write, *epoch)]),
        Operation::Tally { labels, add } => Some(vec![tally(write, labels, add)]),
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
    QueuedStatement::write(SET, values).reading(versioned)
}

fn renew(write: &ValueWrite<'_>, epoch: u64) -> Vec<QueuedStatement> {
    let lease = write.key.name.clone();
    let check = value::check_lease(write.key, epoch);
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        write.life,
    ];
    let renew = QueuedStatement::query(RENEW, values).reading(move |answer| {
        let version = answer.rows.first().map(|row| unsigned(row.get(0)));
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
        QueuedStatement::query(HOLD, hold),
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
    let call = QueuedStatement::write("acquire($1, $2, $3, $4, $5, $6)", values);
    let call = call.refused(move |found| {
        let found = StoredValue::from(Json::stored(found));
        // One's own grant may have been spelled in another way.
        let judged = op.apply(&name, Some(found), 0).err();
        judged.map_or(TransactionError::Unseen, TransactionError::Refused)
    });
    Some(call.reading(|answer| {
        let epoch = unsigned(answer.value()?);
        Ok(WriteOutcome::applied(
            OperationOutput::Epoch(epoch),
            Some(epoch),
        ))
    }))
}

/// Gives back a lease of this epoch; what else may be there is looked at.
fn release(write: &ValueWrite<'_>, epoch: u64) -> QueuedStatement {
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        signed(epoch),
    ];
    QueuedStatement::write("release($1, $2, $3)", values)
        .refused(|_| TransactionError::Unseen)
        .reading(removed)
}

/// Adds to a row of sums.
fn tally(write: &ValueWrite<'_>, labels: &Json, add: &BTreeMap<String, i64>) -> QueuedStatement {
    let (names, numbers): (Vec<String>, Vec<i64>) = add.clone().into_iter().unzip();
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        write.key.space.tenant.clone(),
        write.key.space.path.clone(),
        labels.as_str().to_owned(),
        names,
        numbers,
        write.life,
    ];
    QueuedStatement::write("tally($1, $2, $3, $4, $5, $6, $7, $8)", values)
        .refused(|_| TransactionError::Unseen)
        .reading(versioned)
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
    let call = QueuedStatement::write("add_number($1, $2, $3, $4, $5, $6, $7)", values);
    call.reading(|answer| {
        step_outcome(answer, |number| {
            OperationOutput::Number(Json::stored(number))
        })
    })
}

fn push(write: &ValueWrite<'_>, items: &[Json]) -> QueuedStatement {
    let (texts, prints) = value::rows_of(items);
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
        texts,
        prints,
        signed(MAX_LIST),
    ];
    let call = QueuedStatement::write("push_items($1, $2, $3, $4, $5)", values);
    call.reading(|answer| {
        let done = answer.value::<Option<Vec<i64>>>()?;
        Ok(match done.as_deref() {
            Some([length, version]) => {
                let length = OperationOutput::Length(unsigned(*length));
                WriteOutcome::applied(length, Some(unsigned(*version)))
            }
            _ => WriteOutcome::Done,
        })
    })
}

fn pop(write: &ValueWrite<'_>) -> QueuedStatement {
    let values = bind![
        locks::space(&write.key.space),
        write.key.name.clone().into_bytes(),
    ];
    let call = QueuedStatement::write("pop_item($1, $2)", values);
    call.reading(|answer| {
        step_outcome(answer, |item| {
            OperationOutput::Taken(Some(Json::stored(item).into()))
        })
    })
}

/// The outcome of a write that gives its version alone.
fn versioned(answer: &Answer<'_>) -> Result<WriteOutcome> {
    let version = unsigned(answer.value()?);
    Ok(WriteOutcome::applied(
        OperationOutput::Nothing,
        Some(version),
    ))
}

/// The outcome where nothing is left.
fn removed(_: &Answer<'_>) -> Result<WriteOutcome> {
    Ok(WriteOutcome::applied(OperationOutput::Nothing, None))
}

/// The outcome of a step that gives a text and a version, or nothing.
fn step_outcome(
    answer: &Answer<'_>,
    output: impl Fn(&str) -> OperationOutput,
) -> Result<WriteOutcome> {
    let done = answer.value::<Option<Vec<String>>>()?;
    let Some([text, version]) = done.as_deref() else {
        return Ok(WriteOutcome::Done);
    };
    let version = version
        .parse()
        .map_err(|_| Error::internal("a step gave no version"))?;
    Ok(WriteOutcome::applied(output(text), Some(version)))
}
