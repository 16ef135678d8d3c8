//! Models in a PostgreSQL database, in a schema of their own.

mod address;
mod cell;

use super::{
    AccessMode, Database, QUERY_TIME, SqlDialect, SqlRow, SqlStatement, Transaction, failure,
    row_bytes,
};
use crate::error::{Error, Result};
use address::PostgresAddress;
use ambit_storage::driver::postgres::{PoolMode, PostgresServer};
use async_trait::async_trait;
use cell::{PostgresCell, PostgresParameter};
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
    Timeouts,
};
use failure::RowRefusal;
use futures::{FutureExt, TryStreamExt};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Statement;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::types::{ToSql, Type};

/// No two nodes work on the schema and its tables at the same time.
pub const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('ambit models', 0))";

/// Lets the statements of a transaction take as long as they need: an index of a large table is made in minutes.
pub const WITHOUT_TIME_LIMIT: &str = "SET LOCAL statement_timeout TO 0";

/// Connections at the same time.
const POOL: usize = 8;
/// Statements that a connection keeps prepared: callers can ask for any number of different ones.
const STATEMENTS: usize = 256;
/// How long a caller waits for a free connection.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An open database.
pub struct PostgresDatabase {
    pool: Pool,
    mode: PoolMode,
    /// What a transaction does behind its `BEGIN`.
    beginning: Arc<str>,
    name: Arc<str>,
}

impl PostgresDatabase {
    /// Opens the database of a store's URL, and makes the schema if it is not there.
    pub async fn open(url: &str) -> Result<Self> {
        let address = PostgresAddress::parse(url)?;
        let recycling_method = RecyclingMethod::Fast;
        let config = ManagerConfig { recycling_method };
        let server = address.server;
        let mode = pool_mode(&server, &address.name).await?;
        let manager = Manager::from_config(server.config, server.tls, config);
        // A connection that is lent for a transaction keeps nothing.
        let (setup, beginning) = match mode {
            PoolMode::Session => (settings("SET", &address.schema), String::new()),
            PoolMode::Transaction => (String::new(), settings("SET LOCAL", &address.schema)),
        };
        let hook = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let setup = setup.clone();
            Box::pin(async move {
                let done = client.batch_execute(&setup).await;
                done.map_err(HookError::Backend)
            })
        });
        let timeouts = Timeouts {
            wait: Some(TIMEOUT),
            create: None,
            recycle: Some(TIMEOUT),
        };
        let pool = Pool::builder(manager)
            .max_size(POOL)
            .timeouts(timeouts)
            .post_create(hook)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| failure::unavailable(&address.name, error))?;
        let database = Self {
            pool,
            mode,
            beginning: beginning.into(),
            name: address.name.into(),
        };
        database.make_schema(&address.schema).await?;
        Ok(database)
    }

    /// Two nodes that start at once would both find no schema.
    async fn make_schema(&self, schema: &str) -> Result<()> {
        let mut transaction = self.begin(AccessMode::Write).await?;
        transaction.rows(LOCK.to_owned().into()).await?;
        let exists = format!("SELECT to_regnamespace('{schema}') IS NOT NULL");
        let exists = transaction.rows(exists.into()).await?;
        if exists != [[super::SqlCell::Integer(1)]] {
            let make = format!("CREATE SCHEMA {schema}");
            transaction.run(make.into()).await?;
        }
        transaction.commit().await
    }

    /// A connection with a transaction that writes.
    async fn writing(&self) -> Result<Object> {
        let mut is_repeated = false;
        loop {
            let client = self.connection().await?;
            let begin = format!("BEGIN ISOLATION LEVEL READ COMMITTED;{}", self.beginning);
            match client.batch_execute(&begin).await {
                Ok(()) => return Ok(client),
                // A connection that has died while nobody used it.
                Err(error) if error.is_closed() && !is_repeated => is_repeated = true,
                Err(error) => return Err(failed(&self.name, error)),
            }
        }
    }

    async fn connection(&self) -> Result<Object> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                failed(&self.name, error)
            }
            PoolError::Closed => failure::closed(&self.name),
            other => failure::unavailable(&self.name, other),
        })
    }
}

