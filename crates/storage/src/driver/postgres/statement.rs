//! One statement of a transaction with its values, and what its answer means.

use super::log::one;
use super::sql_value::SqlValue;
use super::transaction::TransactionError;
use crate::Result;
use crate::batch::WriteOutcome;
use tokio_postgres::Row;
use tokio_postgres::types::FromSqlOwned;

type RefusalMapper = Box<dyn FnOnce(&str) -> TransactionError + Send + Sync>;
type OutcomeReader = Box<dyn FnOnce(&Answer<'_>) -> Result<Vec<WriteOutcome>> + Send + Sync>;

/// What a statement is, in the order in which one that is put together does them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatementKind {
    /// A whole statement, sent as it is.
    Query,
    /// An expression that takes the locks of a batch.
    Locks,
    /// An expression that fails where a condition does not hold.
    Check,
    /// An expression that does a write.
    Write,
}

/// A statement that waits to be sent.
pub(super) struct QueuedStatement {
    pub(super) kind: StatementKind,
    pub(super) sql: &'static str,
    pub(super) values: Vec<SqlValue>,
    pub(super) refusal: Option<RefusalMapper>,
    pub(super) reading: Option<OutcomeReader>,
    /// The writes whose outcomes are read, by their place in the transaction.
    pub(super) writes: Vec<usize>,
}

/// What the server has answered to a statement.
pub(super) struct Answer<'a> {
    pub(super) rows: &'a [Row],
    /// Where the value of an expression stands.
    pub(super) column: usize,
}

impl Answer<'_> {
    /// The value of an expression.
    pub(super) fn value<T: FromSqlOwned>(&self) -> Result<T> {
        Ok(one(self.rows)?.get(self.column))
    }
}

impl QueuedStatement {
    pub(super) fn query(sql: &'static str, values: Vec<SqlValue>) -> Self {
        Self::of(StatementKind::Query, sql, values)
    }

    pub(super) fn locks(expression: &'static str, values: Vec<SqlValue>) -> Self {
        Self::of(StatementKind::Locks, expression, values)
    }

    pub(super) fn check(expression: &'static str, values: Vec<SqlValue>) -> Self {
        Self::of(StatementKind::Check, expression, values)
    }

    pub(super) fn write(expression: &'static str, values: Vec<SqlValue>) -> Self {
        Self::of(StatementKind::Write, expression, values)
    }

    fn of(kind: StatementKind, sql: &'static str, values: Vec<SqlValue>) -> Self {
        Self {
            kind,
            sql,
            values,
            refusal: None,
            reading: None,
            writes: Vec::new(),
        }
    }

    /// The error to give when the statement raises a failed condition, made from what it found.
    pub(super) fn refused<E: Into<TransactionError>>(
        mut self,
        error: impl FnOnce(&str) -> E + Send + Sync + 'static,
    ) -> Self {
        self.refusal = Some(Box::new(move |found: &str| error(found).into()));
        self
    }

    /// The outcome of the write that this is, made from the answer.
    pub(super) fn reading(
        mut self,
        outcome: impl FnOnce(&Answer<'_>) -> Result<WriteOutcome> + Send + Sync + 'static,
    ) -> Self {
        self.reading = Some(Box::new(move |answer| Ok(vec![outcome(answer)?])));
        self
    }

    /// The outcomes of these writes, made from the answer.
    pub(super) fn reading_all(
        mut self,
        writes: Vec<usize>,
        outcomes: impl FnOnce(&Answer<'_>) -> Result<Vec<WriteOutcome>> + Send + Sync + 'static,
    ) -> Self {
        self.writes = writes;
        self.reading = Some(Box::new(outcomes));
        self
    }
}
