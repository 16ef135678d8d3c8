//! Connections that read. A query runs where it is asked for while it is short, and changes no thread; one that is not runs
//! once more on a thread that may block.

use super::connection::{BUSY_TIMEOUT, change, connect, query};
use super::failed;
use super::pool::PoolLease;
use crate::error::Result;
use crate::lock::lock;
use crate::model::database::{
    AccessMode, QUERY_TIME, SqlDialect, SqlRow, SqlStatement, Transaction, failure,
};
use async_trait::async_trait;
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a query may hold the thread that asks.
const SHORT_QUERY: Duration = Duration::from_millis(1);

/// Steps of SQLite's virtual machine, some microseconds of them, after which it looks whether it must stop.
const STEPS: i32 = 200;

/// One connection that reads.
pub struct SqliteReader {
    connection: Mutex<Connection>,
    deadline: Arc<QueryDeadline>,
}

impl SqliteReader {
    /// Opens connections to a file.
    pub async fn open(path: &Path, count: usize, name: &str) -> Result<Vec<Self>> {
        let path = path.to_owned();
        let open = move || {
            let readers = (0..count).map(|_| Self::connect(&path));
            readers.collect::<rusqlite::Result<Vec<Self>>>()
        };
        let opened = spawn_blocking(open).await;
        let opened = opened.map_err(|_| failure::closed(name))?;
        opened.map_err(|error| failed(name, error))
    }

    fn connect(path: &Path) -> rusqlite::Result<Self> {
        let mut connection = connect(Some(path), AccessMode::Read)?;
        // Who finds the file held by others waits on a thread that may block.
        connection.busy_timeout(Duration::ZERO)?;
        let deadline = Arc::new(QueryDeadline::new());
        let watched = Arc::clone(&deadline);
        connection.progress_handler(STEPS, Some(move || watched.is_over()))?;
        Ok(Self {
            connection: Mutex::new(connection),
            deadline,
        })
    }

    /// The connection, in a transaction. The first statement in it decides which state all of them see.
    fn begun(&self) -> rusqlite::Result<MutexGuard<'_, Connection>> {
        let connection = lock(&self.connection);
        if connection.is_autocommit() {
            connection.prepare_cached("BEGIN")?.execute([])?;
        }
        Ok(connection)
    }

    /// The rows of a query, however long it takes, and however long others hold the file.
    fn wait_for(&self, statement: &SqlStatement) -> rusqlite::Result<Vec<SqlRow>> {
        let connection = self.begun()?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let rows = query(&connection, statement);
        connection.busy_timeout(Duration::ZERO)?;
        rows
    }

    /// Ends the transaction, if there is one.
    fn end(&self) -> rusqlite::Result<()> {
        self.deadline.lift();
        let connection = lock(&self.connection);
        if !connection.is_autocommit() {
            connection.prepare_cached("ROLLBACK")?.execute([])?;
        }
        Ok(())
    }
}

/// When a connection must stop what it does, in nanoseconds after it was opened.
struct QueryDeadline {
    opened: Instant,
    at: AtomicU64,
}

impl QueryDeadline {
    const NONE: u64 = u64::MAX;

    fn new() -> Self {
        Self {
            opened: Instant::now(),
            at: AtomicU64::new(Self::NONE),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(Self::NONE)
    }

    fn set(&self, after: Duration) {
        let after = u64::try_from(after.as_nanos()).unwrap_or(Self::NONE);
        self.at
            .store(self.now().saturating_add(after), Ordering::Relaxed);
    }

    fn lift(&self) {
        self.at.store(Self::NONE, Ordering::Relaxed);
    }

    fn cancel(&self) {
        self.at.store(0, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.now() >= self.at.load(Ordering::Relaxed)
    }
}

/// Stops a query when nobody waits for it any more.
struct CancelGuard<'q>(&'q QueryDeadline);

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A connection while a transaction reads with it. It goes back when the transaction and its query have both ended.
struct ReaderLease(PoolLease<SqliteReader>);

impl Drop for ReaderLease {
    fn drop(&mut self) {
        // What an error has ended already has nothing to end.
        drop(self.0.connection.end());
    }
}

/// A transaction that reads.
pub struct ReadTransaction {
    lease: Arc<ReaderLease>,
}

impl ReadTransaction {
    /// On this connection.
    pub fn new(lease: PoolLease<SqliteReader>) -> Self {
        let lease = Arc::new(ReaderLease(lease));
        Self { lease }
    }

    fn reader(&self) -> &SqliteReader {
        &self.lease.0.connection
    }

    fn name(&self) -> &str {
        &self.lease.0.pool.name
    }

    /// Runs what is short on this thread.
    fn here<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.reader().deadline.set(SHORT_QUERY);
        work(&*self.reader().begun()?)
    }

    /// Runs a query on a thread that may block. An interrupted query leaves its transaction open, so that the state that is
    /// seen is the same.
    async fn elsewhere(&self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        self.reader().deadline.lift();
        // It is dropped before the transaction is: what it stops is this query.
        let _guard = CancelGuard(&self.reader().deadline);
        let lease = Arc::clone(&self.lease);
        let rows = spawn_blocking(move || lease.0.connection.wait_for(&statement));
        let rows = timeout(QUERY_TIME, rows).await;
        let rows = rows.map_err(|_| failure::timed_out())?;
        let rows = rows.map_err(|_| failure::closed(self.name()))?;
        rows.map_err(|error| failed(self.name(), error))
    }
}

#[async_trait]
impl Transaction for ReadTransaction {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        match self.here(|connection| query(connection, &statement)) {
            Err(error) if needs_time(&error) => self.elsewhere(statement).await,
            done => done.map_err(|error| failed(self.name(), error)),
        }
    }

    async fn run(&mut self, statement: SqlStatement) -> Result<u64> {
        // SQLite refuses it, as the connection only queries.
        let done = self.here(|connection| change(connection, &statement));
        done.map_err(|error| failed(self.name(), error))
    }

    async fn commit(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Whether a query was too long, or found the file held by others.
fn needs_time(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::OperationInterrupted | ErrorCode::DatabaseBusy)
    )
}
