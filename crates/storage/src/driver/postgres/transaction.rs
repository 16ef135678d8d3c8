//! One transaction in as few network waves as its data dependencies allow: calls are queued, and sent together.

use super::pool_mode::PoolMode;
use super::settings::PostgresSettings;
use super::sql_value::{SqlValue, references, typed};
use super::store::PostgresStore;
use super::tls;
use crate::batch::WriteOutcome;
use crate::quotes::without_quotes;
use crate::{Error, Result};
use deadpool_postgres::Object;
use futures::future::{MaybeDone, maybe_done};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::{Row, Statement};

/// Calls sent at once; a longer queue goes in several waves.
const WAVE: usize = 256;
/// Raised by our own functions when a condition does not hold.
const RAISED: &str = "AMBIT";

type RefusalMapper = Box<dyn FnOnce(&str) -> TransactionError + Send + Sync>;
type OutcomeReader = Box<dyn FnOnce(&[Row]) -> Result<Vec<WriteOutcome>> + Send + Sync>;

/// One statement with its values, and what its answer means.
pub(super) struct QueuedStatement {
    sql: &'static str,
    values: Vec<SqlValue>,
    refusal: Option<RefusalMapper>,
    reading: Option<OutcomeReader>,
    /// The writes whose outcomes are read, by their place in the transaction.
    writes: Vec<usize>,
}

impl QueuedStatement {
    /// A statement whose answer says nothing.
    pub(super) fn new(sql: &'static str, values: Vec<SqlValue>) -> Self {
        Self {
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

    /// The outcome of the write that this is, made from the rows.
    pub(super) fn reading(
        mut self,
        outcome: impl FnOnce(&[Row]) -> Result<WriteOutcome> + Send + Sync + 'static,
    ) -> Self {
        self.reading = Some(Box::new(move |rows: &[Row]| Ok(vec![outcome(rows)?])));
        self
    }

    /// The outcomes of these writes, made from the rows.
    pub(super) fn reading_all(
        mut self,
        writes: Vec<usize>,
        outcomes: impl FnOnce(&[Row]) -> Result<Vec<WriteOutcome>> + Send + Sync + 'static,
    ) -> Self {
        self.writes = writes;
        self.reading = Some(Box::new(outcomes));
        self
    }
}

/// Why a transaction ended early.
pub(super) enum TransactionError {
    Refused(Error),
    /// The server cannot judge the batch by itself: what is there must be looked at. Nothing has changed.
    Unseen,
    /// The server or the way to it failed.
    Failed(tokio_postgres::Error),
    /// There is no connection to be had; nothing was begun.
    Unreached(Error),
    /// The answer cannot be understood; what it answers may have been committed.
    Unreadable(Error),
}

impl From<Error> for TransactionError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<tokio_postgres::Error> for TransactionError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Failed(error)
    }
}

impl TransactionError {
    /// True where the same batch may succeed when it is tried again: it lost a race, and changed nothing.
    pub(super) fn is_lost_race(&self) -> bool {
        let Self::Failed(error) = self else {
            return false;
        };
        [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::UNIQUE_VIOLATION,
            SqlState::FOREIGN_KEY_VIOLATION,
        ]
        .iter()
        .any(|state| error.code() == Some(state))
    }

    /// True where it is certain that nothing was committed: the server took everything back, and said so.
    pub(super) fn is_taken_back(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Unseen => true,
            Self::Failed(error) => error
                .as_db_error()
                .is_some_and(|db| db.parsed_severity() == Some(Severity::Error)),
            Self::Unreadable(_) | Self::Unreached(_) => false,
        }
    }

    pub(super) fn error(self, settings: &PostgresSettings) -> Error {
        match self {
            Self::Refused(error) | Self::Unreadable(error) | Self::Unreached(error) => error,
            Self::Unseen => Error::internal("a batch was not judged on what is stored"),
            Self::Failed(error) => failed(settings, error),
        }
    }
}

fn refused(error: tokio_postgres::Error, refusal: Option<RefusalMapper>) -> TransactionError {
    let found = error.as_db_error().filter(|db| db.code().code() == RAISED);
    match (found, refusal) {
        (Some(found), Some(refusal)) => refusal(found.message()),
        _ => error.into(),
    }
}

/// A client's error with its cause: on its own it only says "db error".
#[derive(Debug, thiserror::Error)]
#[error("{error}{}", cause(error))]
pub(super) struct ServerError {
    error: tokio_postgres::Error,
}

fn cause(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(db), _) => {
            let code = db.code().code();
            // What the server says of a value quotes it.
            let message = match code.starts_with("22") {
                true => without_quotes(db.message()),
                false => db.message().to_owned(),
            };
            format!(": {message} ({code})")
        }
        (None, Some(source)) => match tls::advice(source) {
            Some(advice) => format!(": {source}; {advice}"),
            None => format!(": {source}"),
        },
        (None, None) => String::new(),
    }
}

/// What a failure of the server means.
pub(super) fn failed(settings: &PostgresSettings, error: tokio_postgres::Error) -> Error {
    match error.code() {
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => Error::busy(
            settings.name.clone(),
            "another writer keeps its lock for more than 30 s",
        ),
        Some(code) if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            Error::corrupt(settings.name.clone(), ServerError { error })
        }
        _ => Error::unavailable(settings.name.clone(), ServerError { error }),
    }
}

/// A transaction. Dropped before its end, it takes its connection along, so that the server rolls it back.
pub(super) struct PostgresTransaction {
    client: Option<Object>,
    mode: PoolMode,
    queue: Vec<QueuedStatement>,
    outcomes: Vec<WriteOutcome>,
    /// The write that statements are queued for, by its place.
    write: usize,
}

