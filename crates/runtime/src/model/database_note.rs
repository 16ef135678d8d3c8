//! What a models' database says of itself, in a small table of its own.

use super::SqlValue;
use super::database::postgres::LOCK;
use super::database::{AccessMode, Database, SqlCell, SqlDialect, SqlStatement, Transaction, end};
use crate::error::Result;
use ambit_storage::ids;

const MAKE: &str = "CREATE TABLE IF NOT EXISTS ambit_database (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)";

/// The note of the database's own id.
const ID: &str = "id";

/// The database's own id; none where it has never held models.
pub async fn id(database: &dyn Database) -> Result<Option<String>> {
    read(database, ID).await
}

/// The database's own id, which it gets now if it has none.
pub async fn identify(database: &dyn Database) -> Result<String> {
    if let Some(id) = id(database).await? {
        return Ok(id);
    }
    let mut transaction = database.begin(AccessMode::Write).await?;
    let id = make_id(transaction.as_mut()).await;
    end(transaction, id).await
}

async fn make_id(transaction: &mut dyn Transaction) -> Result<String> {
    make(transaction).await?;
    // Another node may have made one meanwhile.
    if let Some(id) = read_in(transaction, ID).await? {
        return Ok(id);
    }
    let id = ids::unguessable();
    write(transaction, ID, &id).await?;
    Ok(id)
}

/// Reads a note; none where there is none.
pub async fn read(database: &dyn Database, name: &str) -> Result<Option<String>> {
    let mut transaction = database.begin(AccessMode::Read).await?;
    let found = read_in(transaction.as_mut(), name).await;
    end(transaction, found).await
}

async fn read_in(transaction: &mut dyn Transaction, name: &str) -> Result<Option<String>> {
    let there = match transaction.dialect() {
        SqlDialect::Sqlite => "SELECT 1 FROM sqlite_schema WHERE name = 'ambit_database'",
        SqlDialect::Postgres => {
            "SELECT 1 FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
             WHERE nspname = current_schema() AND relname = 'ambit_database'"
        }
    };
    if transaction.rows(there.to_owned().into()).await?.is_empty() {
        return Ok(None);
    }
    let mark = transaction.dialect().mark(1);
    let sql = format!("SELECT value FROM ambit_database WHERE name = {mark}");
    let rows = transaction.rows(SqlStatement::new(sql, vec![text(name)]));
    let first = rows.await?.into_iter().flatten().next();
    Ok(match first {
        Some(SqlCell::Text(value)) => Some(value),
        _ => None,
    })
}

/// Writes a note in the place of the one that is there.
pub async fn write(transaction: &mut dyn Transaction, name: &str, value: &str) -> Result<()> {
    make(transaction).await?;
    erase(transaction, name).await?;
    let dialect = transaction.dialect();
    let (first, second) = (dialect.mark(1), dialect.mark(2));
    let sql = format!("INSERT INTO ambit_database (name, value) VALUES ({first}, {second})");
    let statement = SqlStatement::new(sql, vec![text(name), text(value)]);
    transaction.run(statement).await.map(drop)
}

async fn make(transaction: &mut dyn Transaction) -> Result<()> {
    if transaction.dialect() == SqlDialect::Postgres {
        transaction.rows(LOCK.to_owned().into()).await?;
    }
    transaction.run(MAKE.to_owned().into()).await.map(drop)
}

/// Removes a note that was written.
pub async fn erase(transaction: &mut dyn Transaction, name: &str) -> Result<()> {
    let mark = transaction.dialect().mark(1);
    let sql = format!("DELETE FROM ambit_database WHERE name = {mark}");
    let statement = SqlStatement::new(sql, vec![text(name)]);
    transaction.run(statement).await.map(drop)
}

/// A text that is bound.
pub fn text(value: &str) -> SqlValue {
    SqlValue::String(Some(value.to_owned()))
}
