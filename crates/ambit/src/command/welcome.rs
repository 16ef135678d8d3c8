//! The app that is served where none is named. It is part of the program, and unpacked to be served.

use crate::failure::Result;
use std::path::PathBuf;
use tempfile::TempDir;

/// Its files.
const FILES: &[(&str, &str)] = &[("app.yao", "{\"name\": \"Welcome\"}")];

/// The unpacked app; gone when the server ends.
pub struct Welcome(TempDir);

impl Welcome {
    /// Puts the files into a folder of this process alone.
    pub fn unpack() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ambit-welcome-")
            .tempdir()?;
        for (name, text) in FILES {
            let path = folder.path().join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, text)?;
        }
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}
