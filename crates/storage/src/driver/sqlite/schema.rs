//! Bringing a file to the present form, once, however many processes open it at the same time.

use super::backup::RESTORING;
use super::database_file::{DatabaseFile, SqliteError, SqliteResult};
use crate::driver::{Durability, FaultPoints, WorkCounters};
use crate::{Error, Result};
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode};
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// The bundled SQLite must be at least this one: older ones can lose a commit when the WAL is reset.
const OLDEST_SQLITE: i32 = 3_051_003;

/// "Ambt": tells our files from those of other programs.
pub const APPLICATION: i32 = 0x416D_6274;

/// What brings a file from each version to the next; `PRAGMA user_version` counts how many were done.
pub const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("tally.sql"),
    include_str!("log.sql"),
    include_str!("body.sql"),
];

/// The version that a file has which this program wrote.
pub const VERSION: usize = MIGRATIONS.len();

/// A WAL of so many pages is copied into the database.
const LONG_WAL: c_int = 1_000;

/// Up to this size a file is checked whole when it is opened, which takes some 20 ms.
const CHECKED_AT_OPEN: u64 = 8 << 20;

/// Fails with an SQLite that is too old.
pub fn refuse_old_sqlite(version: i32) -> Result<()> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    Err(Error::internal(format!(
        "built with SQLite {version}, which can lose commits; {OLDEST_SQLITE} or newer is needed"
    )))
}

/// The settings of the one connection that writes.
pub fn prepare_writer(
    connection: &mut Connection,
    place: &DatabaseFile,
    durability: Durability,
) -> Result<()> {
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    let settings = || {
        connection.pragma_update(None, "synchronous", synchronous)?;
        // In KiB. Pages that were used are kept up to this; others come from the system's page cache.
        connection.pragma_update(None, "cache_size", -4_000)?;
        if let Some(pages) = place.max_pages {
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        }
        Ok(())
    };
    settings()
        .and_then(|()| count_pages(connection, place.work.clone()))
        .map_err(|error| place.failed("opening it", error))
}

/// Counts the pages of each commit, and does what SQLite does where nobody looks: it copies a long WAL into the database.
fn count_pages(connection: &mut Connection, work: WorkCounters) -> rusqlite::Result<()> {
    let mut before = 0;
    connection.wal_hook(Some(move |wal: &mut Wal, pages: c_int| {
        // The WAL begins anew once all of it has been copied.
        let new = if pages < before {
            pages
        } else {
            pages - before
        };
        before = pages;
        work.add_pages(u64::try_from(new).unwrap_or(0));
        if pages >= LONG_WAL {
            // What holds it up now, as a reader does, need not do so at the next commit.
            let _ = wal.checkpoint();
        }
        Ok(())
    }))
}

/// Fails where the file is gone and its WAL is not: SQLite would delete what may be the only copy, and begin empty.
pub fn refuse_lost_file(place: &DatabaseFile) -> Result<()> {
    // The WAL first: whoever makes a new database writes to the file before.
    if place.size("-wal") > 0 && place.size("") == 0 {
        return Err(place.damaged("it is missing or empty, and there is a -wal of it"));
    }
    Ok(())
}

/// Fails where a restore of the file was broken off: what belongs to it may be there, and an empty store would begin beside it.
pub fn refuse_unfinished_restore(place: &DatabaseFile) -> Result<()> {
    if place.size("") > 0 || place.size(RESTORING) == 0 {
        return Ok(());
    }
    let path = place.path.display();
    let reason = format!(
        "{path} is being restored, or that was broken off: run `ambit restore` again, or remove {path}{RESTORING} to begin an empty store"
    );
    Err(Error::invalid("driver", reason))
}

/// Makes the file a database of this version in WAL mode, or says why it cannot be one.
pub fn bring_up(connection: &Connection, place: &DatabaseFile, faults: &FaultPoints) -> Result<()> {
    enter_wal(connection, place)?;
    let found =
        migrate(connection, place, faults).map_err(|stop| place.error("preparing it", stop))?;
    if found == 0 {
        return Ok(());
    }
    refuse_damage(connection, place)
}

