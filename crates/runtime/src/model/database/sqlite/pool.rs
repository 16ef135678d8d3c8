//! Connections of SQLite, which block, each on a thread that ends when its connection is let go.

use super::failed;
use crate::error::{Error, Result};
use crate::lock::lock;
use crate::model::column_kind;
use crate::model::database::{AccessMode, SqlCell, SqlRow, SqlStatement, failure};
use rusqlite::types::{self, ValueRef};
use rusqlite::{Connection, InterruptHandle};
use sea_query::Value;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// How long another process may hold the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// What one holder can leave behind: a query that nobody waits for any more, and its undoing.
const JOBS: usize = 2;

type SqliteJob = Box<dyn FnOnce(&Connection) + Send>;

/// One connection.
pub struct SqliteConnection {
    jobs: mpsc::Sender<SqliteJob>,
    interrupt: InterruptHandle,
    ended: oneshot::Receiver<()>,
}

impl SqliteConnection {
    /// Opens a connection to a file, or to a database in memory.
    pub async fn open(path: Option<&Path>, name: &str, access: AccessMode) -> Result<Self> {
        let (jobs, mut waiting) = mpsc::channel::<SqliteJob>(JOBS);
        let (sender, receiver) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let (path, own) = (path.map(Path::to_owned), name.to_owned());
        let body = move || {
            let connection = match connect(path.as_deref(), access) {
                Ok(connection) => connection,
                // Whoever opens may have left.
                Err(error) => return drop(sender.send(Err(failed(&own, error)))),
            };
            drop(sender.send(Ok(connection.get_interrupt_handle())));
            while let Some(job) = waiting.blocking_recv() {
                job(&connection);
            }
            drop(connection);
            let _ = end.send(());
        };
        let thread = thread::Builder::new().name("models".to_owned());
        thread
            .spawn(body)
            .map_err(|error| failure::unavailable(name, error))?;
        let interrupt = receiver.await.map_err(|_| failure::closed(name))??;
        Ok(Self {
            jobs,
            interrupt,
            ended,
        })
    }
}

fn connect(path: Option<&Path>, access: AccessMode) -> rusqlite::Result<Connection> {
    let connection = match path {
        Some(path) => Connection::open(path)?,
        None => Connection::open_in_memory()?,
    };
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.create_collation(column_kind::COLLATION, column_kind::compare)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    match access {
        AccessMode::Write => {
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
        }
        AccessMode::Read => connection.pragma_update(None, "query_only", "ON")?,
    }
    Ok(connection)
}

/// Connections of one kind, each used by one transaction at a time.
pub struct SqlitePool {
    idle: Mutex<Vec<SqliteConnection>>,
    free: Arc<Semaphore>,
    count: u32,
    name: String,
}

impl SqlitePool {
    /// These connections.
    pub fn new(connections: Vec<SqliteConnection>, name: &str) -> Arc<Self> {
        let count = u32::try_from(connections.len()).unwrap_or(u32::MAX);
        Arc::new(Self {
            free: Arc::new(Semaphore::new(connections.len())),
            idle: Mutex::new(connections),
            count,
            name: name.to_owned(),
        })
    }

    /// Waits for a free connection.
    pub async fn take(self: &Arc<Self>) -> Result<SqliteTransaction> {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        let permit = permit.map_err(|_| failure::closed(&self.name))?;
        let connection = self.idle().pop();
        let connection = connection.ok_or_else(|| failure::closed(&self.name))?;
        Ok(SqliteTransaction {
            connection: Some(connection),
            pool: Arc::clone(self),
            permit: Some(permit),
            begins: false,
            is_reading: false,
            is_open: true,
            is_waiting: false,
        })
    }

