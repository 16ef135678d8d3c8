//! What `ambit kb add` is given: files, folders and addresses.

use crate::command_error::{CommandError, Result};
use ambit_knowledge::{FileSpool, NewContent};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// One document that is to be added.
pub struct DocumentSource {
    /// The name of its file, or its address.
    pub name: String,
    /// The same, in a folder that was given with the path from there.
    pub path: String,
    /// None where it has an address.
    file: Option<PathBuf>,
}

impl DocumentSource {
    /// What it consists of. A file may not have more bytes than `largest`, and is never held as a whole.
    pub async fn read(&self, largest: u64) -> Result<NewContent> {
        let Some(file) = &self.file else {
            return Ok(NewContent::Url(self.name.clone()));
        };
        let failed = |error| unreadable(file, &error);
        let opened = fs::File::open(file).map_err(failed)?;
        let mut spool = FileSpool::default();
        // One byte more shows that there are more.
        let copied = spool.copy(opened.take(largest.saturating_add(1))).await;
        copied.map_err(failed)?;
        if spool.bytes() > largest {
            return Err(too_large(file, largest, "it has grown meanwhile"));
        }
        let content = spool.finish().await.map_err(CommandError::from)?;
        Ok(NewContent::File {
            name: self.name.clone(),
            media_type: None,
            content,
        })
    }
}

/// All documents that are given, none of which is read yet. One that cannot be read, or is larger than this, is refused before
/// any is added.
pub fn find(sources: &[String], largest: u64) -> Result<Vec<DocumentSource>> {
    let mut found = Vec::new();
    for source in sources {
        if source.starts_with("http://") || source.starts_with("https://") {
            found.push(DocumentSource {
                name: source.clone(),
                path: source.clone(),
                file: None,
            });
            continue;
        }
        let source = Path::new(source);
        let files = files(source)?;
        if files.is_empty() {
            let folder = source.display();
            return Err(CommandError::Refused(format!(
                "{folder} holds no files, but for names with a leading dot: nothing was added"
            )));
        }
        for file in files {
            let opened = fs::File::open(&file).and_then(|opened| opened.metadata());
            let size = opened.map_err(|error| unreadable(&file, &error))?.len();
            if size > largest {
                return Err(too_large(&file, largest, "nothing was added"));
            }
            let path = path_below(source, &file);
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            let file = Some(file);
            found.push(DocumentSource { name, path, file });
        }
    }
    Ok(found)
}

/// The file at a path, or those in the folder there.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let kind = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if kind.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !kind.is_dir() {
        let error = io::Error::other("it is neither a file nor a folder");
        return Err(unreadable(path, &error));
    }
    let mut found = Vec::new();
    add_files(path, &mut found).map(|()| found)
}

/// Those of a folder and the folders in it, in the order of their names. Links are left out, which may lead round in a circle, as is
/// what no file is and what has a name with a leading dot.
fn add_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error| unreadable(folder, &error);
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(folder).map_err(failed)?.collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        if name.to_str().is_none_or(|name| name.starts_with('.')) {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            add_files(&entry.path(), found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn too_large(file: &Path, largest: u64, outcome: &str) -> CommandError {
    let (file, setting) = (file.display(), "ambit.search.limits.file");
    CommandError::Refused(format!(
        "{file} has more than {largest} bytes ({setting}): {outcome}"
    ))
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Refused(format!("cannot read {}: {error}", path.display()))
}

/// The name of a file that was given, or of one in a folder that was given: `folder/below/file`.
fn path_below(source: &Path, file: &Path) -> String {
    let last = Path::new(source.file_name().unwrap_or_default());
    let below = file.strip_prefix(source).unwrap_or(Path::new(""));
    let parts = last.components().chain(below.components());
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::path_below;
    use std::path::Path;

    #[test]
    fn a_document_is_called_by_what_is_given_and_what_lies_below() {
        for (source, file, name) in [
            ("docs/a.md", "docs/a.md", "a.md"),
            ("/x/docs", "/x/docs/b/a.md", "docs/b/a.md"),
            ("docs/", "docs/a.md", "docs/a.md"),
            (".", "./docs/a.md", "docs/a.md"),
            ("..", "../a.md", "a.md"),
        ] {
            assert_eq!(path_below(Path::new(source), Path::new(file)), name);
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_folder_has_its_files_once_and_nothing_that_is_none() {
        use std::os::unix::{fs::symlink, net::UnixListener};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("below")).unwrap();
        for name in ["b.md", "below/a.md", ".hidden.md"] {
            std::fs::write(at(name), "A heron.").unwrap();
        }
        symlink(folder.path(), at("below/round")).unwrap();
        symlink(at("b.md"), at("also.md")).unwrap();
        let _socket = UnixListener::bind(at("socket.md")).unwrap();
        let given = |path: &Path| [path.to_str().unwrap().to_owned()];
        let found = super::find(&given(folder.path()), 8).unwrap();
        let names: Vec<&str> = found.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["b.md", "a.md"]);
        // A link that is given itself is what it leads to.
        assert_eq!(super::find(&given(&at("also.md")), 8).unwrap().len(), 1);
        let refused = super::find(&given(&at("socket.md")), 8).err().unwrap();
        let reason = "it is neither a file nor a folder";
        assert!(refused.to_string().ends_with(reason), "{refused}");
        let large = super::find(&given(folder.path()), 7).err().unwrap();
        assert!(large.to_string().contains("b.md has more than 7 bytes"));
        // One that has grown meanwhile.
        assert!(found[1].read(7).await.is_err());
        assert!(found[1].read(8).await.is_ok());
    }
}
