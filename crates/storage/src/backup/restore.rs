//! Putting a backup back: all of it or nothing.
//!
//! Copies are written beside their places under names of their own and checked there. Then each gets its name, the file that keeps
//! the index last: until it is there, a store that would be begun in its place is refused.

use super::folder::{self, DataFile, FileDigest, copy_digested, failed};
use super::manifest::{BackupFile, BackupManifest, refused};
use crate::driver::sqlite::backup::RESTORING;
use crate::driver::sqlite::file_rights::{copy_rights, private_file};
use crate::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The files that SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// One file that is put back.
struct RestoreStep<'a> {
    from: PathBuf,
    to: &'a Path,
    expected: &'a BackupFile,
}

/// Puts the files of a backup where these parts of the installation are. Nothing is written over: only a file that is the same
/// already may be there, as after a restore that was broken off.
pub fn restore_backup(folder: &Path, places: &[DataFile]) -> Result<BackupManifest> {
    let manifest = BackupManifest::read(folder)?;
    check_others(folder, &manifest, places)?;
    let steps = manifest.files.iter();
    let steps = steps.map(|file| RestoreStep::of(folder, file, places));
    put_back(folder, steps.collect::<Result<_>>()?)?;
    Ok(manifest)
}

/// What is there of a part that the backup does not have would stand beside files of another moment.
fn check_others(folder: &Path, manifest: &BackupManifest, places: &[DataFile]) -> Result<()> {
    let is_in = |part: &str| manifest.files.iter().any(|file| file.part == part);
    let mut others = places.iter().filter(|place| !is_in(&place.part));
    let Some(other) = others.find(|place| place.path.exists()) else {
        return Ok(());
    };
    let reason = format!(
        "has no part \"{}\", and {} is there; move it away",
        other.part,
        other.path.display()
    );
    Err(refused(folder, &reason))
}

fn put_back(folder: &Path, steps: Vec<RestoreStep<'_>>) -> Result<()> {
    for step in &steps {
        step.check_copy(folder)?;
    }
    let in_the_way: Vec<PathBuf> = steps.iter().filter_map(RestoreStep::in_the_way).collect();
    if !in_the_way.is_empty() {
        return Err(would_write_over(folder, &in_the_way));
    }
    let (all, mut missing) = (steps.len(), steps);
    missing.retain(|step| !step.is_done());
    let mut held = Vec::new();
    let put = write_all(folder, &missing, &mut held).and_then(|()| place_all(&missing));
    if put.is_err() {
        // Where an earlier try has placed some, the first one goes on to keep a store from being begun beside them.
        let kept = usize::from(missing.len() < all);
        for step in missing.iter().take(held.len()).skip(kept) {
            // What is left has a name that the next try writes over.
            let _ = fs::remove_file(step.partial());
        }
    }
    put
}

