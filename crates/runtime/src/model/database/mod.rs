//! The seam to the databases that hold the tables of models: transactions that run SQL with bound values.

mod dialect;

pub use dialect::{Dialect, Statement};

use crate::error::{Code, Error, Result};
use async_trait::async_trait;

/// An open database.
#[async_trait]
pub trait Database: Send + Sync {
    /// How its SQL is written.
    fn dialect(&self) -> Dialect;

    /// Begins a transaction. One that reads sees one state of everything, whatever others write meanwhile.
    async fn begin(&self, access: Access) -> Result<Box<dyn Transaction>>;

    /// Ends all connections.
    async fn close(&self) -> Result<()>;
}

/// One transaction. Dropping it undoes what it did.
#[async_trait]
pub trait Transaction: Send {
    /// How its SQL is written.
    fn dialect(&self) -> Dialect;

    /// The rows of a query.
    async fn rows(&mut self, statement: Statement) -> Result<Vec<Row>>;

    /// Runs a change; the answer is how many rows it changed.
    async fn run(&mut self, statement: Statement) -> Result<u64>;

    /// Keeps what it did.
    async fn commit(self: Box<Self>) -> Result<()>;
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

/// One row: its values in the order of the query's columns.
pub type Row = Vec<Cell>;

/// A value as databases give it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
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

/// A row that others must not have: the error that says so, with the columns that make it the same.
pub fn taken(columns: &str) -> Error {
    let message = format!("there is already a row with the same {columns}");
    Error::new(Code::Conflict, message)
}

/// Runs statements as one transaction: kept if all is well, else undone.
pub async fn end<T>(transaction: Box<dyn Transaction>, result: Result<T>) -> Result<T> {
    let value = result?;
    transaction.commit().await?;
    Ok(value)
}
