//! Which files of an installation do not belong together: those of different backups, and what was not restored with the rest.

use super::BackupStamp;
use super::folder::DataFile;
use crate::Result;
use crate::doctor::Finding;

/// A file, and where it comes from.
struct FileOrigin<'a> {
    file: &'a DataFile,
    is_there: bool,
    /// None where it was never restored.
    stamp: Option<BackupStamp>,
}

/// Compares from which backups these files come. Files that were never restored belong together.
pub fn examine_files(files: &[DataFile]) -> Result<Vec<Finding>> {
    let origins = files.iter().map(FileOrigin::of);
    let origins: Vec<FileOrigin<'_>> = origins.collect::<Result<_>>()?;
    let mut findings = Vec::new();
    for (at, origin) in origins.iter().enumerate() {
        let others = origins.iter().enumerate();
        // Of two that are restored the first one tells.
        let others = others.filter(|(other, it)| *other > at || it.stamp.is_none());
        findings.extend(others.filter_map(|(_, other)| origin.compare(other)));
    }
    Ok(findings)
}

/// Takes these files, as they are, as belonging together.
pub fn accept_files(files: &[DataFile]) -> Result<()> {
    let mut there = files.iter().filter(|file| file.path.exists());
    there.try_for_each(|file| BackupStamp::forget(&file.path))
}

impl<'a> FileOrigin<'a> {
    fn of(file: &'a DataFile) -> Result<Self> {
        let is_there = file.path.exists();
        let stamp = match is_there {
            true => BackupStamp::of(&file.path)?,
            false => None,
        };
        Ok(Self {
            file,
            is_there,
            stamp,
        })
    }

    /// What is wrong with another file, if the backup of this one has both.
    fn compare(&self, other: &Self) -> Option<Finding> {
        let stamp = self.stamp.as_ref()?;
        let (own, part) = (&self.file.part, &other.file.part);
        if own == part || !stamp.parts.contains(part) {
            return None;
        }
        let backup = &stamp.backup;
        let what = match &other.stamp {
            Some(found) if found.backup == *backup => return None,
            Some(found) => format!(
                "{part} is of backup {}, and {own} of backup {backup}: restore both from one",
                found.backup
            ),
            None if other.is_there => format!(
                "{part} was not restored with {own}, which is of backup {backup}: restore both from it"
            ),
            None => format!(
                "{part} is missing, and was not restored with {own}, which is of backup {backup}"
            ),
        };
        Some(Finding {
            place: other.file.path.display().to_string(),
            what,
            is_mended: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::{restore_backup, write_backup};
    use rusqlite::Connection;
    use std::path::Path;

    fn files(folder: &Path) -> Vec<DataFile> {
        let file = |part: &str| DataFile {
            part: part.to_owned(),
            path: folder.join(format!("{part}.db")),
        };
        vec![file("store"), file("models")]
    }

    fn found(files: &[DataFile]) -> Vec<String> {
        let findings = examine_files(files).unwrap().into_iter();
        findings.map(|finding| finding.what).collect()
    }

    #[test]
    fn files_of_two_backups_are_told_until_they_are_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = files(folder);
        for file in &own {
            let made = Connection::open(&file.path).unwrap();
            made.execute_batch("CREATE TABLE a (b)").unwrap();
        }
        assert_eq!(found(&own), [""; 0]);
        let (one, two) = (folder.join("one"), folder.join("two"));
        let one = (write_backup(&one, &own, Vec::new()).unwrap().id, one);
        let two = (write_backup(&two, &own, Vec::new()).unwrap().id, two);
        let new = files(&folder.join("new"));
        restore_backup(&one.1, &new).unwrap();
        assert_eq!(found(&new), [""; 0]);

        std::fs::remove_file(&new[1].path).unwrap();
        let missing = format!(
            "models is missing, and was not restored with store, which is of backup {}",
            one.0
        );
        assert_eq!(found(&new), [missing]);
        std::fs::copy(&own[1].path, &new[1].path).unwrap();
        let original = format!(
            "models was not restored with store, which is of backup {}: restore both from it",
            one.0
        );
        assert_eq!(found(&new), [original]);
        std::fs::copy(two.1.join("models.db"), &new[1].path).unwrap();
        let mixed = format!(
            "models is of backup {}, and store of backup {}: restore both from one",
            two.0, one.0
        );
        assert_eq!(found(&new), [mixed]);
        accept_files(&new).unwrap();
        assert_eq!(found(&new), [""; 0]);
    }
}