/// Writes all files beside their places, which are `held` from then on.
fn write_all(folder: &Path, steps: &[RestoreStep<'_>], held: &mut Vec<File>) -> Result<()> {
    for step in steps {
        held.push(step.claim(folder)?);
    }
    let mut files = steps.iter().zip(held);
    files.try_for_each(|(step, file)| step.write(folder, file))
}

/// Gives all files their names, the last one first; undone where one fails.
fn place_all(steps: &[RestoreStep<'_>]) -> Result<()> {
    let mut placed = Vec::new();
    for step in steps.iter().rev() {
        if let Err(error) = step.place() {
            for path in placed {
                let _ = fs::remove_file(path);
            }
            return Err(error);
        }
        placed.push(step.to);
    }
    Ok(())
}

impl<'a> RestoreStep<'a> {
    fn of(folder: &Path, expected: &'a BackupFile, places: &'a [DataFile]) -> Result<Self> {
        let place = places.iter().find(|place| place.part == expected.part);
        let place = place.ok_or_else(|| {
            let reason = format!(
                "has the part \"{}\", and no SQLite file of that part is set up here; name the stores as for the server of the backup",
                expected.part
            );
            refused(folder, &reason)
        })?;
        Ok(Self {
            from: folder.join(&expected.file),
            to: &place.path,
            expected,
        })
    }

    /// The copy must be a plain file with the content that the manifest tells.
    fn check_copy(&self, folder: &Path) -> Result<()> {
        let found = fs::symlink_metadata(&self.from);
        let found = found.map_err(|error| failed(&self.from, error))?;
        if !found.is_file() {
            let reason = format!("has {}, which is no plain file", self.expected.file);
            return Err(refused(folder, &reason));
        }
        let digest = copy_digested(&self.from, &mut std::io::sink());
        self.check_digest(folder, &digest.map_err(|error| failed(&self.from, error))?)
    }

    fn check_digest(&self, folder: &Path, digest: &FileDigest) -> Result<()> {
        if self.is_expected(digest) {
            return Ok(());
        }
        let reason = format!(
            "has another {} than its manifest tells: it was changed or damaged",
            self.expected.file
        );
        Err(refused(folder, &reason))
    }

    fn is_expected(&self, digest: &FileDigest) -> bool {
        (digest.bytes, &digest.sha256) == (self.expected.bytes, &self.expected.sha256)
    }

    /// What is in its place, unless that is the very file: the database, which people know, before those that are left of one.
    fn in_the_way(&self) -> Option<PathBuf> {
        let mut others = BESIDE.iter().map(|suffix| beside(self.to, suffix));
        let left = others.find(|path| path.exists());
        if !self.to.exists() {
            return left;
        }
        let is_same = left.is_none()
            && copy_digested(self.to, &mut std::io::sink())
                .is_ok_and(|digest| self.is_expected(&digest));
        (!is_same).then(|| self.to.to_owned())
    }

    /// Whether the file is there already; no other one is.
    fn is_done(&self) -> bool {
        let is_done = self.to.exists();
        if is_done {
            // Killed between the two, a restore leaves the file with both of its names.
            let _ = fs::remove_file(self.partial());
        }
        is_done
    }

    fn partial(&self) -> PathBuf {
        beside(self.to, RESTORING)
    }

    /// Opens the file that the copy is written to, which another process must not write too.
    fn claim(&self, folder: &Path) -> Result<File> {
        let partial = self.partial();
        let opening = || -> std::io::Result<File> {
            if let Some(parent) = self.to.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut options = private_file();
            options.create(true).truncate(false);
            let file = options.open(&partial)?;
            if !has_other_name(&file)? {
                return Ok(file);
            }
            // It was placed once, and is elsewhere now.
            fs::remove_file(&partial)?;
            options.open(&partial)
        };
        let file = opening().map_err(|error| failed(&partial, error))?;
        match file.try_lock() {
            Err(TryLockError::Error(error)) => return Err(failed(&partial, error)),
            Err(TryLockError::WouldBlock) => {
                let reason = format!(
                    "is being restored by another process, to {}",
                    self.to.display()
                );
                return Err(refused(folder, &reason));
            }
            Ok(()) => {}
        }
        // Another process may have placed the very file meanwhile.
        match self.to.exists() {
            true => Err(would_write_over(folder, &[self.to.to_owned()])),
            false => Ok(file),
        }
    }

    fn write(&self, folder: &Path, mut file: &File) -> Result<()> {
        let mut writing = || -> std::io::Result<FileDigest> {
            let digest = copy_digested(&self.from, &mut file)?;
            // Not before: an empty one keeps no store from being begun.
            file.set_len(digest.bytes)?;
            copy_rights(&self.from, file)?;
            file.sync_all()?;
            Ok(digest)
        };
        let digest = writing().map_err(|error| failed(&self.partial(), error))?;
        self.check_digest(folder, &digest)
    }

    fn place(&self) -> Result<()> {
        if self.to.exists() {
            return Err(Error::invalid(
                "backup",
                format!("would write over {}, which is new", self.to.display()),
            ));
        }
        let partial = self.partial();
        // A second name is never put over what is there, as a new name could be.
        let placed = match fs::hard_link(&partial, self.to) {
            Ok(()) => fs::remove_file(&partial),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            // Not every file system has second names.
            Err(_) => fs::rename(&partial, self.to),
        };
        placed.map_err(|error| failed(self.to, error))?;
        if let Some(parent) = self.to.parent() {
            folder::sync(parent);
        }
        Ok(())
    }
}

fn would_write_over(folder: &Path, paths: &[PathBuf]) -> Error {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let reason = format!(
        "would write over {}; stop what uses them and move databases away with the -wal and -shm beside them, or name another folder \
         with --data",
        paths.join(" and ")
    );
    refused(folder, &reason)
}

#[cfg(unix)]
fn has_other_name(file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_name(_file: &File) -> std::io::Result<bool> {
    Ok(false)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::write_backup;
    use rusqlite::Connection;

    /// A backup of three databases, and new places for them.
    fn backed_up(folder: &Path) -> (PathBuf, Vec<DataFile>) {
        let files = |folder: &Path| -> Vec<DataFile> {
            let parts = ["store", "other", "models"].into_iter();
            let files = parts.map(|part| DataFile {
                part: part.to_owned(),
                path: folder.join(format!("{part}.db")),
            });
            files.collect()
        };
        let own = files(folder);
        for file in &own {
            let made = Connection::open(&file.path).unwrap();
            made.execute_batch("CREATE TABLE a (b)").unwrap();
        }
        let (backup, new) = (folder.join("backup"), folder.join("new"));
        write_backup(&backup, &own, Vec::new()).unwrap();
        fs::create_dir(&new).unwrap();
        (backup, files(&new))
    }

    fn locked(path: &Path) -> File {
        let file = File::create(path).unwrap();
        file.lock().unwrap();
        file
    }

    #[test]
    fn what_another_process_puts_back_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (backup, new) = backed_up(folder.path());
        let partial = folder.path().join("new/other.db.restoring");
        let other = locked(&partial);
        let refused = restore_backup(&backup, &new).unwrap_err().to_string();
        assert!(refused.contains("by another process"), "{refused}");
        assert!(partial.exists());
        assert!(!folder.path().join("new/store.db.restoring").exists());
        drop(other);
        restore_backup(&backup, &new).unwrap();
        assert!(new.iter().all(|file| file.path.exists()));
        assert!(!partial.exists());
    }

    #[test]
    fn a_second_try_that_fails_keeps_the_store_from_being_begun() {
        let folder = tempfile::tempdir().unwrap();
        let (backup, new) = backed_up(folder.path());
        // The first try has placed one file.
        fs::copy(backup.join("models.db"), &new[2].path).unwrap();
        let guard = folder.path().join("new/store.db.restoring");
        fs::write(&guard, "half").unwrap();
        let other = locked(&folder.path().join("new/other.db.restoring"));
        restore_backup(&backup, &new).unwrap_err();
        assert!(guard.metadata().unwrap().len() > 0);
        drop(other);
        restore_backup(&backup, &new).unwrap();
        assert!(!guard.exists());
    }

    #[cfg(unix)]
    #[test]
    fn copies_are_open_to_those_alone_to_whom_the_originals_are() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (_, new) = backed_up(folder.path());
        let own = new.iter().map(|file| DataFile {
            part: file.part.clone(),
            path: folder.path().join(format!("{}.db", file.part)),
        });
        let own: Vec<DataFile> = own.collect();
        let modes = [0o600, 0o640, 0o644];
        for (file, mode) in own.iter().zip(modes) {
            fs::set_permissions(&file.path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let backup = folder.path().join("again");
        write_backup(&backup, &own, Vec::new()).unwrap();
        let found = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let copies = ["store.db", "other.db", "models.db"].map(|name| backup.join(name));
        assert_eq!(copies.each_ref().map(|path| found(path)), modes);
        restore_backup(&backup, &new).unwrap();
        let restored: Vec<u32> = new.iter().map(|file| found(&file.path)).collect();
        assert_eq!(restored, modes);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_placed_and_moved_away_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let (backup, new) = backed_up(folder.path());
        let away = folder.path().join("away.db");
        fs::write(&away, "mine").unwrap();
        fs::hard_link(&away, folder.path().join("new/store.db.restoring")).unwrap();
        restore_backup(&backup, &new).unwrap();
        assert_eq!(fs::read(&away).unwrap(), b"mine");
    }
}
