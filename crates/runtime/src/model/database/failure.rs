//! What failures of databases mean, said alike for all of them. Words of a database may quote values of rows: they are told to nobody, and what
//! has caused an error has the codes and names alone.

use crate::error::{Error, ErrorCode, StorageError};
use std::sync::Arc;

/// Another row has the same in these columns. What is no list of columns, such as what an index of the operator computes, is not told.
pub fn unique_violation(columns: &str) -> Error {
    let columns = columns.replace('"', "");
    let is_of_name = |it: char| it.is_alphanumeric() || it == '_';
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
    let columns = match columns.split(", ").all(is_name) {
        true => columns.as_str(),
        false => "key",
    };
    let message = format!("there is already a row with the same {columns}");
    Error::new(ErrorCode::Conflict, message)
}

/// A row without a value that it must have.
pub fn not_null_violation(column: &str) -> Error {
    Error::invalid(column, format!("column \"{column}\" must not be null"))
}

/// Why a table does not take a row.
#[derive(Clone, Copy)]
pub enum RowRefusal {
    TooLong,
    OutOfRange,
    WrongKind,
    Reference,
    Rule,
}

impl RowRefusal {
    fn message(self) -> &'static str {
        match self {
            Self::TooLong => "a value is too long for its column",
            Self::OutOfRange => "a value is out of the range of its column",
            Self::WrongKind => "a value is not of the kind of its column",
            Self::Reference => {
                "the row refers to one that is not there, or others refer to it; make that one first, or delete them first"
            }
            Self::Rule => {
                "a rule of the table, which the model does not have, does not allow the row"
            }
        }
    }
}

/// A row that the table does not take; `stated` are the codes and names that the database gives.
pub fn row_refused(why: RowRefusal, stated: &str) -> Error {
    let cause = StorageError::invalid("the row", format!("is refused with {stated}"));
    Error {
        cause: Some(Arc::new(cause)),
        ..Error::new(ErrorCode::InvalidArgument, why.message())
    }
}

/// Others were at work on the same rows.
pub fn write_conflict() -> Error {
    let message = "others changed the same rows at the same time; repeat the call";
    Error::new(ErrorCode::Conflict, message)
}

/// The database ended a statement for the time that it took.
pub fn timed_out() -> Error {
    let message = "the database ended the query, which took too long; ask for less, or by columns that have an index";
    Error::new(ErrorCode::Timeout, message)
}

/// The database cannot be reached.
pub fn unavailable(database: &str, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    StorageError::unavailable(database, cause).into()
}

/// The database was closed.
pub fn closed(database: &str) -> Error {
    StorageError::closed(database).into()
}

/// The database refuses a statement: the table is not as the model says, or this is a defect.
pub fn statement_refused(
    database: &str,
    cause: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    let message = "the database refused the query; the table may not be as the model says, and the server's log tells more";
    Error {
        cause: Some(Arc::new(StorageError::unavailable(database, cause))),
        ..Error::internal(message)
    }
}
