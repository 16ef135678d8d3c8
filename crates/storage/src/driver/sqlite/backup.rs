//! Copies of the store, or of several databases, at one point in time, made while others write.

use super::backup_stamp::BackupStamp;
use super::database_file::{DatabaseFile, SqliteResult};
use super::file_rights::{copy_rights, private_file};
use super::schema;
use crate::{Error, Result};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the name of a file ends with that is being put back.
pub const RESTORING: &str = ".restoring";

/// How long the writers of a database are held up for another one that is written to.
const HOLD: Duration = Duration::from_millis(50);
/// How long a backup waits for a moment at which nobody writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A database and the new file that it is copied to.
#[derive(Clone, Debug)]
pub struct BackupSource {
    /// The database.
    pub path: PathBuf,
    /// Its copy.
    pub copy: PathBuf,
}

/// What a copy turned out to be.
#[derive(Clone, Copy, Debug)]
pub struct CopiedDatabase {
    /// Whether it is a store, and no other database.
    pub is_store: bool,
    /// The version of its tables.
    pub schema: i64,
}

/// Copies several databases as they are at one and the same moment, and gives each copy a stamp.
pub fn copy_together(sources: &[BackupSource], stamp: &BackupStamp) -> Result<Vec<CopiedDatabase>> {
    let places = sources.iter().map(|source| DatabaseFile::at(&source.path));
    let places: Vec<DatabaseFile> = places.collect::<Result<_>>()?;
    let readers = snapshots(&places)?;
    let all = places.iter().zip(&readers).zip(sources);
    all.map(|((place, reader), source)| copy_stamped(place, reader, &source.copy, stamp))
        .collect()
}

/// Begins to read all of them at one moment: nobody writes to any while the reading begins, which takes no longer than a commit.
fn snapshots(places: &[DatabaseFile]) -> Result<Vec<Connection>> {
    let mut in_order: Vec<&DatabaseFile> = places.iter().collect();
    in_order.sort_by(|one, other| one.path.cmp(&other.path));
    let end = Instant::now() + PATIENCE;
    loop {
        match hold(&in_order) {
            Ok(_held) => return places.iter().map(snapshot).collect(),
            // Nothing is held any more. The next time it is waited for before others are held.
            Err((busy, Error::Busy { .. })) if Instant::now() < end => {
                in_order[..=busy].rotate_right(1);
            }
            Err((_, error)) => return Err(error),
        }
    }
}

/// Holds the writers of all of them up. The first is waited for; where another one is not free soon none is held, and that is said.
fn hold(places: &[&DatabaseFile]) -> std::result::Result<Vec<Connection>, (usize, Error)> {
    let all = places.iter().enumerate();
    all.map(|(at, place)| {
        let wait = if at == 0 { place.busy } else { HOLD };
        hold_one(place, wait).map_err(|error| (at, error))
    })
    .collect()
}

fn hold_one(place: &DatabaseFile, wait: Duration) -> Result<Connection> {
    schema::refuse_lost_file(place)?;
    let writer = place.connect()?;
    let locked = writer
        .busy_timeout(wait)
        .and_then(|()| writer.execute_batch("BEGIN IMMEDIATE"));
    locked.map_err(|error| place.failed("holding its writers up", error))?;
    Ok(writer)
}

fn snapshot(place: &DatabaseFile) -> Result<Connection> {
    let reader = place.connect()?;
    let begun = reader.execute_batch("BEGIN").and_then(|()| {
        // The first read fixes what is seen.
        reader.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    });
    begun.map_err(|error| place.failed("reading it", error))?;
    Ok(reader)
}

fn copy_stamped(
    place: &DatabaseFile,
    reader: &Connection,
    to: &Path,
    stamp: &BackupStamp,
) -> Result<CopiedDatabase> {
    let copying = || -> SqliteResult<CopiedDatabase> {
        let mut copy = Connection::open(to)?;
        fill(reader, &mut copy)?;
        let number = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, i64>(0));
        let copied = CopiedDatabase {
            is_store: number("PRAGMA application_id")? == i64::from(schema::APPLICATION),
            schema: number("PRAGMA user_version")?,
        };
        // Other databases have collations that only their programs know.
        if copied.is_store
            && let Some(finding) = schema::quick_check(&copy)?.first()
        {
            return Err(place.damaged(finding).into());
        }
        stamp.write(&copy)?;
        copy.close().map_err(|(_, error)| error)?;
        Ok(copied)
    };
    copying().map_err(|stop| place.error(&format!("copying it to {}", to.display()), stop))
}

/// Copies the database to a file that must not exist yet. It appears under its name only when it is whole.
pub fn copy(place: &DatabaseFile, to: &Path) -> Result<()> {
    if to.exists() {
        let reason = format!("{} exists already; name a new file", to.display());
        return Err(Error::invalid("backup", reason));
    }
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    remove(&partial)?;
    let copied = copy_pages(place, &partial).and_then(|()| settle(place, &partial, to));
    if copied.is_err() {
        remove(&partial)?;
    }
    copied
}

fn copy_pages(place: &DatabaseFile, to: &Path) -> Result<()> {
    let source = place.connect()?;
    let failed = |error| Error::unavailable(format!("the backup {}", to.display()), error);
    // Open to nobody else while it is filled.
    let made = private_file().create_new(true).open(to);
    made.map(drop).map_err(failed)?;
    let copying = || {
        let mut copy = Connection::open(to)?;
        fill(&source, &mut copy)?;
        copy.close().map_err(|(_, error)| error)
    };
    copying().map_err(|error| place.failed(&format!("copying it to {}", to.display()), error))
}

/// All pages in one step: the step is one read of the WAL, so it is one point in time and holds no writer up.
/// In smaller steps each write in between would begin the copy anew.
fn fill(source: &Connection, copy: &mut Connection) -> rusqlite::Result<()> {
    {
        let backup = Backup::new(source, copy)?;
        while backup.step(-1)? != StepResult::Done {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    // A copy is one file: without this it would ask for a WAL beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")
}

fn settle(place: &DatabaseFile, partial: &Path, to: &Path) -> Result<()> {
    let failed = |error| Error::unavailable(format!("the backup {}", to.display()), error);
    let synced = File::open(partial).and_then(|file| {
        copy_rights(&place.path, &file)?;
        file.sync_all()
    });
    synced.map_err(failed)?;
    std::fs::rename(partial, to).map_err(failed)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Not every system can sync a folder; the copy itself is synced.
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::unavailable(
            format!("the backup {}", file.display()),
            error,
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_written_to_for_long_holds_no_writer_of_another_up() {
        let folder = tempfile::tempdir().unwrap();
        let sources = ["a.db", "b.db"].map(|name| BackupSource {
            path: folder.path().join(name),
            copy: folder.path().join(format!("copy-{name}")),
        });
        let [one, other] = sources.each_ref().map(|source| {
            let made = Connection::open(&source.path).unwrap();
            let form = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (n)";
            made.execute_batch(form).unwrap();
            made
        });
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let backup = std::thread::spawn(move || {
            let stamp = BackupStamp {
                backup: "1".to_owned(),
                parts: Vec::new(),
            };
            copy_together(&sources, &stamp).map(|copied| copied.len())
        });
        // Longer than the backup has patience: held up until then, it fails.
        one.busy_timeout(PATIENCE * 2).unwrap();
        for n in 0..300 {
            one.execute("INSERT INTO t VALUES (?)", [n]).unwrap();
        }
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(backup.join().unwrap().unwrap(), 2);
    }
}
