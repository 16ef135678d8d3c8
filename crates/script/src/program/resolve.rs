//! Which file an import means.

use super::{ProgramSource, SourceFiles};
use crate::error::{LoadError, SourceLocation};
use serde_json::Value;

/// Rules of one program.
pub struct ImportResolver<'f> {
    files: &'f dyn SourceFiles,
    folder: String,
    paths: Vec<(String, String)>,
}

/// What an import means.
pub enum ImportTarget {
    /// A module of the runtime itself.
    BuiltIn,
    File(String, String),
}

impl<'f> ImportResolver<'f> {
    /// The rules for a program: its folder, and the paths of the app's `tsconfig.json`.
    pub fn new(files: &'f dyn SourceFiles, source: &ProgramSource) -> Result<Self, LoadError> {
        let file = "tsconfig.json";
        let text = files.read(file).map_err(|error| unreadable(file, &error))?;
        let paths = match text {
            Some(text) => paths(&text)?,
            None => vec![("@scripts/".to_owned(), "scripts/".to_owned())],
        };
        let folder = source.folder.trim_matches('/').to_owned();
        Ok(Self {
            files,
            folder,
            paths,
        })
    }

    /// Finds what an import of a file means.
    pub fn find(
        &self,
        base: &str,
        specifier: &str,
        at: &SourceLocation,
    ) -> Result<ImportTarget, LoadError> {
        self.look(base, specifier, at, |path| {
            self.may_read(base, specifier, path)
        })
    }

    fn look(
        &self,
        base: &str,
        specifier: &str,
        at: &SourceLocation,
        may_read: impl Fn(&str) -> bool,
    ) -> Result<ImportTarget, LoadError> {
        let refuse = |message: String| LoadError {
            at: Some(at.clone()),
            message,
        };
        if specifier == "@ambit/runtime" || specifier.starts_with("@yao/") {
            return Ok(ImportTarget::BuiltIn);
        }
        let Some(path) = self.path(base, specifier) else {
            return Err(refuse(format!(
                "cannot import \"{specifier}\": only relative paths, paths of tsconfig.json and @ambit/runtime can be imported"
            )));
        };
        let inside = path.as_deref().filter(|path| may_read(path));
        let Some(path) = inside else {
            let root = if self.folder.is_empty() {
                "the app"
            } else {
                &self.folder
            };
            return Err(refuse(format!(
                "cannot import \"{specifier}\": it is outside {root}"
            )));
        };
        for candidate in candidates(path) {
            let text = self.files.read(&candidate);
            if let Some(text) =
                text.map_err(|error| refuse(format!("cannot import \"{specifier}\": {error}")))?
            {
                return Ok(ImportTarget::File(candidate, text));
            }
        }
        Err(refuse(format!(
            "cannot import \"{specifier}\": there is no file {path}.ts, {path}.js or {path}/index.ts"
        )))
    }

    /// Finds what an import means of which nothing is used but types: it may be a file of declarations too, and lie anywhere in the
    /// app.
    pub fn find_types(
        &self,
        base: &str,
        specifier: &str,
        at: &SourceLocation,
    ) -> Result<ImportTarget, LoadError> {
        let stem = specifier.strip_suffix(".js").unwrap_or(specifier);
        let look = |specifier: &str| self.look(base, specifier, at, |_| true);
        let declared = || {
            let files = [format!("{stem}.d.ts"), format!("{stem}/index.d.ts")];
            files.iter().find_map(|file| look(file).ok())
        };
        let found = look(specifier);
        found.or_else(|missing| declared().ok_or(missing))
    }

    /// The path an import names; `None` inside if it leaves the app, outside if it is no path.
    fn path(&self, base: &str, specifier: &str) -> Option<Option<String>> {
        if specifier.starts_with("./")
            || specifier.starts_with("../")
            || specifier == "."
            || specifier == ".."
        {
            let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
            return Some(normal(&format!("{folder}/{specifier}")));
        }
        let (prefix, target) = self
            .paths
            .iter()
            .find(|(prefix, _)| specifier.starts_with(prefix.as_str()))?;
        Some(normal(&format!("{target}{}", &specifier[prefix.len()..])))
    }

    /// Relative imports of the program's own files stay in its folder.
    fn may_read(&self, base: &str, specifier: &str, path: &str) -> bool {
        let inside =
            |path: &str| self.folder.is_empty() || path.starts_with(&format!("{}/", self.folder));
        !specifier.starts_with('.') || !inside(base) || inside(path)
    }
}

/// The files that a path without an ending may mean, in order.
fn candidates(path: &str) -> Vec<String> {
    let stem = path.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
    let known = [".ts", ".js", ".mjs", ".json"]
        .iter()
        .any(|end| path.ends_with(end));
    let own = known.then(|| path.to_owned());
    let added = ["ts", "js"].into_iter().map(|end| format!("{path}.{end}"));
    let index = ["ts", "js"]
        .into_iter()
        .map(|end| format!("{path}/index.{end}"));
    own.into_iter()
        .chain(added)
        .chain(stem)
        .chain(index)
        .collect()
}

/// A path without `.` and `..`; `None` if it leaves the root.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The `compilerOptions.paths` of a `tsconfig.json`, as prefixes.
fn paths(text: &str) -> Result<Vec<(String, String)>, LoadError> {
    let config: Value =
        serde_json::from_str(&without_comments(text)).map_err(|error| LoadError {
            at: None,
            message: format!("tsconfig.json: {error}"),
        })?;
    let options = &config["compilerOptions"];
    let base = options["baseUrl"].as_str().unwrap_or(".");
    let mut paths = Vec::new();
    for (from, to) in options["paths"].as_object().into_iter().flatten() {
        let (Some(prefix), Some(target)) = (from.strip_suffix('*'), to[0].as_str()) else {
            continue;
        };
        let target = target.strip_suffix('*').unwrap_or(target);
        paths.push((prefix.to_owned(), format!("{base}/{target}")));
    }
    // The longest prefix wins, as in TypeScript.
    paths.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
    Ok(paths)
}

/// `tsconfig.json` may have comments and commas before closing brackets.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut quoted = false;
    while let Some(next) = rest.next() {
        match (quoted, next, rest.peek()) {
            (true, '\\', _) => {
                plain.push(next);
                plain.extend(rest.next());
            }
            (_, '"', _) => {
                quoted = !quoted;
                plain.push(next);
            }
            (false, '/', Some('/')) => {
                rest.by_ref().find(|next| *next == '\n');
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                rest.next();
                rest.by_ref()
                    .find(|next| std::mem::replace(&mut last, *next) == '*' && *next == '/');
            }
            (false, ']' | '}', _) => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(next);
            }
            _ => plain.push(next),
        }
    }
    plain
}

/// A file that is there and cannot be read.
pub fn unreadable(file: &str, error: &std::io::Error) -> LoadError {
    LoadError {
        at: None,
        message: format!("cannot read {file}: {error}"),
    }
}
