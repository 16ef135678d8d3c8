//! What says of a backup what it holds. It is written last: a folder without it is no whole backup.

use super::folder;
use crate::driver::sqlite::schema;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Its file in the folder of a backup.
pub(super) const MANIFEST: &str = "manifest.json";
/// Its name until it is whole. Who makes it has the folder for himself.
pub(super) const PARTIAL_MANIFEST: &str = "manifest.json.partial";
/// The form that this program writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// The form of the manifest.
    pub format: u32,
    /// The version of the program that made the backup.
    pub program: String,
    /// The backup's own id, which its files hold too.
    pub id: String,
    /// When it was made, in UTC.
    pub taken_at: String,
    /// The copies; the one that keeps the index first.
    pub files: Vec<BackupFile>,
    /// The names of the parts that are copied with tools of their own.
    pub elsewhere: Vec<String>,
}

/// One copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Which part of the installation it is: `store sqlite`, `models`.
    pub part: String,
    /// Its name in the folder.
    pub file: String,
    /// Whether it is a store.
    pub is_store: bool,
    /// The version of its tables.
    pub schema: i64,
    /// How long it is.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}

/// What is read of manifests of all forms.
#[derive(Deserialize)]
struct ManifestForm {
    format: u32,
    program: String,
}

impl BackupFile {
    /// Whether it is a store of the form that this program writes, so that opening the original changes nothing.
    pub fn is_current(&self) -> bool {
        self.is_store && usize::try_from(self.schema) == Ok(schema::VERSION)
    }
}

impl BackupManifest {
    /// Reads the manifest of a backup that this program can put back.
    pub fn read(folder: &Path) -> Result<Self> {
        let text = std::fs::read(folder.join(MANIFEST)).map_err(|error| {
            let reason = format!(
                "is no whole backup: {MANIFEST}, which is written last, cannot be read ({error}); name a folder that `ambit backup` \
                 has written to its end"
            );
            refused(folder, &reason)
        })?;
        let unreadable = |error: serde_json::Error| {
            refused(folder, &format!("has a damaged {MANIFEST}: {error}"))
        };
        let form: ManifestForm = serde_json::from_slice(&text).map_err(unreadable)?;
        if form.format > FORMAT {
            let reason = format!("has format {}, and {FORMAT} is known", form.format);
            return Err(newer(folder, &reason, &form.program));
        }
        let manifest: Self = serde_json::from_slice(&text).map_err(unreadable)?;
        manifest.check(folder)?;
        Ok(manifest)
    }

    fn check(&self, folder: &Path) -> Result<()> {
        let (mut names, mut parts) = (BTreeSet::new(), BTreeSet::new());
        for file in &self.files {
            let name = &file.file;
            if Path::new(name).file_name() != Some(OsStr::new(name)) || name.contains('\\') {
                let reason = format!("names \"{name}\", which is no file of its folder");
                return Err(refused(folder, &reason));
            }
            if !names.insert(name) || !parts.insert(&file.part) {
                let reason = format!("names \"{name}\" or \"{}\" twice", file.part);
                return Err(refused(folder, &reason));
            }
            let known = if file.is_store { schema::VERSION } else { 0 };
            if usize::try_from(file.schema).is_ok_and(|version| version > known) {
                let reason = format!(
                    "has {name} with schema version {}, and {known} is known",
                    file.schema
                );
                return Err(newer(folder, &reason, &self.program));
            }
        }
        Ok(())
    }

    /// Writes it: it is there whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let partial = folder.join(PARTIAL_MANIFEST);
        let writing = || -> std::io::Result<()> {
            let mut file = File::create(&partial)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            std::fs::rename(&partial, folder.join(MANIFEST))?;
            folder::sync(folder);
            Ok(())
        };
        writing().map_err(|error| folder::failed(&partial, error))
    }
}

fn newer(folder: &Path, reason: &str, program: &str) -> Error {
    refused(
        folder,
        &format!("{reason}; use ambit {program}, which made it, or a newer one"),
    )
}

/// Why a folder is not put back, or not written.
pub(super) fn refused(folder: &Path, reason: &str) -> Error {
    Error::invalid("backup", format!("{} {reason}", folder.display()))
}
