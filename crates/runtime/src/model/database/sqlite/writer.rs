//! Connections that write, each on a thread that ends when its connection is let go.

use super::connection::{change, connect, query};
use super::failed;
use super::pool::PoolLease;
use crate::error::{Error, Result};
use crate::model::database::{AccessMode, QUERY_TIME, SqlRow, SqlStatement, failure};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// What one holder can leave behind: a query that nobody waits for any more, and its undoing.
const JOBS: usize = 2;

/// Steps of SQLite's virtual machine after which it looks whether anybody still waits.
const STEPS: i32 = 1000;

type SqliteJob = Box<dyn FnOnce(&Connection) + Send>;

/// One connection.
pub struct SqliteConnection {
    jobs: mpsc::Sender<SqliteJob>,
    /// Whether nobody waits any more for what the connection does. It is looked at as long as that takes, be it not begun yet.
    is_left: Arc<AtomicBool>,
    ended: oneshot::Receiver<()>,
}

impl SqliteConnection {
    /// Opens a connection to a file, or to a database in memory.
    pub async fn open(path: Option<&Path>, name: &str) -> Result<Self> {
        let (jobs, mut waiting) = mpsc::channel::<SqliteJob>(JOBS);
        let (sender, receiver) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let (path, own) = (path.map(Path::to_owned), name.to_owned());
        let is_left = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&is_left);
        let body = move || {
            let connection = match connect_watched(path.as_deref(), watched) {
                Ok(connection) => connection,
                // Whoever opens may have left.
                Err(error) => return drop(sender.send(Err(failed(&own, error)))),
            };
            drop(sender.send(Ok(())));
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
        receiver.await.map_err(|_| failure::closed(name))??;
        Ok(Self {
            jobs,
            is_left,
            ended,
        })
    }

    /// Closes it once its thread has done what it was given.
    pub async fn close(self) {
        drop(self.jobs);
        // It ends without a word only if its thread has died.
        let _ = self.ended.await;
    }
}

/// A connection that ends what it does when this becomes true.
fn connect_watched(path: Option<&Path>, is_left: Arc<AtomicBool>) -> rusqlite::Result<Connection> {
    let mut connection = connect(path, AccessMode::Write)?;
    let watch = move || is_left.load(Ordering::Relaxed);
    connection.progress_handler(STEPS, Some(watch))?;
    Ok(connection)
}

/// A connection while one transaction has it. What is not committed is undone when it is let go.
pub struct SqliteTransaction {
    lease: Arc<PoolLease<SqliteConnection>>,
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
    /// On this connection.
    pub fn new(lease: PoolLease<SqliteConnection>) -> Self {
        Self {
            lease: Arc::new(lease),
            begins: false,
            is_reading: false,
            is_open: true,
            is_waiting: false,
        }
    }

    /// The rows of a query.
    pub async fn query(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        let rows = self.on_thread(move |connection| query(connection, &statement));
        // One that goes on is stopped with the transaction.
        let rows = timeout(QUERY_TIME, rows).await;
        rows.unwrap_or_else(|_| Err(failure::timed_out()))
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
        let name = &self.lease.pool.name;
        let (sender, receiver) = oneshot::channel();
        let begins = std::mem::take(&mut self.begins);
        let whole = move |connection: &Connection| {
            if begins {
                connection.execute_batch("BEGIN")?;
            }
            work(connection)
        };
        let job: SqliteJob = Box::new(move |connection| drop(sender.send(whole(connection))));
        let given = self.lease.connection.jobs.try_send(job);
        given.map_err(|_| failure::closed(name))?;
        self.is_waiting = true;
        let done = receiver.await;
        self.is_waiting = false;
        let done = done.map_err(|_| failure::closed(name))?;
        done.map_err(|error| -> Error { failed(name, error) })
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let is_left = &self.lease.connection.is_left;
        is_left.store(self.is_waiting, Ordering::Relaxed);
        // The connection is for the next one only when all is undone.
        let lease = Arc::clone(&self.lease);
        let undo: SqliteJob = Box::new(move |connection| {
            lease.connection.is_left.store(false, Ordering::Relaxed);
            // What an error has ended already has nothing to undo, and says so.
            drop(connection.execute_batch("ROLLBACK"));
            drop(lease);
        });
        // It is refused only where the thread has died, which the next one learns.
        drop(self.lease.connection.jobs.try_send(undo));
    }
}
