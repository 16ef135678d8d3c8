//! Opening connections of SQLite, and running statements on one. All of it blocks.

use crate::model::column_kind;
use crate::model::database::{AccessMode, SqlCell, SqlRow, SqlStatement, row_bytes};
use rusqlite::types::{self, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ffi};
use sea_query::{OptionEnum, Value};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long another process may hold the file.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause between two tries of what SQLite does not wait for.
const PAUSE: Duration = Duration::from_millis(5);

/// Prepared statements that a connection keeps; some for each model, as scripts ask in few ways.
const CACHED_STATEMENTS: usize = 128;

/// Opens a connection to a file, or to a database in memory.
pub fn connect(path: Option<&Path>, access: AccessMode) -> rusqlite::Result<Connection> {
    let connection = match path {
        Some(path) => Connection::open(path)?,
        None => Connection::open_in_memory()?,
    };
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.create_collation(column_kind::COLLATION, column_kind::compare)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    match access {
        AccessMode::Write => {
            enter_wal(&connection)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
        }
        AccessMode::Read => connection.pragma_update(None, "query_only", "ON")?,
    }
    Ok(connection)
}

/// Has the file written through a WAL. Where others do the same just now SQLite refuses it at once, however long one would wait.
fn enter_wal(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let done = connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()));
        let code = done
            .as_ref()
            .err()
            .and_then(rusqlite::Error::sqlite_error_code);
        if code != Some(ErrorCode::DatabaseBusy) || Instant::now() >= deadline {
            return done;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The rows of a query, as far as its limit lets them be read.
pub fn query(connection: &Connection, statement: &SqlStatement) -> rusqlite::Result<Vec<SqlRow>> {
    let values = statement.values.iter().map(bound);
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let width = prepared.column_count();
    let mut rows = prepared.query(rusqlite::params_from_iter(values))?;
    let (mut found, mut bytes) = (Vec::new(), 0_u64);
    while bytes <= statement.most_bytes
        && let Some(row) = rows.next().map_err(of_value)?
    {
        let cells = (0..width).map(|at| row.get_ref(at).and_then(cell));
        let row = cells.collect::<rusqlite::Result<SqlRow>>()?;
        bytes = bytes.saturating_add(row_bytes(&row));
        found.push(row);
    }
    Ok(found)
}

/// A failure of a statement that SQLite has understood: what it has no name for then is about a value, as a sum that is too
/// large for a whole number.
fn of_value(error: rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(cause, message) if cause.code == ErrorCode::Unknown => {
            rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), message)
        }
        other => other,
    }
}

/// Runs a change; the answer is how many rows it changed.
pub fn change(connection: &Connection, statement: &SqlStatement) -> rusqlite::Result<u64> {
    let values = statement.values.iter().map(bound);
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let count = prepared.execute(rusqlite::params_from_iter(values))?;
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}

fn bound(value: &Value) -> ToSqlOutput<'_> {
    match value {
        Value::Bool(flag) => whole(*flag),
        Value::TinyInt(number) => whole(*number),
        Value::SmallInt(number) => whole(*number),
        Value::Int(number) => whole(*number),
        Value::BigInt(number) => whole(*number),
        Value::TinyUnsigned(number) => whole(*number),
        Value::SmallUnsigned(number) => whole(*number),
        Value::Unsigned(number) => whole(*number),
        Value::BigUnsigned(number) => {
            whole(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
        }
        Value::Float(number) => real(number.map(f64::from)),
        Value::Double(number) => real(*number),
        Value::String(text) => lent(text.as_ref().map(|text| ValueRef::Text(text.as_bytes()))),
        Value::Enum(OptionEnum::Some(one)) => lent(Some(ValueRef::Text(one.value.as_bytes()))),
        Value::Enum(OptionEnum::None(_)) => lent(None),
        Value::Char(sign) => ToSqlOutput::Owned(sign.map_or(types::Value::Null, |sign| {
            types::Value::Text(sign.to_string())
        })),
        Value::Bytes(bytes) => lent(bytes.as_ref().map(|bytes| ValueRef::Blob(bytes))),
    }
}

fn whole(number: Option<impl Into<i64>>) -> ToSqlOutput<'static> {
    lent(number.map(|number| ValueRef::Integer(number.into())))
}

fn real(number: Option<f64>) -> ToSqlOutput<'static> {
    lent(number.map(ValueRef::Real))
}

fn lent(value: Option<ValueRef<'_>>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null))
}

fn cell(value: ValueRef<'_>) -> rusqlite::Result<SqlCell> {
    Ok(match value {
        ValueRef::Null => SqlCell::Null,
        ValueRef::Integer(number) => SqlCell::Integer(number),
        ValueRef::Real(number) => SqlCell::Real(number),
        ValueRef::Text(_) => SqlCell::Text(value.as_str()?.to_owned()),
        ValueRef::Blob(bytes) => SqlCell::Bytes(bytes.to_owned()),
    })
}
