//! The documents of a collection that is a file of the app: the files that its patterns mean.

use crate::app::{AppCollection, document_files};
use ambit_knowledge::{CollectionFiles, FileEntry, FileSpool};
use async_trait::async_trait;
use std::fs::{self, File, Metadata};
use std::io::{self, Error, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The files of a collection.
pub struct AppFiles {
    /// The app's folder.
    pub root: PathBuf,
    /// The collection.
    pub collection: Arc<AppCollection>,
    /// Bytes of the largest file that is read.
    pub largest: u64,
}

#[async_trait]
impl CollectionFiles for AppFiles {
    async fn list(&self) -> io::Result<Vec<FileEntry>> {
        let (root, collection) = (self.root.clone(), self.collection.clone());
        let listed = tokio::task::spawn_blocking(move || list(&root, &collection));
        listed.await.map_err(Error::other)?
    }

    async fn read(&self, path: &str, into: &mut FileSpool) -> io::Result<()> {
        let (file, largest) = (self.root.join(path), self.largest);
        let open = tokio::task::spawn_blocking(move || open(&file, largest));
        let file = open.await.map_err(Error::other)??;
        into.copy(file).await
    }
}

fn list(root: &Path, collection: &AppCollection) -> io::Result<Vec<FileEntry>> {
    let files = document_files(root, &collection.file.documents)?.into_iter();
    let entries = files.map(|file| file_entry(file.path, &file.metadata));
    Ok(entries.collect())
}

fn file_entry(path: String, metadata: &Metadata) -> FileEntry {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    let millis = since.map(|since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    FileEntry {
        path,
        size: metadata.len(),
        modified: millis.unwrap_or_default(),
    }
}

/// A file, of which no more is read than is accepted, and one byte that shows that it has grown.
fn open(file: &Path, largest: u64) -> io::Result<impl Read + use<>> {
    let metadata = fs::symlink_metadata(file)?;
    if !metadata.is_file() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "it is no file any more",
        ));
    }
    if metadata.len() > largest {
        let bytes = metadata.len();
        let why = format!(
            "it has {bytes} bytes, at most {largest} are accepted (ambit.search.limits.file)"
        );
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(File::open(file)?.take(largest + 1))
}

#[cfg(test)]
mod tests {
    use super::list;
    use crate::app::{AppCollection, CollectionFile, DocumentPattern};
    use std::fs;

    #[test]
    fn files_are_found_by_patterns_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("app");
        let write = |path: &str| {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "text").unwrap();
        };
        for path in [
            "docs/a.md",
            "docs/x/b.md",
            "docs/.c.md",
            "docs/d.txt",
            "e.md",
            "../out/f.md",
        ] {
            write(path);
        }
        std::os::unix::fs::symlink(folder.path().join("out"), root.join("docs/out")).unwrap();
        std::os::unix::fs::symlink(root.join("e.md"), root.join("docs/e.md")).unwrap();
        let pattern = |text: &str| DocumentPattern::parse(text).unwrap();
        let documents = ["docs/**/*.md", "docs/x/*", "docs/out/*.md", "none/*.md"].map(pattern);
        let collection = AppCollection {
            id: "x".to_owned(),
            file: CollectionFile {
                documents: documents.to_vec(),
                ..CollectionFile::default()
            },
        };
        let files = list(&root, &collection).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["docs/a.md", "docs/x/b.md"]);
        assert_eq!(files[0].size, 4);
        assert!(files[0].modified > 0);
    }
}
