//! One commit changes several files whole or not at all: what will be in them is written down first. Once the record
//! has its name the commit is decided; whoever finds it finishes it before doing anything else.

use super::folder::{COUNTER, REDO, ROWS, SPACES, StoreFolder};
use super::format;
use crate::driver::FaultPoints;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The new content of one file; `None` deletes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file, within the folder.
    pub file: String,
    /// Its text.
    pub text: Option<String>,
}

/// Makes these changes durable together.
pub fn write(
    folder: &StoreFolder,
    changes: &[FileChange],
    fault_points: &FaultPoints,
) -> Result<()> {
    fault_points.reach("file.begin");
    let body = serde_json::to_string(changes)
        .map_err(|error| Error::invalid("batch", format!("is not JSON: {error}")))?;
    folder.write_beside(REDO, &format!("{}\n{body}\n", format::checksum(&body)))?;
    fault_points.reach("file.redo_unnamed");
    folder.put_in_place(REDO)?;
    if let Err(error) = folder.sync_folder("") {
        // It may not outlive a power failure, so it must not be carried out either.
        folder.delete(REDO)?;
        return Err(error);
    }
    fault_points.reach("file.redo_written");
    if let Err(error) = apply(folder, changes, fault_points) {
        // The commit is decided all the same: the next caller finishes it before reading anything.
        tracing::warn!(store.name = %folder.root().display(), error.message = %error, "a commit is not yet in its files");
    }
    Ok(())
}

/// Finishes a commit that was decided and not carried out.
pub fn recover(folder: &StoreFolder) -> Result<()> {
    match pending(folder)? {
        Some(changes) => apply(folder, &changes, &FaultPoints::default()),
        None => Ok(()),
    }
}

/// True where a commit waits to be finished.
pub fn is_pending(folder: &StoreFolder) -> Result<bool> {
    let path = folder.path(REDO);
    path.try_exists()
        .map_err(|error| Error::unavailable(format!("looking for {}", path.display()), error))
}

/// The commit that waits to be finished.
pub fn pending(folder: &StoreFolder) -> Result<Option<Vec<FileChange>>> {
    let Some(text) = folder.read(REDO)? else {
        return Ok(None);
    };
    let corrupt = |reason: &str| Error::corrupt(folder.place(REDO), reason);
    let (sum, body) = text
        .split_once('\n')
        .ok_or_else(|| corrupt("it has no first line"))?;
    let body = body.trim_end_matches('\n');
    if format::checksum(body) != sum {
        return Err(corrupt(
            "its content is not the one its first line has the SHA-256 of",
        ));
    }
    let changes: Vec<FileChange> =
        serde_json::from_str(body).map_err(|error| corrupt(&error.to_string()))?;
    match changes.iter().find(|change| !is_ours(&change.file)) {
        Some(change) => Err(corrupt(&format!(
            "it names the foreign file {}",
            change.file
        ))),
        None => Ok(Some(changes)),
    }
}

fn apply(folder: &StoreFolder, changes: &[FileChange], fault_points: &FaultPoints) -> Result<()> {
    for (at, change) in changes.iter().enumerate() {
        match &change.text {
            Some(text) => folder.replace(&change.file, text)?,
            None => folder.delete(&change.file)?,
        }
        if at == 0 {
            fault_points.reach("file.partly_applied");
        }
    }
    for name in [SPACES, ROWS, ""] {
        folder.sync_folder(name)?;
    }
    folder.delete(REDO)?;
    folder.sync_folder("")?;
    fault_points.reach("file.applied");
    Ok(())
}

fn is_ours(file: &str) -> bool {
    let is_digest = |name: &str| {
        name.len() == 64
            && name
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let named = |(within, name): (&str, &str)| {
        [SPACES, ROWS].contains(&within) && name.strip_suffix(".json").is_some_and(is_digest)
    };
    file == COUNTER || file.split_once('/').is_some_and(named)
}
