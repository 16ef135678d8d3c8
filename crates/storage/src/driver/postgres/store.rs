//! The pool of connections, and what is common to reads and batches.

use super::schema;
use super::settings::PostgresSettings;
use super::transaction::{SqlValue, failed, references};
use crate::driver::DriverOptions;
use crate::{Error, Result};
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
    Timeouts,
};
use std::time::Duration;
use tokio_postgres::Row;

/// How long a caller waits for a free connection.
const WAIT: Duration = Duration::from_secs(30);

pub(super) struct PostgresStore {
    pub(super) settings: PostgresSettings,
    pub(super) options: DriverOptions,
    /// The key of the lock that all batches share.
    pub(super) lock: i64,
    pool: Pool,
}

impl PostgresStore {
    /// A pool without connections; they are made when needed.
    pub(super) fn new(settings: PostgresSettings, options: DriverOptions) -> Result<Self> {
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let server = settings.server.clone();
        let manager = Manager::from_config(server.config, server.tls, recycling);
        let setup = schema::setup(&settings, &options);
        let hook = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let setup = setup.clone();
            Box::pin(async move {
                client
                    .batch_execute(&setup)
                    .await
                    .map_err(HookError::Backend)
            })
        });
        let timeouts = Timeouts {
            wait: Some(WAIT),
            create: None,
            recycle: Some(WAIT),
        };
        let pool = Pool::builder(manager)
            .max_size(settings.pool)
            .timeouts(timeouts)
            .post_create(hook)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Error::unavailable(settings.name.clone(), error))?;
        Ok(Self {
            lock: schema::lock_key(&settings, "store"),
            settings,
            options,
            pool,
        })
    }

    pub(super) async fn connection(&self) -> Result<Object> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                failed(&self.settings, error)
            }
            PoolError::Closed => self.closed(),
            other => Error::unavailable(
                format!(
                    "{} ({} connections)",
                    self.settings.name, self.settings.pool
                ),
                other,
            ),
        })
    }

    /// The rows of a query that changes nothing. A connection that turns out to be dead is replaced once.
    pub(super) async fn rows(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>> {
        let values = references(values);
        let mut is_repeated = false;
        loop {
            let client = self.connection().await?;
            let answer = async {
                let statement = client.prepare_cached(sql).await?;
                client.query(&statement, &values).await
            };
            match answer.await {
                Ok(rows) => return Ok(rows),
                Err(error) if error.is_closed() && !is_repeated => is_repeated = true,
                Err(error) => return Err(failed(&self.settings, error)),
            }
        }
    }

    /// Ends all connections that are free, and the others as they become so.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    /// `Unavailable` once the store was closed.
    pub(super) fn ensure_open(&self) -> Result<()> {
        if self.pool.is_closed() {
            return Err(self.closed());
        }
        Ok(())
    }

    fn closed(&self) -> Error {
        Error::closed(&self.settings.name)
    }
}
