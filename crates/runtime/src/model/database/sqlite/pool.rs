//! Connections of SQLite, which block, each on a thread that ends when its connection is let go.

use super::connection::{change, connect, query};
use super::failed;
use crate::error::{Error, Result};
use crate::lock::lock;
use crate::model::database::{AccessMode, SqlRow, SqlStatement, failure};
use rusqlite::{Connection, InterruptHandle};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

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
        self.on_thread(move |connection| query(connection, &statement))
            .await
    }

    /// Runs a change; the answer is how many rows it changed.
    pub async fn change(&mut self, statement: SqlStatement) -> Result<u64> {
        self.on_thread(move |connection| change(connection, &statement))
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
