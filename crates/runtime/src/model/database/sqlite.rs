//! Models in an SQLite file: one connection that writes, some that read, each with a thread of its own.

mod connection;
mod pool;
mod writer;

use super::{AccessMode, Database, SqlDialect, SqlRow, SqlStatement, Transaction, failure};
use crate::error::{Error, Result};
use async_trait::async_trait;
use pool::ConnectionPool;
use std::path::Path;
use std::sync::Arc;
use writer::{SqliteConnection, SqliteTransaction};

/// Connections that read at the same time.
const READERS: usize = 4;

/// An open file.
pub struct SqliteDatabase {
    writer: Arc<ConnectionPool<SqliteConnection>>,
    /// The writer again for a database in memory, which has one connection.
    readers: Arc<ConnectionPool<SqliteConnection>>,
}

impl SqliteDatabase {
    /// Opens a file, and makes it if it is not there.
    pub async fn open(path: &Path) -> Result<Self> {
        let name = format!("the models' database {}", path.display());
        let writer = SqliteConnection::open(Some(path), &name, AccessMode::Write).await?;
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(SqliteConnection::open(Some(path), &name, AccessMode::Read).await?);
        }
        Ok(Self {
            writer: ConnectionPool::new(vec![writer], &name),
            readers: ConnectionPool::new(readers, &name),
        })
    }

    /// A database in memory that is gone with it.
    pub async fn in_memory() -> Result<Self> {
        let name = "the models' database in memory";
        let connection = SqliteConnection::open(None, name, AccessMode::Write).await?;
        let pool = ConnectionPool::new(vec![connection], name);
        Ok(Self {
            writer: Arc::clone(&pool),
            readers: pool,
        })
    }
}

#[async_trait]
impl Database for SqliteDatabase {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    async fn begin(&self, access: AccessMode) -> Result<Box<dyn Transaction>> {
        if access == AccessMode::Read {
            let mut held = SqliteTransaction::new(self.readers.take().await?);
            held.begins = true;
            held.is_reading = true;
            return Ok(Box::new(held));
        }
        let mut held = SqliteTransaction::new(self.writer.take().await?);
        held.change("BEGIN IMMEDIATE".to_owned().into()).await?;
        Ok(Box::new(held))
    }

    async fn close(&self) -> Result<()> {
        for pool in [&self.readers, &self.writer] {
            let mut all = pool.drain().await;
            for connection in std::mem::take(&mut all.connections) {
                connection.close().await;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Transaction for SqliteTransaction {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        self.query(statement).await
    }

    async fn run(&mut self, statement: SqlStatement) -> Result<u64> {
        self.change(statement).await
    }

    async fn commit(mut self: Box<Self>) -> Result<()> {
        // What has changed nothing is ended when it is let go, and nobody needs to wait for that.
        if self.is_reading {
            return Ok(());
        }
        self.change("COMMIT".to_owned().into()).await?;
        self.is_open = false;
        Ok(())
    }
}

/// What a failure means.
fn failed(name: &str, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    use rusqlite::ffi;
    let rusqlite::Error::SqliteFailure(cause, message) = &error else {
        return failure::statement_refused(name, error);
    };
    // `UNIQUE constraint failed: pet.name, pet.owner`
    let message = message.as_deref().unwrap_or_default();
    let columns = message.split_once(": ").map_or("", |(_, columns)| columns);
    let columns = columns
        .split(", ")
        .map(|column| column.rsplit('.').next().unwrap_or_default());
    let columns = columns.collect::<Vec<_>>().join(", ");
    match (cause.code, cause.extended_code) {
        (_, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
            failure::unique_violation(&columns)
        }
        (_, ffi::SQLITE_CONSTRAINT_NOTNULL) => failure::not_null_violation(&columns),
        (ErrorCode::TypeMismatch | ErrorCode::ConstraintViolation | ErrorCode::TooBig, _) => {
            failure::invalid_value(message)
        }
        (ErrorCode::Unknown | ErrorCode::ApiMisuse | ErrorCode::InternalMalfunction, _) => {
            failure::statement_refused(name, error)
        }
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => {
            ambit_storage::Error::corrupt(name, error).into()
        }
        _ => failure::unavailable(name, error),
    }
}