impl PostgresTransaction {
    /// Queues the beginning of a transaction of so many writes.
    pub(super) fn begin(store: &PostgresStore, client: Object, writes: usize) -> Self {
        let queue = store.beginning().into_iter();
        Self {
            client: Some(client),
            mode: store.mode,
            queue: queue
                .map(|(sql, values)| QueuedStatement::new(sql, values))
                .collect(),
            outcomes: vec![WriteOutcome::Done; writes],
            write: 0,
        }
    }

    /// What is queued from here on is for the write at this place.
    pub(super) fn turn_to(&mut self, write: usize) {
        self.write = write;
    }

    pub(super) fn queue(&mut self, mut call: QueuedStatement) {
        if call.reading.is_some() && call.writes.is_empty() {
            call.writes.push(self.write);
        }
        self.queue.push(call);
    }

    /// The outcome of the present write, which no statement tells.
    pub(super) fn done(&mut self, outcome: WriteOutcome) {
        self.set_outcome(self.write, outcome);
    }

    fn set_outcome(&mut self, write: usize, outcome: WriteOutcome) {
        if let Some(place) = self.outcomes.get_mut(write) {
            *place = outcome;
        }
    }

    /// How many statements are queued.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Forgets the statements that were queued behind so many.
    pub(super) fn forget_behind(&mut self, queued: usize) {
        self.queue.truncate(queued);
    }

    /// Sends what is queued and this statement; gives its rows.
    pub(super) async fn ask(
        &mut self,
        call: QueuedStatement,
    ) -> Result<Vec<Row>, TransactionError> {
        let mut answers = self.ask_all(vec![call]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Sends what is queued and these statements; gives the rows of each of these.
    pub(super) async fn ask_all(
        &mut self,
        calls: Vec<QueuedStatement>,
    ) -> Result<Vec<Vec<Row>>, TransactionError> {
        let before = self.queue.len();
        self.queue.extend(calls);
        let mut answers = self.flush().await?;
        Ok(answers.split_off(before))
    }

    /// Sends what is queued; gives the rows of each statement.
    pub(super) async fn flush(&mut self) -> Result<Vec<Vec<Row>>, TransactionError> {
        let mut answers = Vec::new();
        let mut queue = std::mem::take(&mut self.queue).into_iter();
        loop {
            let wave: Vec<QueuedStatement> = queue.by_ref().take(WAVE).collect();
            if wave.is_empty() {
                return Ok(answers);
            }
            answers.extend(self.send(wave).await?);
        }
    }

    async fn send(
        &mut self,
        wave: Vec<QueuedStatement>,
    ) -> Result<Vec<Vec<Row>>, TransactionError> {
        let Some(client) = &self.client else {
            let what = "a transaction goes on behind its end".to_owned();
            return Err(Error::Internal { what }.into());
        };
        let mut statements = Vec::with_capacity(wave.len());
        for call in &wave {
            statements.push(match self.mode {
                PoolMode::Session => Some(client.prepare_cached(call.sql).await?),
                PoolMode::Transaction => None,
            });
        }
        let sent = wave
            .iter()
            .zip(&statements)
            .map(|(call, statement)| query(client, statement.as_ref(), call))
            .collect();
        tracing::trace!(statements = wave.len(), "a wave of statements");
        let answers = in_order(sent).await;
        let mut all = Vec::with_capacity(wave.len());
        let mut readings = Vec::new();
        for (call, answer) in wave.into_iter().zip(answers) {
            let rows = answer.map_err(|error| refused(error, call.refusal))?;
            if let Some(reading) = call.reading {
                readings.push((call.writes, reading(&rows)));
            }
            all.push(rows);
        }
        // Behind all that the server may have refused.
        for (writes, outcomes) in readings {
            let outcomes = outcomes.map_err(TransactionError::Unreadable)?;
            for (write, outcome) in writes.into_iter().zip(outcomes) {
                self.set_outcome(write, outcome);
            }
        }
        Ok(all)
    }

    /// Sends the rest and the end; gives the outcomes of the writes.
    pub(super) async fn commit(&mut self) -> Result<Vec<WriteOutcome>, TransactionError> {
        self.ask(QueuedStatement::new("COMMIT", Vec::new())).await?;
        self.client.take();
        Ok(std::mem::take(&mut self.outcomes))
    }

    /// Takes everything back and keeps the connection for others.
    pub(super) async fn roll_back(mut self) {
        let Some(client) = &self.client else { return };
        if client.batch_execute("ROLLBACK").await.is_ok() {
            self.client.take();
        }
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

async fn query(
    client: &Object,
    statement: Option<&Statement>,
    call: &QueuedStatement,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    match statement {
        Some(statement) => client.query(statement, &references(&call.values)).await,
        None => client.query_typed(call.sql, &typed(&call.values)).await,
    }
}

/// Polls the futures strictly in this order at first, because that is the order in which their statements are sent. The
/// answers come in the same order.
pub(super) async fn in_order<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut waiting: Vec<Pin<Box<MaybeDone<F>>>> = futures
        .into_iter()
        .map(|future| Box::pin(maybe_done(future)))
        .collect();
    poll_fn(|context| {
        for future in &mut waiting {
            let _ = future.as_mut().poll(context);
        }
        Poll::Ready(())
    })
    .await;
    let mut answers = Vec::with_capacity(waiting.len());
    for future in &mut waiting {
        future.as_mut().await;
        answers.extend(future.as_mut().take_output());
    }
    answers
}
