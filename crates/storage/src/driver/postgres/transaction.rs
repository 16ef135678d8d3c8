//! One transaction in as few network waves as its data dependencies allow: calls are queued, and sent together.

use super::compose::{self, ComposeMode, ComposedStatement};
use super::pool_mode::PoolMode;
use super::settings::PostgresSettings;
use super::sql_value::{references, typed};
use super::statement::{Answer, QueuedStatement};
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
/// Statements that a connection keeps prepared: far more than there usually are.
const MOST_PREPARED: usize = 256;
/// Raised by our own functions when a condition does not hold.
const RAISED: &str = "AMBIT";

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

/// What an error means that a statement of these parts was answered with.
fn refused(error: tokio_postgres::Error, statement: ComposedStatement) -> TransactionError {
    let Some(found) = error.as_db_error().filter(|db| db.code().code() == RAISED) else {
        return error.into();
    };
    let mut refusals = statement.parts.into_iter().filter_map(|part| part.refusal);
    match (refusals.next(), refusals.next()) {
        (Some(refusal), None) => refusal(found.message()),
        // Which of them it was shows where they are sent one by one.
        (Some(_), Some(_)) => TransactionError::Unseen,
        (None, _) => error.into(),
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
    composing: ComposeMode,
    /// What it begins with, until that is sent.
    beginning: Vec<QueuedStatement>,
    queue: Vec<QueuedStatement>,
    outcomes: Vec<WriteOutcome>,
    /// The write that statements are queued for, by its place.
    write: usize,
}

impl PostgresTransaction {
    /// Begins a transaction of so many writes, as soon as something is sent.
    pub(super) fn begin(
        store: &PostgresStore,
        client: Object,
        writes: usize,
        composing: ComposeMode,
    ) -> Self {
        let beginning = store.beginning().into_iter();
        Self {
            client: Some(client),
            mode: store.mode,
            composing,
            beginning: beginning
                .map(|(sql, values)| QueuedStatement::query(sql, values))
                .collect(),
            queue: Vec::new(),
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

    /// Sends what is queued and these queries; gives the rows of each query.
    pub(super) async fn ask_all(
        &mut self,
        queries: Vec<QueuedStatement>,
    ) -> Result<Vec<Vec<Row>>, TransactionError> {
        let count = queries.len();
        self.queue.extend(queries);
        let mut answers = self.flush().await?;
        Ok(answers.split_off(answers.len().saturating_sub(count)))
    }

    /// Sends what is queued; gives the rows of each statement that was made of it.
    pub(super) async fn flush(&mut self) -> Result<Vec<Vec<Row>>, TransactionError> {
        let mut queue = std::mem::take(&mut self.beginning);
        queue.append(&mut self.queue);
        self.send_all(compose::compose(queue, self.composing)).await
    }

    async fn send_all(
        &mut self,
        statements: Vec<ComposedStatement>,
    ) -> Result<Vec<Vec<Row>>, TransactionError> {
        let mut answers = Vec::with_capacity(statements.len());
        let mut statements = statements.into_iter();
        loop {
            let wave: Vec<ComposedStatement> = statements.by_ref().take(WAVE).collect();
            if wave.is_empty() {
                return Ok(answers);
            }
            answers.extend(self.send(wave).await?);
        }
    }

    async fn send(
        &mut self,
        wave: Vec<ComposedStatement>,
    ) -> Result<Vec<Vec<Row>>, TransactionError> {
        let Some(client) = &self.client else {
            let what = "a transaction goes on behind its end".to_owned();
            return Err(Error::Internal { what }.into());
        };
        if client.statement_cache.size() > MOST_PREPARED {
            client.statement_cache.clear();
        }
        let texts: Vec<_> = wave.iter().map(ComposedStatement::sql).collect();
        let mut prepared = Vec::with_capacity(wave.len());
        for sql in &texts {
            prepared.push(match self.mode {
                PoolMode::Session => Some(client.prepare_cached(sql).await?),
                PoolMode::Transaction => None,
            });
        }
        let sent = wave.iter().zip(&texts).zip(&prepared);
        let sent = sent
            .map(|((statement, sql), prepared)| query(client, prepared.as_ref(), sql, statement))
            .collect();
        tracing::trace!(statements = wave.len(), "a wave of statements");
        let answers = in_order(sent).await;
        let mut rows_of_each = Vec::with_capacity(wave.len());
        let mut readings = Vec::new();
        for (statement, answer) in wave.into_iter().zip(answers) {
            let rows = match answer {
                Ok(rows) => rows,
                Err(error) => return Err(refused(error, statement)),
            };
            for (column, part) in statement.into_columns() {
                if let Some(reading) = part.reading {
                    let answer = Answer {
                        rows: &rows,
                        column,
                    };
                    readings.push((part.writes, reading(&answer)));
                }
            }
            rows_of_each.push(rows);
        }
        // Behind all that the server may have refused.
        for (writes, outcomes) in readings {
            let outcomes = outcomes.map_err(TransactionError::Unreadable)?;
            for (write, outcome) in writes.into_iter().zip(outcomes) {
                self.set_outcome(write, outcome);
            }
        }
        Ok(rows_of_each)
    }

    /// Sends the rest and the end; gives the outcomes of the writes.
    pub(super) async fn commit(&mut self) -> Result<Vec<WriteOutcome>, TransactionError> {
        let mut rest = compose::compose(std::mem::take(&mut self.queue), self.composing);
        // A statement alone is a transaction by itself, unless settings of the transaction must go in front of it.
        let is_unsent = !self.beginning.is_empty();
        let is_whole = is_unsent && rest.len() == 1 && self.mode == PoolMode::Session;
        if !is_whole {
            let beginning = std::mem::take(&mut self.beginning).into_iter();
            rest.splice(0..0, beginning.map(ComposedStatement::of));
            let end = QueuedStatement::query("COMMIT", Vec::new());
            rest.push(ComposedStatement::of(end));
        }
        self.send_all(rest).await?;
        self.client.take();
        Ok(std::mem::take(&mut self.outcomes))
    }

    /// Takes everything back and keeps the connection for others.
    pub(super) async fn roll_back(mut self) {
        let Some(client) = &self.client else { return };
        // Where the beginning was not sent, nothing is open.
        if !self.beginning.is_empty() || client.batch_execute("ROLLBACK").await.is_ok() {
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
    prepared: Option<&Statement>,
    sql: &str,
    statement: &ComposedStatement,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let values = statement.values();
    match prepared {
        Some(prepared) => client.query(prepared, &references(values)).await,
        None => client.query_typed(sql, &typed(values)).await,
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
