//! What a copy says of itself: of which backup it is, and what else is in that backup.

use super::database_file::DatabaseFile;
use crate::Result;
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;

const MAKE: &str =
    "CREATE TABLE IF NOT EXISTS ambit_backup (backup TEXT NOT NULL, parts TEXT NOT NULL)";

/// Of which backup a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupStamp {
    /// The backup's id.
    pub backup: String,
    /// The names of all the parts in it, of which the database is one.
    pub parts: Vec<String>,
}

impl BackupStamp {
    /// Reads the stamp of the database in this file; none where it was never restored.
    pub fn of(path: &Path) -> Result<Option<Self>> {
        let place = DatabaseFile::at(path)?;
        let connection = place.connect()?;
        read(&connection).map_err(|error| place.failed("reading of which backup it is", error))
    }

    /// Removes the stamp of the database in this file.
    pub fn forget(path: &Path) -> Result<()> {
        let place = DatabaseFile::at(path)?;
        let removed = place
            .connect()?
            .execute_batch("DROP TABLE IF EXISTS ambit_backup");
        removed.map_err(|error| place.failed("forgetting of which backup it is", error))
    }

    /// Writes it to a copy, in the place of the one that was copied.
    pub(super) fn write(&self, copy: &Connection) -> rusqlite::Result<()> {
        copy.execute_batch(MAKE)?;
        copy.execute("DELETE FROM ambit_backup", [])?;
        let values = (&self.backup, self.parts.join("\n"));
        copy.execute("INSERT INTO ambit_backup VALUES (?, ?)", values)?;
        Ok(())
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Option<BackupStamp>> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'ambit_backup'";
    let tables: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(None);
    }
    let sql = "SELECT backup, parts FROM ambit_backup";
    let stamp = connection.query_row(sql, [], |row| {
        let parts: String = row.get(1)?;
        Ok(BackupStamp {
            backup: row.get(0)?,
            parts: parts.lines().map(str::to_owned).collect(),
        })
    });
    stamp.optional()
}
