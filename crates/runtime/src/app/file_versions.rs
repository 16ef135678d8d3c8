//! The sizes and versions of the files of an app that is loaded. It is loaded anew when they change, so each is hashed once.

use crate::lock::lock;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How long a file is, and which version of it that is.
#[derive(Clone)]
pub(crate) struct FileVersion {
    /// Its size.
    pub bytes: u64,
    /// The first 128 bits of its SHA-256, in base64url.
    pub version: String,
}

/// The files that were hashed before, by their places.
#[derive(Default)]
pub(crate) struct FileVersions(Mutex<BTreeMap<PathBuf, FileVersion>>);

impl FileVersions {
    /// The version of the file at a place, hashed where it is not known yet. What cannot be read is tried again the next time.
    pub fn get_or_hash(
        &self,
        place: &Path,
        hash: impl FnOnce() -> Option<FileVersion>,
    ) -> Option<FileVersion> {
        if let Some(known) = lock(&self.0).get(place) {
            return Some(known.clone());
        }
        // Without the lock: two who ask at once hash twice, and nobody waits for the other's disk.
        let hashed = hash()?;
        lock(&self.0).insert(place.to_owned(), hashed.clone());
        Some(hashed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_hashed_once_and_one_that_cannot_be_read_is_tried_again() {
        let versions = FileVersions::default();
        let place = Path::new("assistants/hello/package.yao");
        let hash = || {
            Some(FileVersion {
                bytes: 2,
                version: "v".to_owned(),
            })
        };
        assert!(versions.get_or_hash(place, || None).is_none());
        let first = versions.get_or_hash(place, hash).unwrap();
        let again = versions.get_or_hash(place, || panic!("it is known"));
        let again = again.unwrap();
        assert_eq!((first.bytes, &first.version), (again.bytes, &again.version));
        let other = Path::new("assistants/hello/prompts.yml");
        assert!(versions.get_or_hash(other, || None).is_none());
    }
}
