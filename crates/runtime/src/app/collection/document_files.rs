//! The files that the patterns of a collection mean.

use super::DocumentPattern;
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// So deep may folders be nested.
const DEPTH: usize = 32;

/// A file that a pattern means.
pub struct DocumentFile {
    /// Its path below the app's folder, with `/`.
    pub path: String,
    /// What the system knows of it.
    pub metadata: Metadata,
}

/// All files that a pattern means, in order. Links, hidden files and installed packages are nobody's documents.
pub fn document_files(root: &Path, patterns: &[DocumentPattern]) -> io::Result<Vec<DocumentFile>> {
    let folders: BTreeSet<String> = patterns.iter().map(|pattern| pattern.folder()).collect();
    let mut found = BTreeSet::new();
    let mut waiting: Vec<String> = folders.into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        let is_deep = folder.split('/').count() > DEPTH;
        if is_deep || !seen.insert(folder.clone()) || !is_plain_folder(root, &folder) {
            continue;
        }
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let Some(path) = path_of(&folder, entry.file_name().to_str()) else {
                continue;
            };
            let kind = entry.file_type()?;
            let is_meant = || patterns.iter().any(|pattern| pattern.matches(&path));
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() && is_meant() && found.insert(path.clone()) {
                let metadata = entry.metadata()?;
                files.push(DocumentFile { path, metadata });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Whether a folder is there, and no link leads to it.
fn is_plain_folder(root: &Path, folder: &str) -> bool {
    let mut place = root.to_owned();
    folder
        .split('/')
        .filter(|name| !name.is_empty())
        .all(|name| {
            place.push(name);
            fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_dir())
        })
}

fn path_of(folder: &str, name: Option<&str>) -> Option<String> {
    let name = name.filter(|name| !name.starts_with('.') && *name != "node_modules")?;
    Some(match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    })
}
