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
/// For queries that several indexes can serve: the values tell which one is best.
const PLAN_BY_VALUES: &str = "SELECT set_config('plan_cache_mode', 'auto', true)";

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

    /// The rows of a query that changes nothing.
    pub(super) async fn rows(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>> {
        match self.mode {
            PoolMode::Session => self.ask(&[(sql, values)], 0).await,
            PoolMode::Transaction => self.rows_in_transaction(&[(sql, values)]).await,
        }
    }

    /// The rows of a query that changes nothing and is planned for these values.
    pub(super) async fn rows_by_values(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>> {
        let statements = [(PLAN_BY_VALUES, &[][..]), (sql, values)];
        self.rows_in_transaction(&statements).await
    }

    /// The rows of the last of these statements, in a transaction of their own.
    async fn rows_in_transaction(&self, statements: &[(&str, &[SqlValue])]) -> Result<Vec<Row>> {
        let beginning = self.beginning();
        let beginning = beginning.iter();
        let mut all: Vec<(&str, &[SqlValue])> = beginning
            .map(|(sql, values)| (*sql, values.as_slice()))
            .collect();
        all.extend(statements);
        let wanted = all.len() - 1;
        all.push(("COMMIT", &[]));
        self.ask(&all, wanted).await
    }

    /// Sends all statements at once; gives the rows of one. A connection that turns out to be dead is replaced once.
    async fn ask(&self, statements: &[(&str, &[SqlValue])], wanted: usize) -> Result<Vec<Row>> {
        let mut is_repeated = false;
        loop {
            let client = self.connection().await?;
            match self.answers(&client, statements).await {
                Ok(mut answers) => return Ok(std::mem::take(&mut answers[wanted])),
                Err(error) if error.is_closed() && !is_repeated => is_repeated = true,
                Err(error) => return Err(failed(&self.settings, error)),
            }
        }
    }

    async fn answers(
        &self,
        client: &Object,
        statements: &[(&str, &[SqlValue])],
    ) -> std::result::Result<Vec<Vec<Row>>, tokio_postgres::Error> {
        let mut prepared = Vec::with_capacity(statements.len());
        for (sql, _) in statements {
            prepared.push(match self.mode {
                PoolMode::Session => Some(client.prepare_cached(sql).await?),
                PoolMode::Transaction => None,
            });
        }
        let sent = statements.iter().zip(&prepared);
        let sent = sent.map(|((sql, values), prepared)| async move {
            match prepared {
                Some(prepared) => client.query(prepared, &references(*values)).await,
                None => client.query_typed(sql, &typed(*values)).await,
            }
        });
        in_order(sent.collect()).await.into_iter().collect()
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
