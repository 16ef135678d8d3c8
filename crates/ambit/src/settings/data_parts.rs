//! What the data of an installation consists of: SQLite files, and what other programs keep.

use super::{StoreOptions, check_is_there};
use crate::command_error::{CommandError, Result};
use ambit::store_urls::{DATA_FILE, absolute_path, file_path};
use ambit_runtime::ModelStore;
use ambit_storage::backup::DataFile;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The name of the part that holds the tables of models.
pub const MODELS: &str = "models";

/// All of it.
pub struct DataParts {
    /// The SQLite files, that of the index first. The models' file may not be there: an app without models has none.
    pub files: Vec<DataFile>,
    /// What other programs keep.
    pub elsewhere: Vec<ServerPart>,
}

/// A part that another program keeps, or that is a folder.
pub struct ServerPart {
    /// Its name, as that of a [`DataFile`].
    pub part: String,
    /// Where it is. May hold a password.
    pub url: String,
}

impl StoreOptions {
    /// The parts of an app's data, as a server of the app would use them.
    pub fn parts(&self, app: &Path) -> Result<DataParts> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        let primary = stores.primary();
        let primary = primary.map_err(|reason| CommandError::option("--drivers", reason))?;
        let mut named: Vec<(&str, &str)> = stores.named().collect();
        named.sort_by_key(|(_, url)| *url != primary);
        let mut parts = DataParts {
            files: Vec::new(),
            elsewhere: Vec::new(),
        };
        for (name, url) in named {
            parts.add(format!("store {name}"), url);
        }
        match self.model_store(app)? {
            ModelStore::Sqlite(path) => parts.files.push(DataFile {
                part: MODELS.to_owned(),
                path: absolute_path(&path),
            }),
            // In the database of a store they are copied with it.
            ModelStore::Postgres(url) if !parts.elsewhere.iter().any(|part| part.url == url) => {
                parts.add(MODELS.to_owned(), &url);
            }
            ModelStore::Postgres(_) | ModelStore::Memory => {}
        }
        parts.check_apart()?;
        Ok(parts)
    }

    /// Refuses stores of files that are not there.
    pub fn check_are_there(&self, app: &Path) -> Result<()> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        stores.urls().try_for_each(check_is_there)
    }
}

impl DataParts {
    /// Refuses two parts in one file: it can be put back as one of them only.
    fn check_apart(&self) -> Result<()> {
        for (at, file) in self.files.iter().enumerate() {
            let mut before = self.files[..at].iter();
            if let Some(other) = before.find(|other| is_same_file(&other.path, &file.path)) {
                return Err(CommandError::Refused(format!(
                    "\"{}\" and \"{}\" are both in {}; give each a file of its own, with --store or --models",
                    other.part,
                    file.part,
                    file.path.display()
                )));
            }
        }
        Ok(())
    }

    fn add(&mut self, part: String, url: &str) {
        match (url.split(':').next(), file_path(url)) {
            (Some("sqlite"), Some(path)) => self.files.push(DataFile { part, path }),
            // It ends with its process.
            (Some("memory"), _) => {}
            _ => self.elsewhere.push(ServerPart {
                part,
                url: url.to_owned(),
            }),
        }
    }

    /// The names of what other programs keep.
    pub fn elsewhere_names(&self) -> Vec<String> {
        let parts = self.elsewhere.iter();
        parts.map(|part| part.part.clone()).collect()
    }
}

/// Whether two paths lead to one file, also by links and where it is not there yet.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(found), ..) => found,
        (Err(_), Some(folder), Some(name)) => folder
            .canonicalize()
            .map_or_else(|_| path.to_owned(), |folder| folder.join(name)),
        _ => path.to_owned(),
    };
    whole(one) == whole(other) || is_linked(one, other)
}

/// Whether both are names of one file.
#[cfg(unix)]
fn is_linked(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino())).ok();
    id(one).is_some_and(|found| id(other) == Some(found))
}

/// Hard links are not looked for.
#[cfg(not(unix))]
fn is_linked(_one: &Path, _other: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::{DataFile, DataParts, MODELS};
    use std::os::unix::fs::symlink;

    #[test]
    fn links_to_one_file_are_no_two_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a.db"), "").unwrap();
        std::fs::write(path("b.db"), "").unwrap();
        std::fs::hard_link(path("a.db"), path("hard.db")).unwrap();
        symlink(path("a.db"), path("soft.db")).unwrap();
        symlink(folder.path(), path("folder")).unwrap();
        for (one, other, is_apart) in [
            ("a.db", "b.db", true),
            ("a.db", "hard.db", false),
            ("a.db", "soft.db", false),
            ("none.db", "folder/none.db", false),
            ("none.db", "folder/other.db", true),
        ] {
            let file = |part: &str, name: &str| DataFile {
                part: part.to_owned(),
                path: path(name),
            };
            let parts = DataParts {
                files: vec![file("store main", one), file(MODELS, other)],
                elsewhere: Vec::new(),
            };
            assert_eq!(parts.check_apart().is_ok(), is_apart, "{one} {other}");
        }
    }
}