#[async_trait]
impl Database for PostgresDatabase {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Postgres
    }

    async fn begin(&self, access: AccessMode) -> Result<Box<dyn Transaction>> {
        let client = match access {
            AccessMode::Read => {
                let client = self.connection().await?;
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                send_unanswered(&client, &format!("{begin};{}", self.beginning));
                client
            }
            AccessMode::Write => self.writing().await?,
        };
        Ok(Box::new(PostgresTransaction {
            client: Some(client),
            mode: self.mode,
            name: Arc::clone(&self.name),
            is_reading: access == AccessMode::Read,
        }))
    }

    async fn close(&self) -> Result<()> {
        self.pool.close();
        Ok(())
    }
}

/// A transaction and its connection.
struct PostgresTransaction {
    client: Option<Object>,
    mode: PoolMode,
    name: Arc<str>,
    /// Whether it changes nothing.
    is_reading: bool,
}

impl PostgresTransaction {
    fn failed(&self, error: tokio_postgres::Error) -> Error {
        if error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)
            && let Some(client) = &self.client
        {
            client.statement_cache.clear();
        }
        failed(&self.name, error)
    }

    fn client(&self) -> Result<&Object> {
        self.client
            .as_ref()
            .ok_or_else(|| failure::closed(&self.name))
    }
}

#[async_trait]
impl Transaction for PostgresTransaction {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Postgres
    }

    async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        let client = self.client()?;
        let given: Vec<PostgresParameter> =
            statement.values.iter().map(PostgresParameter::of).collect();
        let answer = async {
            let rows = match self.mode {
                PoolMode::Session => {
                    let prepared = prepared(client, &statement.sql).await?;
                    client.query_raw(&prepared, references(&given)).await?
                }
                PoolMode::Transaction => {
                    let given = untyped(&given);
                    client.query_typed_raw(&statement.sql, given).await?
                }
            };
            let mut rows = pin!(rows);
            let (mut found, mut bytes) = (Vec::new(), 0_u64);
            while bytes <= statement.most_bytes
                && let Some(row) = rows.try_next().await?
            {
                let cells = (0..row.len()).map(|at| row.try_get::<_, PostgresCell>(at));
                let cells = cells.map(|cell| cell.map(|PostgresCell(cell)| cell));
                let row = cells.collect::<std::result::Result<SqlRow, _>>()?;
                bytes = bytes.saturating_add(row_bytes(&row));
                found.push(row);
            }
            Ok(found)
        };
        let answer: std::result::Result<_, tokio_postgres::Error> = answer.await;
        answer.map_err(|error| self.failed(error))
    }

    async fn run(&mut self, statement: SqlStatement) -> Result<u64> {
        let client = self.client()?;
        let given: Vec<PostgresParameter> =
            statement.values.iter().map(PostgresParameter::of).collect();
        let answer = async {
            match self.mode {
                PoolMode::Session => {
                    let prepared = prepared(client, &statement.sql).await?;
                    client.execute(&prepared, &references(&given)).await
                }
                PoolMode::Transaction => {
                    client.execute_typed(&statement.sql, &untyped(&given)).await
                }
            }
        };
        let answer = answer.await;
        answer.map_err(|error| self.failed(error))
    }

    async fn commit(mut self: Box<Self>) -> Result<()> {
        if self.is_reading {
            send_unanswered(self.client()?, "COMMIT");
            drop(self.client.take());
            return Ok(());
        }
        let done = self.client()?.batch_execute("COMMIT").await;
        done.map_err(|error| failed(&self.name, error))?;
        // The connection is clean: back to the others.
        drop(self.client.take());
        Ok(())
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Nobody can wait for the undoing here; the server undoes what a closed connection leaves.
            drop(Object::take(client));
        }
    }
}

