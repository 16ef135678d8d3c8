//! Where programs come from.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Component, Path, PathBuf};

/// Files by their path below a root, with `/` between its parts.
pub trait SourceFiles: Sync {
    /// The text of a file; `None` if there is none.
    fn read(&self, path: &str) -> Result<Option<String>>;
}

/// A folder of the machine. Links that lead out of it are refused.
#[derive(Debug, Clone)]
pub struct SourceFolder(PathBuf);

impl SourceFolder {
    /// The files below a folder that exists.
    pub fn new(root: &Path) -> Result<Self> {
        Ok(Self(root.canonicalize()?))
    }
}

impl SourceFiles for SourceFolder {
    fn read(&self, path: &str) -> Result<Option<String>> {
        let plain = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !plain {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "the path leaves the app",
            ));
        }
        let file = match self.0.join(path).canonicalize() {
            Ok(file) => file,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if !file.starts_with(&self.0) {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "the link leaves the app",
            ));
        }
        if !file.is_file() {
            return Ok(None);
        }
        std::fs::read_to_string(file).map(Some)
    }
}

impl SourceFiles for BTreeMap<String, String> {
    fn read(&self, path: &str) -> Result<Option<String>> {
        Ok(self.get(path).cloned())
    }
}
