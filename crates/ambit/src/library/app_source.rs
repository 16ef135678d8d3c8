//! Where an app's files come from.

use ambit_runtime::{Error, Result};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An app's files: a folder, or texts that are part of the program.
#[derive(Clone, Debug)]
pub enum AppSource {
    /// The files of this folder.
    Folder(PathBuf),
    /// These texts by their paths in the app. They are unpacked into a temporary folder while the app is open.
    Files(BTreeMap<PathBuf, String>),
}

impl<P: AsRef<Path> + ?Sized> From<&P> for AppSource {
    fn from(folder: &P) -> Self {
        Self::Folder(folder.as_ref().to_owned())
    }
}

impl From<PathBuf> for AppSource {
    fn from(folder: PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl<P: Into<PathBuf>, T: Into<String>, const N: usize> From<[(P, T); N]> for AppSource {
    fn from(files: [(P, T); N]) -> Self {
        let files = files
            .into_iter()
            .map(|(path, text)| (path.into(), text.into()));
        Self::Files(files.collect())
    }
}

/// Where an app's files are.
pub(super) struct AppFolder {
    pub path: PathBuf,
    /// Removes the folder when it is dropped.
    pub temporary: Option<TempDir>,
}

impl AppFolder {
    pub fn of(source: AppSource) -> Result<Self> {
        match source {
            AppSource::Folder(path) => Ok(Self {
                path,
                temporary: None,
            }),
            AppSource::Files(files) => {
                let folder = unpack(&files).map_err(|error| {
                    Error::internal(format!("the app's files cannot be unpacked: {error}"))
                })?;
                Ok(Self {
                    path: folder.path().to_owned(),
                    temporary: Some(folder),
                })
            }
        }
    }
}

fn unpack(files: &BTreeMap<PathBuf, String>) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("ambit-app-").tempdir()?;
    for (name, text) in files {
        let path = folder.path().join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)?;
    }
    Ok(folder)
}