    /// Waits for what is under way, and closes the connections.
    pub async fn close(&self) {
        let all = self.free.acquire_many(self.count).await;
        let Ok(all) = all else { return };
        let connections = std::mem::take(&mut *self.idle());
        for SqliteConnection { jobs, ended, .. } in connections {
            drop(jobs);
            // It ends without a word only if its thread has died.
            let _ = ended.await;
        }
        self.free.close();
        drop(all);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SqliteConnection>> {
        lock(&self.idle)
    }
}

/// A connection while one transaction has it. What is not committed is undone when it is let go.
pub struct SqliteTransaction {
    connection: Option<SqliteConnection>,
    pool: Arc<SqlitePool>,
    /// Released last, when the connection is back.
    permit: Option<OwnedSemaphorePermit>,
    /// Whether the first statement begins the transaction, which saves a reader the way to the thread and back.
    pub begins: bool,
    /// Whether it changes nothing.
    pub is_reading: bool,
    /// Whether there is something to undo.
    pub is_open: bool,
    /// Whether a query runs that nobody may be waiting for.
    is_waiting: bool,
}

impl SqliteTransaction {
    /// The rows of a query.
    pub async fn query(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        self.on_thread(move |connection| {
            let values = statement.values.into_iter().map(plain);
            let mut prepared = connection.prepare_cached(&statement.sql)?;
            let width = prepared.column_count();
            let mut rows = prepared.query(rusqlite::params_from_iter(values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let cells = (0..width).map(|at| row.get_ref(at).and_then(cell));
                found.push(cells.collect::<rusqlite::Result<SqlRow>>()?);
            }
            Ok(found)
        })
        .await
    }

    /// Runs a change; the answer is how many rows it changed.
    pub async fn change(&mut self, statement: SqlStatement) -> Result<u64> {
        self.on_thread(move |connection| {
            let values = statement.values.into_iter().map(plain);
            let mut prepared = connection.prepare_cached(&statement.sql)?;
            let count = prepared.execute(rusqlite::params_from_iter(values))?;
            Ok(u64::try_from(count).unwrap_or(u64::MAX))
        })
        .await
    }

    async fn on_thread<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let gone = || failure::closed(&self.pool.name);
        let held = self.connection.as_ref().ok_or_else(gone)?;
        let (sender, receiver) = oneshot::channel();
        let begins = std::mem::take(&mut self.begins);
        let whole = move |connection: &Connection| {
            if begins {
                connection.execute_batch("BEGIN")?;
            }
            work(connection)
        };
        let job: SqliteJob = Box::new(move |connection| drop(sender.send(whole(connection))));
        held.jobs.try_send(job).map_err(|_| gone())?;
        self.is_waiting = true;
        let done = receiver.await;
        self.is_waiting = false;
        let done = done.map_err(|_| failure::closed(&self.pool.name))?;
        done.map_err(|error| -> Error { failed(&self.pool.name, error) })
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        let Some(held) = self.connection.take() else {
            return;
        };
        if !self.is_open {
            self.pool.idle().push(held);
            return;
        }
        if self.is_waiting {
            held.interrupt.interrupt();
        }
        let (jobs, pool, permit) = (
            held.jobs.clone(),
            Arc::clone(&self.pool),
            self.permit.take(),
        );
        // The connection is for the next one only when all is undone.
        let undo: SqliteJob = Box::new(move |connection| {
            // What an error has ended already has nothing to undo, and says so.
            drop(connection.execute_batch("ROLLBACK"));
            pool.idle().push(held);
            drop(permit);
        });
        // It is refused only where the thread has died, and the connection with it.
        drop(jobs.try_send(undo));
    }
}

fn plain(value: Value) -> types::Value {
    match value {
        Value::Bool(flag) => flag.map_or(types::Value::Null, |flag| {
            types::Value::Integer(flag.into())
        }),
        Value::TinyInt(number) => whole(number),
        Value::SmallInt(number) => whole(number),
        Value::Int(number) => whole(number),
        Value::BigInt(number) => whole(number),
        Value::TinyUnsigned(number) => whole(number),
        Value::SmallUnsigned(number) => whole(number),
        Value::Unsigned(number) => whole(number),
        Value::BigUnsigned(number) => {
            let number = number.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
            whole(number)
        }
        Value::Float(number) => {
            number.map_or(types::Value::Null, |it| types::Value::Real(it.into()))
        }
        Value::Double(number) => number.map_or(types::Value::Null, types::Value::Real),
        Value::String(text) => text.map_or(types::Value::Null, types::Value::Text),
        Value::Enum(one) => match one {
            sea_query::OptionEnum::Some(one) => types::Value::Text(one.value.to_string()),
            sea_query::OptionEnum::None(_) => types::Value::Null,
        },
        Value::Char(sign) => sign.map_or(types::Value::Null, |sign| {
            types::Value::Text(sign.to_string())
        }),
        Value::Bytes(bytes) => bytes.map_or(types::Value::Null, types::Value::Blob),
    }
}

fn whole(number: Option<impl Into<i64>>) -> types::Value {
    number.map_or(types::Value::Null, |number| {
        types::Value::Integer(number.into())
    })
}

fn cell(value: ValueRef<'_>) -> rusqlite::Result<SqlCell> {
    Ok(match value {
        ValueRef::Null => SqlCell::Null,
        ValueRef::Integer(number) => SqlCell::Integer(number),
        ValueRef::Real(number) => SqlCell::Real(number),
        ValueRef::Text(_) => SqlCell::Text(value.as_str()?.to_owned()),
        ValueRef::Blob(bytes) => SqlCell::Bytes(bytes.to_owned()),
    })
}
