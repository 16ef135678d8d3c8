//! `cargo xtask tidy`: the invariants of ARCHITECTURE.md that a look at the files can check.

mod circles;
mod guarantees;
mod images;
mod manifests;
mod names;
mod rust;
mod source;
mod tables;

use crate::process::{Result, root};
use std::fmt;
use std::path::Path;

/// Checks the repository; prints each finding, and is true where there is none.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let root = root();
    let mut sources = read(&root, "crates", "rs")?;
    let manifests = read(&root, "crates", "toml")?;
    let page = std::fs::read_to_string(root.join(guarantees::PAGE))
        .map_err(|error| format!("cannot read {}: {error}", guarantees::PAGE))?;
    let mut findings = manifests::check(&manifests);
    findings.extend(source::check(&sources));
    findings.extend(names::check(&sources));
    findings.extend(circles::check(&sources));
    findings.extend(tables::check(&sources));
    sources.extend(read(&root, "console/tests", "mjs")?);
    findings.extend(guarantees::check(&page, guarantees::DUE, &sources));
    let mut pages = read(&root, "docs", "md")?;
    pages.push(open(&root, &root.join("README.md"))?);
    findings.extend(images::check(&pages, |path| {
        let file = std::fs::metadata(root.join(path));
        file.ok().map(|file| file.len())
    }));
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.is_empty())
}

/// A file of the repository.
#[derive(Debug)]
pub struct Source {
    /// Its path from the repository's folder, with `/` between the parts.
    pub path: String,
    pub text: String,
}

impl Source {
    /// The text before the file's unit tests.
    fn without_tests(&self) -> &str {
        let mut length = 0;
        for line in self.text.split_inclusive('\n') {
            if line.starts_with("#[cfg(test)]") {
                break;
            }
            length += line.len();
        }
        &self.text[..length]
    }

    /// Whether it is part of what a crate gives to others: neither one of its tests nor a module of tests.
    fn is_product(&self) -> bool {
        self.path.split('/').nth(2) == Some("src") && self.stem() != "tests"
    }

    /// The text without the module of unit tests at its end.
    fn product_text(&self) -> &str {
        let end = self.text.find("\n#[cfg(test)]\nmod tests");
        let end = end.or_else(|| {
            self.text
                .starts_with("#[cfg(test)]\nmod tests")
                .then_some(0)
        });
        &self.text[..end.unwrap_or(self.text.len())]
    }

    /// The folder of its crate.
    fn crate_name(&self) -> &str {
        self.path.split('/').nth(1).unwrap_or_default()
    }

    /// The module at the root of its crate that it belongs to; none for the root itself.
    fn root_module(&self) -> Option<&str> {
        let name = self.path.split('/').nth(3)?;
        let name = name.strip_suffix(".rs").unwrap_or(name);
        (!matches!(name, "lib" | "main")).then_some(name)
    }

    /// Its name without the ending.
    fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".rs").unwrap_or(name)
    }
}

/// A rule that a file breaks.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    place: String,
    what: String,
}

impl Finding {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// All files below `folder` with this ending, by path.
pub fn read(root: &Path, folder: &str, ending: &str) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        let failed = |error| format!("cannot read {}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(open(root, &path)?);
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// A file.
pub fn open(root: &Path, path: &Path) -> Result<Source> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let path = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    Ok(Source {
        path: parts.join("/"),
        text,
    })
}

#[cfg(test)]
fn source(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{read, source};
    use crate::process::root;

    #[test]
    fn unit_tests_are_cut_off() {
        let file = source("a.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {}\n");
        assert_eq!(file.without_tests(), "fn a() {}\n\n");
    }

    #[test]
    fn every_crate_is_read() {
        let found = read(&root(), "crates", "toml").unwrap();
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        let expected = [
            "ambit",
            "extract",
            "knowledge",
            "quickjs-heap",
            "runtime",
            "script",
            "search",
            "storage",
            "telemetry",
        ];
        assert_eq!(
            paths,
            expected.map(|name| format!("crates/{name}/Cargo.toml"))
        );
    }
}
