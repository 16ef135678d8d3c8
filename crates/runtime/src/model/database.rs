//! The seam to the databases that hold the tables of models: transactions that run SQL with bound values.

mod dialect;
mod failure;
mod lazy;
pub mod postgres;
pub mod sqlite;

pub use dialect::{SqlDialect, SqlStatement};
pub use lazy::LazyDatabase;

use crate::error::Result;
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where the tables of models are.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum ModelStore {
    /// In the memory of this process, for tests.
    #[default]
    Memory,
    /// In an SQLite file.
    Sqlite(PathBuf),
    /// In a PostgreSQL database, as the store of this URL: in the schema `models`, or `<schema>_models` beside a store with a
    /// schema of its own. The URL may hold a password.
    Postgres(String),
}

impl ModelStore {
    /// Whether it would have to be made, as far as that is known without opening it.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Sqlite(path) if !path.exists())
    }
}

impl std::fmt::Debug for ModelStore {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => out.write_str("Memory"),
            Self::Sqlite(path) => out.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => out.write_str("Postgres"),
        }
    }
}

/// Opens a database, and makes it if it is not there.
pub async fn open(store: &ModelStore) -> Result<Arc<dyn Database>> {
    Ok(match store {
        ModelStore::Memory => Arc::new(sqlite::SqliteDatabase::in_memory().await?),
        ModelStore::Sqlite(path) => Arc::new(sqlite::SqliteDatabase::open(path).await?),
        ModelStore::Postgres(url) => Arc::new(postgres::PostgresDatabase::open(url).await?),
    })
}

/// An open database.
#[async_trait]
pub trait Database: Send + Sync {
    /// How its SQL is written.
    fn dialect(&self) -> SqlDialect;

    /// Begins a transaction. One that reads sees one state of everything, whatever others write meanwhile.
    async fn begin(&self, access: AccessMode) -> Result<Box<dyn Transaction>>;

    /// Ends all connections.
    async fn close(&self) -> Result<()>;
}

/// One transaction. Dropping it undoes what it did.
#[async_trait]
pub trait Transaction: Send {
    /// How its SQL is written.
    fn dialect(&self) -> SqlDialect;

    /// The rows of a query, as far as its limit lets them be read.
    async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>>;

    /// Runs a change; the answer is how many rows it changed.
    async fn run(&mut self, statement: SqlStatement) -> Result<u64>;

    /// Keeps what it did.
    async fn commit(self: Box<Self>) -> Result<()>;
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

/// How long a query may take, and in PostgreSQL any statement but those that bring tables to what models say.
pub const QUERY_TIME: Duration = Duration::from_secs(60);

/// The most bytes of a name; PostgreSQL cuts longer ones.
pub const LONGEST_NAME: usize = 63;

/// How moments are written, which are UTC.
pub const MOMENT: &str = "%Y-%m-%d %H:%M:%S";
/// How dates are written.
pub const DATE: &str = "%Y-%m-%d";
/// How times of the day are written.
pub const TIME: &str = "%H:%M:%S";

/// One row: its values in the order of the query's columns.
pub type SqlRow = Vec<SqlCell>;

/// A value as databases give it.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlCell {
    /// Nothing.
    Null,
    /// A whole number, or 0 and 1 for false and true.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text, also exact decimals, moments (`YYYY-MM-DD HH:MM:SS` UTC) and JSON.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// What a value takes beside its text or bytes, about.
const CELL_BYTES: u64 = 32;

/// How many bytes a row takes, about.
pub fn row_bytes(row: &[SqlCell]) -> u64 {
    let cells = row.iter().map(|cell| {
        let own = match cell {
            SqlCell::Null | SqlCell::Integer(_) | SqlCell::Real(_) => 0,
            SqlCell::Text(text) => text.len(),
            SqlCell::Bytes(bytes) => bytes.len(),
        };
        own as u64 + CELL_BYTES
    });
    cells.sum()
}

/// Runs statements as one transaction: kept if all is well, else undone.
pub async fn end<T>(transaction: Box<dyn Transaction>, result: Result<T>) -> Result<T> {
    let value = result?;
    transaction.commit().await?;
    Ok(value)
}
