//! A copy of the store at one point in time, made while others write.

use super::database_file::DatabaseFile;
use crate::{Error, Result};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::fs::File;
use std::path::{Path, PathBuf};

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
    let copied = copy_pages(place, &partial).and_then(|()| settle(&partial, to));
    if copied.is_err() {
        remove(&partial)?;
    }
    copied
}

/// All pages in one step: the step is one read of the WAL, so it is one point in time and holds no writer up.
/// In smaller steps each write in between would begin the copy anew.
fn copy_pages(place: &DatabaseFile, to: &Path) -> Result<()> {
    let source = place.connect()?;
    let copying = || {
        let mut copy = Connection::open(to)?;
        {
            let backup = Backup::new(&source, &mut copy)?;
            while backup.step(-1)? != StepResult::Done {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        // A copy is one file: without this it would ask for a WAL beside it.
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        copy.close().map_err(|(_, error)| error)
    };
    copying().map_err(|error| place.failed(&format!("copying it to {}", to.display()), error))
}

fn settle(partial: &Path, to: &Path) -> Result<()> {
    let failed = |error| Error::unavailable(format!("the backup {}", to.display()), error);
    File::open(partial)
        .and_then(|file| file.sync_all())
        .map_err(failed)?;
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