/// What is set on every connection, or in every transaction on one that is lent.
fn settings(set: &str, schema: &str) -> String {
    let settings = [
        &format!("search_path TO {schema}"),
        "TIME ZONE 'UTC'",
        "lock_timeout TO '30s'",
        &format!("statement_timeout TO {}", QUERY_TIME.as_millis()),
        "jit TO off",
        "idle_in_transaction_session_timeout TO '60s'",
        "client_min_messages TO error",
    ];
    settings.map(|setting| format!("{set} {setting};")).concat()
}

/// Whether connections of the server are one's own, or lent by a proxy.
async fn pool_mode(server: &PostgresServer, name: &str) -> Result<PoolMode> {
    let connecting = server.config.connect(server.tls.clone());
    let (client, connection) = connecting.await.map_err(|error| failed(name, error))?;
    let asking = async move { server.pool_mode(&client).await };
    let (mode, _) = tokio::join!(asking, connection);
    mode.map_err(|error| failed(name, error))
}

/// A statement that the connection keeps, with a few hundred others.
async fn prepared(
    client: &Object,
    sql: &str,
) -> std::result::Result<Statement, tokio_postgres::Error> {
    if client.statement_cache.size() >= STATEMENTS {
        client.statement_cache.clear();
    }
    client.prepare_cached(sql).await
}

/// Values whose types the server finds by where they stand, as it does for a statement that is prepared.
fn untyped(given: &[PostgresParameter]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    let references = references(given).into_iter();
    references.map(|it| (it, Type::UNKNOWN)).collect()
}

fn references(given: &[PostgresParameter]) -> Vec<&(dyn ToSql + Sync)> {
    let references = given.iter().map(|it| it as &(dyn ToSql + Sync));
    references.collect()
}

/// Sends what needs no answer: the server does things in their order, and what follows would fail with it. It saves readers a
/// round trip each time.
fn send_unanswered(client: &Object, sql: &str) {
    drop(client.batch_execute(sql).now_or_never());
}

/// What a failure means.
fn failed(name: &str, error: tokio_postgres::Error) -> Error {
    let Some(cause) = error.as_db_error() else {
        return match error.is_closed() || std::error::Error::source(&error).is_some_and(is_outside)
        {
            true => failure::unavailable(name, error),
            false => failure::statement_refused(name, error),
        };
    };
    let state = cause.code();
    if *state == SqlState::UNIQUE_VIOLATION {
        // `Key (name, owner)=(Rex, 1) already exists.`: the values are somebody else's.
        let detail = cause.detail().unwrap_or_default();
        let columns = detail
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(")="));
        return failure::unique_violation(columns.map_or("key", |(columns, _)| columns));
    }
    if *state == SqlState::NOT_NULL_VIOLATION {
        return failure::not_null_violation(cause.column().unwrap_or_default());
    }
    if *state == SqlState::QUERY_CANCELED {
        return failure::timed_out();
    }
    let stated = stated(cause);
    match state.code().get(..2) {
        Some("22" | "23") => failure::row_refused(refusal(state), &stated),
        // `0A`: a table was changed under a statement that was prepared before.
        Some("40" | "0A") => failure::write_conflict(),
        Some("08" | "53" | "55" | "57" | "58") => {
            failure::unavailable(name, io::Error::other(stated))
        }
        _ => failure::statement_refused(name, io::Error::other(stated)),
    }
}

fn refusal(state: &SqlState) -> RowRefusal {
    match state.code() {
        "22001" => RowRefusal::TooLong,
        "22003" | "22008" => RowRefusal::OutOfRange,
        "23001" | "23503" => RowRefusal::Reference,
        code if code.starts_with("23") => RowRefusal::Rule,
        _ => RowRefusal::WrongKind,
    }
}

/// The state and the names that the server gives, without its words.
fn stated(cause: &DbError) -> String {
    let names = [
        ("table", cause.table()),
        ("column", cause.column()),
        ("type", cause.datatype()),
        ("constraint", cause.constraint()),
    ];
    let names = names.into_iter();
    let names = names.filter_map(|(what, name)| Some(format!(", {what} \"{}\"", name?)));
    let names: String = names.collect();
    format!("state {} of PostgreSQL{names}", cause.code().code())
}

fn is_outside(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<io::Error>()
}
