//! A backup of all SQLite files of an installation in one folder, made while others write.

use super::manifest::{BackupFile, BackupManifest, FORMAT, MANIFEST, PARTIAL_MANIFEST, refused};
use crate::address::hex;
use crate::driver::sqlite::backup::{BackupSource, CopiedDatabase, copy_together};
use crate::driver::sqlite::backup_stamp::BackupStamp;
use crate::driver::sqlite::file_rights::{copy_rights, private_file};
use crate::{Error, Result, ids};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// A file of an installation, and which part of it that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// The part's name: `store sqlite`, `models`.
    pub part: String,
    /// The file.
    pub path: PathBuf,
}

/// How long a file is, and its SHA-256.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileDigest {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// Copies SQLite files, as they are at one and the same moment, to a folder that is new or empty. The first is the one that keeps
/// the index. `elsewhere` are the parts that are copied otherwise.
pub fn write_backup(
    folder: &Path,
    files: &[DataFile],
    elsewhere: Vec<String>,
) -> Result<BackupManifest> {
    let is_made = begin(folder)?;
    let sources = sources(folder, files);
    let parts = files.iter().map(|file| file.part.clone());
    let stamp = BackupStamp {
        backup: ids::unguessable(),
        parts: parts.collect(),
    };
    let begun = sources.iter().try_for_each(begin_copy);
    let copied = begun.and_then(|()| copy_together(&sources, &stamp));
    let copied = copied.and_then(|copied| {
        let all = files.iter().zip(&sources).zip(copied);
        all.map(|((file, source), copied)| described(&file.part, source, copied))
            .collect::<Result<Vec<BackupFile>>>()
    });
    let written = copied.and_then(|files| {
        let manifest = BackupManifest {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            id: stamp.backup,
            taken_at: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            files,
            elsewhere,
        };
        manifest.write(folder)?;
        Ok(manifest)
    });
    if written.is_err() {
        // What is left of a copy is refused for want of a manifest; taking it away is a courtesy.
        for source in &sources {
            let _ = std::fs::remove_file(&source.copy);
        }
        let _ = std::fs::remove_file(folder.join(PARTIAL_MANIFEST));
        if is_made {
            let _ = std::fs::remove_dir(folder);
        }
    }
    written
}

/// Makes the folder, or takes one that is empty; no other backup begins in it then. Says whether it was made.
fn begin(folder: &Path) -> Result<bool> {
    let beginning = || -> std::io::Result<bool> {
        let is_made = !folder.try_exists()?;
        std::fs::create_dir_all(folder)?;
        let mut inside = std::fs::read_dir(folder)?;
        if inside.next().is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        File::create_new(folder.join(PARTIAL_MANIFEST))?;
        Ok(is_made)
    };
    beginning().map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            refused(folder, "exists already and is not empty; name a new folder")
        }
        _ => failed(folder, error),
    })
}

/// Each file under its own name, as far as no two have the same, also where case does not count, and it is a name on every system.
fn sources(folder: &Path, files: &[DataFile]) -> Vec<BackupSource> {
    let mut taken = vec![MANIFEST.to_owned()];
    let mut sources = Vec::new();
    for file in files {
        let name = file.path.file_name().unwrap_or_default();
        let mut name = name.to_string_lossy().replace('\\', "-");
        while taken.contains(&name.to_lowercase()) {
            name = format!("other-{name}");
        }
        sources.push(BackupSource {
            path: file.path.clone(),
            copy: folder.join(&name),
        });
        taken.push(name.to_lowercase());
    }
    sources
}

/// Makes the file of a copy, so that it is open to nobody else while it is filled.
fn begin_copy(source: &BackupSource) -> Result<()> {
    let made = private_file().create_new(true).open(&source.copy);
    made.map(drop).map_err(|error| failed(&source.copy, error))
}

fn described(part: &str, source: &BackupSource, copied: CopiedDatabase) -> Result<BackupFile> {
    let copy = &source.copy;
    let read = File::open(copy).and_then(|file| {
        copy_rights(&source.path, &file)?;
        file.sync_all()?;
        copy_digested(copy, &mut std::io::sink())
    });
    let digest = read.map_err(|error| failed(copy, error))?;
    let name = copy.file_name().unwrap_or_default();
    Ok(BackupFile {
        part: part.to_owned(),
        file: name.to_string_lossy().into_owned(),
        is_store: copied.is_store,
        schema: copied.schema,
        bytes: digest.bytes,
        sha256: digest.sha256,
    })
}

/// Writes what a file holds, and says what that was.
pub(super) fn copy_digested(from: &Path, to: &mut impl Write) -> std::io::Result<FileDigest> {
    let mut file = File::open(from)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(FileDigest {
                bytes,
                sha256: hex(&hash.finalize()),
            });
        }
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
}

/// Has the names in a folder last. Not every system can sync a folder; the files themselves are synced.
pub(super) fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// What a failure of the files means.
pub(super) fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::unavailable(format!("the backup, at {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_that_fails_leaves_the_folder_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let missing = DataFile {
            part: "models".to_owned(),
            path: place.path().join("missing.db"),
        };
        let (there, made) = (place.path().join("there"), place.path().join("made"));
        std::fs::create_dir(&there).unwrap();
        for folder in [&there, &made] {
            let failed = write_backup(folder, std::slice::from_ref(&missing), Vec::new());
            assert!(failed.is_err());
        }
        assert_eq!(there.read_dir().unwrap().count(), 0);
        assert!(!made.exists());
    }

    #[test]
    fn copies_have_names_that_differ_in_more_than_case() {
        let file = |path: &str| DataFile {
            part: path.to_owned(),
            path: PathBuf::from(path),
        };
        let files = ["a/Main.db", "b/main.db", "Manifest.json"].map(file);
        let sources = sources(Path::new("b"), &files);
        let names: Vec<&Path> = sources.iter().map(|source| &*source.copy).collect();
        let expected = ["b/Main.db", "b/other-main.db", "b/other-Manifest.json"];
        assert_eq!(names, expected.map(Path::new));
    }
}