/// The change to WAL answers "busy" at once while another process makes it, so it is repeated here. It stays in the
/// file, so a file that is not ours is refused before.
fn enter_wal(connection: &Connection, place: &DatabaseFile) -> Result<()> {
    let deadline = Instant::now() + place.busy.max(Duration::from_secs(1));
    let change = || {
        if known_version(connection, place)? == 0 {
            // Pages that nothing uses can be given back; a file says so from its beginning.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        let sql = "PRAGMA journal_mode = WAL";
        let mode: String = connection.query_row(sql, [], |row| row.get(0))?;
        Ok(mode)
    };
    loop {
        match change() {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(Error::Unavailable {
                    what: format!(
                        "the sqlite store {} (it stays in journal mode {mode} where WAL is needed)",
                        place.path.display()
                    ),
                    source: None,
                });
            }
            Err(SqliteError::Broken(error)) if is_busy(&error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(stop) => return Err(place.error("opening it", stop)),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Does the missing migrations in one transaction; the answer is the version that was found.
fn migrate(
    connection: &Connection,
    place: &DatabaseFile,
    faults: &FaultPoints,
) -> SqliteResult<usize> {
    if known_version(connection, place)? == MIGRATIONS.len() {
        return Ok(MIGRATIONS.len());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let migrated = migrate_locked(connection, place, faults);
    if migrated.is_ok() {
        connection.execute_batch("COMMIT")?;
    } else {
        // The reason of the failure is worth more than that of a failing rollback, which the end of the connection does too.
        let _ = connection.execute_batch("ROLLBACK");
    }
    migrated
}

fn migrate_locked(
    connection: &Connection,
    place: &DatabaseFile,
    faults: &FaultPoints,
) -> SqliteResult<usize> {
    let found = known_version(connection, place)?;
    for migration in &MIGRATIONS[found..] {
        connection.execute_batch(migration)?;
    }
    if found < MIGRATIONS.len() {
        faults.reach("sqlite.migrate");
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    }
    Ok(found)
}

/// The file's version, if this program may work on the file.
fn known_version(connection: &Connection, place: &DatabaseFile) -> SqliteResult<usize> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    // The tables first: another process that makes them now sets the other two with them.
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let version = number("PRAGMA user_version")?;
    let application = number("PRAGMA application_id")?;
    let path = place.path.display();
    if tables > 0 && application != i64::from(APPLICATION) {
        let reason = format!("{path} is the SQLite database of another program; name another file");
        return Err(SqliteError::Refused(Error::invalid("driver", reason)));
    }
    let known = MIGRATIONS.len();
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        _ => Err(SqliteError::Refused(Error::invalid(
            "driver",
            format!(
                "{path} has schema version {version}, this program knows versions up to {known}; use the ambit that \
                 wrote it or a newer one"
            ),
        ))),
    }
}

/// Fails where the file is visibly damaged: a small one is read whole, of a large one the ends of its tables.
fn refuse_damage(connection: &Connection, place: &DatabaseFile) -> Result<()> {
    let findings = if place.size("") <= CHECKED_AT_OPEN {
        quick_check(connection)
    } else {
        read_ends(connection).map(|()| Vec::new())
    };
    let findings = findings.map_err(|error| place.failed("checking it", error))?;
    findings
        .first()
        .map_or(Ok(()), |finding| Err(place.damaged(finding)))
}

fn read_ends(connection: &Connection) -> rusqlite::Result<()> {
    // One of each at a time: asked for both ends at once, SQLite reads all that is between them.
    for sql in [
        "SELECT max(id) FROM space",
        "SELECT max(path) FROM space",
        "SELECT max(space) FROM log",
        "SELECT min(id) FROM entry",
        "SELECT max(id) FROM entry",
        "SELECT max(log) FROM entry",
        "SELECT max(entry_id) FROM entry",
        "SELECT max(space) FROM value",
        "SELECT max(id) FROM body",
        "SELECT max(space) FROM item",
        "SELECT max(ordinal) FROM identity",
        "SELECT max(tenant) FROM identity",
        "SELECT max(tenant) FROM touch",
        "SELECT value FROM counter",
    ] {
        connection.query_row(sql, [], |_| Ok(()))?;
    }
    Ok(())
}

/// What SQLite itself finds wrong with the file.
pub fn quick_check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA quick_check(100)")?;
    let findings = statement.query_map([], |row| row.get::<_, String>(0))?;
    let findings: Vec<String> = findings.collect::<rusqlite::Result<_>>()?;
    Ok(findings
        .into_iter()
        .filter(|finding| finding != "ok")
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g135_the_bundled_sqlite_is_new_enough_and_an_old_one_is_refused() {
        assert!(refuse_old_sqlite(rusqlite::version_number()).is_ok());
        assert!(refuse_old_sqlite(3_051_002).is_err());
    }
}
