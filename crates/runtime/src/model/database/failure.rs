//! What failures of databases mean, said alike for all of them.

use crate::error::{Error, ErrorCode, StorageError};
use std::sync::Arc;

/// Another row has the same in these columns.
pub fn unique_violation(columns: &str) -> Error {
    let message = format!("there is already a row with the same {columns}");
    Error::new(ErrorCode::Conflict, message)
}

/// A row without a value that it must have.
pub fn not_null_violation(column: &str) -> Error {
    Error::invalid(column, format!("column \"{column}\" must not be null"))
}

/// A value that the table does not take.
pub fn invalid_value(reason: &str) -> Error {
    let message = format!("the table does not take a value: {reason}");
    Error::new(ErrorCode::InvalidArgument, message)
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
