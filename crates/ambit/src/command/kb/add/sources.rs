//! What `ambit kb add` is given: files, folders and addresses.

use crate::command_error::{CommandError, Result};
use ambit_knowledge::NewContent;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One document that is to be added.
pub struct NamedContent {
    /// The name of its file, or its address.
    pub name: String,
    /// The same, in a folder that was given with the path from there.
    pub path: String,
    /// What it consists of.
    pub content: NewContent,
}

/// All documents that are given. No file may have more bytes than `largest`.
pub fn read(sources: &[String], largest: u64) -> Result<Vec<NamedContent>> {
    let mut contents = Vec::new();
    for source in sources {
        if source.starts_with("http://") || source.starts_with("https://") {
            contents.push(NamedContent {
                name: source.clone(),
                path: source.clone(),
                content: NewContent::Url(source.clone()),
            });
            continue;
        }
        let source = Path::new(source);
        let mut files = Vec::new();
        list(source, &mut files)?;
        for file in files {
            contents.push(read_file(source, &file, largest)?);
        }
    }
    Ok(contents)
}

/// The files at a path, those of folders in the order of their names. Names with a leading dot are left out.
fn list(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error: std::io::Error| {
        CommandError::Refused(format!("cannot read {}: {error}", path.display()))
    };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries: Result<Vec<PathBuf>, std::io::Error> = fs::read_dir(path)
        .map_err(failed)?
        .map(|entry| Ok(entry?.path()))
        .collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort();
    let is_shown = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| !name.starts_with('.'))
    };
    entries
        .iter()
        .filter(is_shown)
        .try_for_each(|entry| list(entry, files))
}

fn read_file(source: &Path, file: &Path, largest: u64) -> Result<NamedContent> {
    let mut bytes = Vec::new();
    // One byte more shows that there are more.
    let read = fs::File::open(file).and_then(|file| file.take(largest + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        CommandError::Refused(format!("cannot read {}: {error}", file.display()))
    })?;
    if bytes.len() as u64 > largest {
        let file = file.display();
        let setting = "ambit.search.limits.file";
        return Err(CommandError::Refused(format!(
            "{file} has more than {largest} bytes ({setting}): nothing was added"
        )));
    }
    let path = path_below(source, file);
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(NamedContent {
        path,
        content: NewContent::File {
            name: name.clone(),
            media_type: None,
            bytes,
        },
        name,
    })
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
}
