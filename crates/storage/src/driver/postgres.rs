//! PostgreSQL: many nodes share one store.
//!
//! The address is `postgres://user@host:port/database`. Parameters of our own are `ambit_schema=name` (default `ambit`),
//! `ambit_pool=16` and `ambit_pool_mode=session` or `transaction` (how a proxy lends its connections, found out where it
//! is not given); `sslmode` and `sslrootcert` are those of all clients of PostgreSQL. A batch is one transaction whose
//! statements are sent together wherever one does not need the answer of another. What the server can do by itself (`direct`) is
//! one statement with its conditions and its index rows (`compose`); other operations are two network waves, however many of
//! them there are. Batches that wait at the same time share a transaction (`group`). `locks` says how batches keep out of each
//! other's way.
//!
//! Fault points: `postgres.begin`, `postgres.written` (all is written, nothing committed), `postgres.committed`.

mod check;
mod compose;
mod contents;
mod direct;
mod group;
mod listener;
mod locks;
mod log;
mod lookup;
mod merged;
mod pool_mode;
mod rows;
mod schema;
mod server;
mod settings;
mod sql_value;
mod statement;
mod store;
mod tls;
mod transaction;
mod value;
mod write;

pub use pool_mode::PoolMode;
pub use server::PostgresServer;

use super::{
    DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
};
use crate::Result;
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, ValueEntry, WriteOutcome};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use async_trait::async_trait;
use futures::future::BoxFuture;
use group::CommitQueue;
use listener::NotificationState;
use parking_lot::Mutex;
use settings::PostgresSettings;
use sql_value::bind;
use std::sync::Arc;
use std::time::Duration;
use store::PostgresStore;
use tokio::task::JoinHandle;

/// Values that one statement of a sweep erases.
const SWEEP: usize = 500;
/// How long closing waits for the last notifications.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);
const DATABASE_SIZE: &str = "SELECT pg_database_size(current_database())";
const DELETE_EXPIRED: &str = "WITH dead AS (SELECT id FROM value WHERE expires_at <= \
     floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $1 LIMIT $2 FOR UPDATE SKIP LOCKED), \
     gone AS (DELETE FROM value USING dead WHERE value.id = dead.id RETURNING value.id), \
     items AS (DELETE FROM item USING gone WHERE list_id = gone.id) SELECT count(*) FROM gone";

/// Opens a store, and makes its tables if they are not there.
pub fn open(
    address: String,
    options: DriverOptions,
) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    Box::pin(async move {
        let settings = PostgresSettings::parse(&address)?;
        let mode = schema::migrate(&settings, &options).await?;
        let store = Arc::new(PostgresStore::new(settings, options, mode)?);
        let board = Arc::new(NotificationState::default());
        let listening = tokio::spawn(listener::run(Arc::clone(&store), Arc::clone(&board)));
        let driver: Arc<dyn Driver> = Arc::new(PostgresDriver {
            queue: Arc::new(CommitQueue::new(Arc::clone(&store), Arc::clone(&board))),
            store,
            board,
            listening: Mutex::new(Some(listening)),
        });
        Ok(driver)
    })
}

struct PostgresDriver {
    store: Arc<PostgresStore>,
    queue: Arc<CommitQueue>,
    board: Arc<NotificationState>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl PostgresDriver {
    fn listening(&self) -> Option<JoinHandle<()>> {
        self.listening.lock().take()
    }
}

impl Drop for PostgresDriver {
    fn drop(&mut self) {
        if let Some(listening) = self.listening() {
            listening.abort();
        }
    }
}

#[async_trait]
impl Driver for PostgresDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        batch.validate(&self.store.options.limits)?;
        self.queue.commit(batch).await
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        log::read(&self.store, log, range).await
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        lookup::get(&self.store, key, part).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        lookup::scan(&self.store, space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        log::names(&self.store, space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        rows::page(&self.store, filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        rows::count(&self.store, filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.store.ensure_open()?;
        let watch = self.board.hub.watch(log);
        self.board.follow(log);
        Ok(watch)
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        let mut erased = 0;
        while erased < limit as u64 {
            let step = SWEEP.min(limit - usize::try_from(erased).unwrap_or(limit));
            let values = bind![self.store.options.clock.offset(), log::signed(step as u64)];
            let rows = self.store.rows(DELETE_EXPIRED, &values).await?;
            let count = log::unsigned(log::one(&rows)?.get(0));
            erased += count;
            if count < step as u64 {
                break;
            }
        }
        Ok(erased)
    }

    async fn check(&self) -> Result<Vec<String>> {
        check::findings(&self.store).await
    }

    fn kind(&self) -> &'static str {
        "postgres"
    }

    async fn size(&self) -> Result<Option<u64>> {
        let rows = self.store.rows(DATABASE_SIZE, &[]).await?;
        Ok(Some(log::unsigned(log::one(&rows)?.get(0))))
    }

    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        contents::contents(&self.store, kinds).await
    }

    async fn close(&self) -> Result<()> {
        self.board.close();
        self.board.hub.close();
        if let Some(mut listening) = self.listening()
            && tokio::time::timeout(NOTIFY_TIMEOUT, &mut listening)
                .await
                .is_err()
        {
            listening.abort();
        }
        self.store.close();
        Ok(())
    }
}
