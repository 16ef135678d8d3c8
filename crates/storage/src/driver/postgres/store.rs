//! The pool of connections, and what is common to reads and batches.

use super::pool_mode::PoolMode;
use super::schema::{self, SettingScope};
use super::settings::PostgresSettings;
use super::sql_value::{SqlValue, references, typed};
use super::transaction::{failed, in_order};
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
    pub(super) mode: PoolMode,
    /// The key of the lock that all batches share.
    pub(super) lock: i64,
    pool: Pool,
}

impl PostgresStore {
    /// A pool without connections; they are made when needed.
    pub(super) fn new(
        settings: PostgresSettings,
        options: DriverOptions,
        mode: PoolMode,
    ) -> Result<Self> {
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let server = settings.server.clone();
        let manager = Manager::from_config(server.config, server.tls, recycling);
        let (schema, durability) = (settings.schema.clone(), options.durability);
        let hook = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let set = schema::set(&schema, durability, SettingScope::Session);
            Box::pin(async move {
                if mode == PoolMode::Session {
                    let done = client.query_typed(schema::SET, &typed(&set)).await;
                    done.map_err(HookError::Backend)?;
                }
                Ok(())
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
            mode,
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

    /// What every transaction begins with.
    pub(super) fn beginning(&self) -> Vec<(&'static str, Vec<SqlValue>)> {
        let mut beginning = vec![(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
            Vec::new(),
        )];
        if self.mode == PoolMode::Transaction {
            let (schema, durability) = (&self.settings.schema, self.options.durability);
            let set = schema::set(schema, durability, SettingScope::Transaction);
            beginning.push((schema::SET, set));
        }
        beginning
    }

    /// The rows of a query that changes nothing. A connection that turns out to be dead is replaced once.
    pub(super) async fn rows(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>> {
        let mut is_repeated = false;
        loop {
            let client = self.connection().await?;
            let answer = match self.mode {
                PoolMode::Session => prepared(&client, sql, values).await,
                PoolMode::Transaction => self.unprepared(&client, sql, values).await,
            };
            match answer {
                Ok(rows) => return Ok(rows),
                Err(error) if error.is_closed() && !is_repeated => is_repeated = true,
                Err(error) => return Err(failed(&self.settings, error)),
            }
        }
    }

    /// The query in a transaction of its own, all of it sent at once.
    async fn unprepared(
        &self,
        client: &Object,
        sql: &str,
        values: &[SqlValue],
    ) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
        let beginning = self.beginning();
        let mut statements: Vec<(&str, &[SqlValue])> = beginning
            .iter()
            .map(|(sql, values)| (*sql, values.as_slice()))
            .collect();
        statements.push((sql, values));
        statements.push(("COMMIT", &[]));
        let sent = statements
            .iter()
            .map(|(sql, values)| async { client.query_typed(sql, &typed(values)).await });
        let mut asked = Vec::new();
        for (at, answer) in in_order(sent.collect()).await.into_iter().enumerate() {
            let rows = answer?;
            if at == beginning.len() {
                asked = rows;
            }
        }
        Ok(asked)
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

async fn prepared(
    client: &Object,
    sql: &str,
    values: &[SqlValue],
) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    client.query(&statement, &references(values)).await
}
