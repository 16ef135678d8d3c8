//! Models in an SQLite file: one connection that writes, with a thread of its own, and some that read where they are asked.

mod connection;
mod pool;
mod reader;
mod writer;

use super::{AccessMode, Database, SqlDialect, SqlRow, SqlStatement, Transaction, failure};
use crate::error::{Error, Result};
use async_trait::async_trait;
use failure::RowRefusal;
use pool::ConnectionPool;
use reader::{ReadTransaction, SqliteReader};
use std::path::Path;
use std::sync::Arc;
use writer::{SqliteConnection, SqliteTransaction};

/// Connections that read at the same time.
const READERS: usize = 4;

/// An open file.
pub struct SqliteDatabase {
    /// None for a database in memory, which has one connection. They go before the writer, whose thread then tidies the file.
    readers: Option<Arc<ConnectionPool<SqliteReader>>>,
    writer: Arc<ConnectionPool<SqliteConnection>>,
}

impl SqliteDatabase {
    /// Opens a file, and makes it if it is not there.
    pub async fn open(path: &Path) -> Result<Self> {
        let name = format!("the models' database {}", path.display());
        let writer = SqliteConnection::open(Some(path), &name).await?;
        let readers = SqliteReader::open(path, READERS, &name).await?;
        Ok(Self {
            readers: Some(ConnectionPool::new(readers, &name)),
            writer: ConnectionPool::new(vec![writer], &name),
        })
    }

    /// A database in memory that is gone with it.
    pub async fn in_memory() -> Result<Self> {
        let name = "the models' database in memory";
        let connection = SqliteConnection::open(None, name).await?;
        Ok(Self {
            readers: None,
            writer: ConnectionPool::new(vec![connection], name),
        })
    }
}

#[async_trait]
impl Database for SqliteDatabase {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    async fn begin(&self, access: AccessMode) -> Result<Box<dyn Transaction>> {
        if let (AccessMode::Read, Some(readers)) = (access, &self.readers) {
            return Ok(Box::new(ReadTransaction::new(readers.take().await?)));
        }
        let mut held = SqliteTransaction::new(self.writer.take().await?);
        match access {
            AccessMode::Read => {
                held.begins = true;
                held.is_reading = true;
            }
            AccessMode::Write => drop(held.change("BEGIN IMMEDIATE".to_owned().into()).await?),
        }
        Ok(Box::new(held))
    }

