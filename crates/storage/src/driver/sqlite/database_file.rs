//! Where a database is and how it is opened: the address, and the words of its errors.

pub(super) use crate::driver::integer::{signed, unsigned};

use crate::driver::WorkCounters;
use crate::{Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a lock of another process is waited for.
const BUSY: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct DatabaseFile {
    /// The file, absolute, so that a later change of the working directory moves nothing.
    pub path: PathBuf,
    /// How long a lock is waited for.
    pub busy: Duration,
    /// The size the file may grow to, so that tests can fill it.
    pub max_pages: Option<u32>,
    /// Counts what its connections do.
    pub work: WorkCounters,
}

/// Which files the paths of a database name: the database and its WAL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseFileIds([Option<(u64, u64)>; 2]);

/// Why a piece of work on the database ended.
#[derive(Debug)]
pub enum SqliteError {
    /// The work was judged and refused; the database is well.
    Refused(Error),
    Broken(rusqlite::Error),
}

impl From<Error> for SqliteError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

/// The result of work inside the database.
pub type SqliteResult<T> = std::result::Result<T, SqliteError>;

impl DatabaseFile {
    /// Reads `path/to/file.db?busy_ms=5000&max_pages=1000`; both options are optional.
    pub fn parse(address: &str) -> Result<Self> {
        let (path, options) = address.rsplit_once('?').unwrap_or((address, ""));
        if path.is_empty() {
            return Err(Error::invalid(
                "driver",
                "sqlite needs a file, for instance sqlite:data/ambit.db",
            ));
        }
        let mut place = Self::at(Path::new(path))?;
        for option in options.split('&').filter(|option| !option.is_empty()) {
            place.set(option)?;
        }
        Ok(place)
    }

    /// The database in this file, with what counts where an address has no options.
    pub fn at(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)
            .map_err(|error| Error::unavailable(format!("the path {}", path.display()), error))?;
        // SQLite keeps the WAL beside the file that a link leads to.
        let linked = path.is_symlink().then(|| path.canonicalize().ok());
        Ok(Self {
            path: linked.flatten().unwrap_or(path),
            busy: BUSY,
            max_pages: None,
            work: WorkCounters::default(),
        })
    }

    fn set(&mut self, option: &str) -> Result<()> {
        let bad = |reason: &str| {
            Error::invalid("driver", format!("the sqlite option \"{option}\" {reason}"))
        };
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number = value.parse::<u32>();
        let number = number.map_err(|_| bad("needs a whole number, for instance busy_ms=5000"));
        match name {
            "busy_ms" => self.busy = Duration::from_millis(number?.into()),
            "max_pages" => self.max_pages = Some(number?),
            _ => return Err(bad("is unknown; known are busy_ms and max_pages")),
        }
        Ok(())
    }

    /// The files as they are now.
    pub fn files(&self) -> DatabaseFileIds {
        DatabaseFileIds(["", "-wal"].map(|suffix| file_id(&self.beside(suffix))))
    }

    /// The bytes of the file, or of the one beside it; 0 where there is none.
    pub fn size(&self, suffix: &str) -> u64 {
        std::fs::metadata(self.beside(suffix)).map_or(0, |found| found.len())
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        PathBuf::from(path)
    }

    /// Fails where the files that were opened no longer have their names: what is written to them would be lost.
    pub fn ensure_same(&self, opened: DatabaseFileIds) -> Result<()> {
        if self.files() == opened {
            return Ok(());
        }
        Err(Error::Unavailable {
            what: format!(
                "the sqlite store {} (its file or the -wal beside it was deleted or replaced while it was open; open \
                 it again)",
                self.path.display()
            ),
            source: None,
        })
    }

    /// A new connection that waits for locks; the file is made if need be. A path is a path here, never a URI with
    /// options of its own.
    pub fn create(&self) -> Result<Connection> {
        self.connect_with(OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// A new connection to the file that is there.
    pub fn connect(&self) -> Result<Connection> {
        self.connect_with(OpenFlags::empty())
    }

    fn connect_with(&self, more: OpenFlags) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
        let mut connection = Connection::open_with_flags(&self.path, flags)
            .map_err(|error| self.failed("opening it", error))?;
        let work = self.work.clone();
        let prepare = || {
            connection.busy_timeout(self.busy)?;
            connection.set_prepared_statement_cache_capacity(128);
            // Else a statement is planned again whenever other values are bound to it.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            // Removed bytes are overwritten with zeros.
            connection.pragma_update(None, "secure_delete", "ON")?;
            let count = move |_: TraceEvent<'_>| work.add_statement();
            connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(count))
        };
        prepare().map_err(|error| self.failed("opening it", error))?;
        Ok(connection)
    }

    /// What a failure of the database means.
    pub fn failed(&self, doing: &str, error: rusqlite::Error) -> Error {
        let path = self.path.display();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::busy(
                format!("the sqlite store {path}"),
                format!(
                    "another process has held its lock for more than {} ms",
                    self.busy.as_millis()
                ),
            ),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.damaged(error),
            Some(_) => Error::unavailable(format!("the sqlite store {path} ({doing})"), error),
            None if is_misfit(&error) => self.damaged(error),
            None => Error::unavailable(format!("the sqlite store {path} ({doing})"), error),
        }
    }

    /// The file is not what was written.
    pub fn damaged(&self, reason: impl std::fmt::Display) -> Error {
        Error::corrupt(
            format!("the sqlite store {}", self.path.display()),
            format!(
                "{reason}; it is left as it is. To restore it, stop every process that uses it, move it and its \
                 -wal and -shm files away, with the models.db of the same backup, and run `ambit restore`"
            ),
        )
    }

    /// The answer to every call after `close`.
    pub fn closed(&self) -> Error {
        Error::closed(format!("the sqlite store {}", self.path.display()))
    }

    pub fn error(&self, doing: &str, stop: SqliteError) -> Error {
        match stop {
            SqliteError::Refused(error) => error,
            SqliteError::Broken(error) => self.failed(doing, error),
        }
    }
}

/// What tells a file from all others, where the system allows a file that is open to lose its name.
#[cfg(unix)]
fn file_id(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn file_id(_path: &Path) -> Option<(u64, u64)> {
    None
}

/// True where a column does not hold what was written there.
fn is_misfit(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