    async fn close(&self) -> Result<()> {
        if let Some(readers) = &self.readers {
            drop(readers.drain().await);
        }
        let mut all = self.writer.drain().await;
        for connection in std::mem::take(&mut all.connections) {
            connection.close().await;
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
    let refused = |why| {
        let stated = format!("code {} of SQLite", cause.extended_code);
        failure::row_refused(why, &stated)
    };
    match (cause.code, cause.extended_code) {
        (_, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
            failure::unique_violation(&columns)
        }
        (_, ffi::SQLITE_CONSTRAINT_NOTNULL) => failure::not_null_violation(&columns),
        (ErrorCode::TooBig, _) => refused(RowRefusal::TooLong),
        (ErrorCode::TypeMismatch, _) => refused(RowRefusal::WrongKind),
        (_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => refused(RowRefusal::Reference),
        (ErrorCode::ConstraintViolation, _) => refused(RowRefusal::Rule),
        (ErrorCode::Unknown | ErrorCode::ApiMisuse | ErrorCode::InternalMalfunction, _) => {
            failure::statement_refused(name, error)
        }
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => {
            ambit_storage::Error::corrupt(name, error).into()
        }
        _ => failure::unavailable(name, error),
    }
}

#[cfg(test)]
mod tests {
    use super::{READERS, SqliteDatabase};
    use crate::error::ErrorCode;
    use crate::model::database::{AccessMode, Database, QUERY_TIME, SqlCell, SqlRow, SqlStatement};
    use futures::FutureExt;
    use futures::future::try_join_all;
    use std::pin::pin;
    use std::task::Poll;
    use std::time::Duration;
    use tempfile::TempDir;

    /// Far more than a thread may be held for.
    const SLOW: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 500000) \
        SELECT max(x), (SELECT count(*) FROM item) FROM n";
    const ENDLESS: &str =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    const COUNT: &str = "SELECT count(*) FROM item";

    fn sql(text: &str) -> SqlStatement {
        text.to_owned().into()
    }

    fn row(numbers: &[i64]) -> Vec<SqlRow> {
        vec![numbers.iter().map(|it| SqlCell::Integer(*it)).collect()]
    }

    async fn write(database: &SqliteDatabase, statement: &str) {
        let mut writing = database.begin(AccessMode::Write).await.unwrap();
        writing.run(sql(statement)).await.unwrap();
        writing.commit().await.unwrap();
    }

    /// A table with one row.
    async fn items(folder: &TempDir) -> SqliteDatabase {
        let file = folder.path().join("models.db");
        let database = SqliteDatabase::open(&file).await.unwrap();
        write(&database, "CREATE TABLE item (name TEXT)").await;
        write(&database, "INSERT INTO item VALUES ('first')").await;
        database
    }

    #[tokio::test]
    async fn short_read_is_answered_where_it_is_asked() {
        let folder = TempDir::new().unwrap();
        let database = items(&folder).await;
        let reading = database.begin(AccessMode::Read).now_or_never();
        let mut reading = reading.unwrap().unwrap();
        for _ in 0..2 {
            let rows = reading.rows(sql(COUNT)).now_or_never();
            assert_eq!(rows.unwrap().unwrap(), row(&[1]));
        }
        assert!(reading.commit().now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn answer_is_of_the_same_state_when_a_query_changes_threads() {
        let folder = TempDir::new().unwrap();
        let database = items(&folder).await;
        let mut reading = database.begin(AccessMode::Read).await.unwrap();
        assert_eq!(reading.rows(sql(COUNT)).await.unwrap(), row(&[1]));
        write(&database, "INSERT INTO item VALUES ('second')").await;
        let mut has_changed = false;
        for _ in 0..20 {
            let mut slow = pin!(reading.rows(sql(SLOW)));
            let rows = match futures::poll!(slow.as_mut()) {
                // The other thread may have come to the end before this one looked.
                Poll::Ready(rows) => rows,
                Poll::Pending => {
                    has_changed = true;
                    slow.await
                }
            };
            assert_eq!(rows.unwrap(), row(&[500_000, 1]));
            if has_changed {
                break;
            }
        }
        assert!(has_changed, "it is never asked elsewhere");
        assert_eq!(reading.rows(sql(COUNT)).await.unwrap(), row(&[1]));
        reading.commit().await.unwrap();
        let mut reading = database.begin(AccessMode::Read).await.unwrap();
        assert_eq!(reading.rows(sql(COUNT)).await.unwrap(), row(&[2]));
    }

    #[tokio::test]
    async fn slow_first_query_decides_the_state() {
        let folder = TempDir::new().unwrap();
        let database = items(&folder).await;
        let mut reading = database.begin(AccessMode::Read).await.unwrap();
        assert_eq!(reading.rows(sql(SLOW)).await.unwrap(), row(&[500_000, 1]));
        write(&database, "INSERT INTO item VALUES ('second')").await;
        assert_eq!(reading.rows(sql(COUNT)).await.unwrap(), row(&[1]));
    }

    #[tokio::test]
    async fn endless_query_lets_others_go_on_and_ends_when_it_is_dropped() {
        let folder = TempDir::new().unwrap();
        let database = items(&folder).await;
        for _ in 0..=READERS {
            let mut reading = database.begin(AccessMode::Read).await.unwrap();
            // This test has one thread.
            let other = tokio::spawn(async { "went on" });
            tokio::select! {
                biased;
                _ = reading.rows(sql(ENDLESS)) => unreachable!("it does not end"),
                said = other => assert_eq!(said.unwrap(), "went on"),
            }
        }
        let all = (0..READERS).map(|_| database.begin(AccessMode::Read));
        for mut reading in try_join_all(all).await.unwrap() {
            assert_eq!(reading.rows(sql(COUNT)).await.unwrap(), row(&[1]));
        }
        database.close().await.unwrap();
    }

    #[tokio::test]
    async fn query_ends_after_its_time_whatever_reads_and_leaves_its_connection_to_others() {
        let folder = TempDir::new().unwrap();
        let database = items(&folder).await;
        for access in [AccessMode::Read, AccessMode::Write] {
            let mut asking = database.begin(access).await.unwrap();
            {
                let mut endless = pin!(asking.rows(sql(ENDLESS)));
                assert!(futures::poll!(endless.as_mut()).is_pending());
                tokio::time::pause();
                tokio::time::advance(QUERY_TIME + Duration::from_secs(1)).await;
                tokio::time::resume();
                let error = endless.await.unwrap_err();
                assert_eq!(error.code, ErrorCode::Timeout);
            }
            drop(asking);
            let mut next = database.begin(access).await.unwrap();
            assert_eq!(next.rows(sql(COUNT)).await.unwrap(), row(&[1]));
        }
        database.close().await.unwrap();
    }

    #[tokio::test]
    async fn read_transaction_writes_nothing() {
        let folder = TempDir::new().unwrap();
        let database = items(&folder).await;
        let mut reading = database.begin(AccessMode::Read).await.unwrap();
        assert!(reading.run(sql("DELETE FROM item")).await.is_err());
        drop(reading);
        let mut reading = database.begin(AccessMode::Read).await.unwrap();
        assert_eq!(reading.rows(sql(COUNT)).await.unwrap(), row(&[1]));
    }
}
