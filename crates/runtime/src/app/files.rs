//! Which files an app has, and which of its folders are not read.

use super::problem::{FileProblem, ItemsById, Severity};
use ambit_storage::suggestion;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Folders that are read.
const READ: &[&str] = &[
    "agent",
    "assistants",
    "connectors",
    "kb",
    "mcps",
    "models",
    "openapi",
    "scripts",
    "stores",
];

/// Folders of Yao's that Ambit does nothing with.
const IGNORED: &[&str] = &[
    "aigcs",
    "apis",
    "charts",
    "dashboards",
    "data",
    "db",
    "dyforms",
    "flows",
    "forms",
    "iconsets",
    "lists",
    "logins",
    "messengers",
    "neo",
    "pages",
    "pipes",
    "public",
    "sandbox",
    "schedules",
    "seeds",
    "services",
    "skills",
    "studio",
    "suis",
    "tables",
    "tasks",
    "widgets",
];

/// Files beside the folders.
const BESIDE: &[&str] = &[".env", "app.yao", "tsconfig.json"];

/// So deep may folders be nested; deeper ones are links that lead around in circles.
const DEPTH: usize = 32;

/// The files of an app, by their path below its folder with `/`, in order.
pub struct FileListing {
    /// The paths.
    pub files: Vec<String>,
    /// Folders that are not read, and what could not be listed.
    pub problems: Vec<FileProblem>,
}

/// Lists the files that an app is made of.
pub fn list(root: &Path) -> io::Result<FileListing> {
    let real = root.canonicalize()?;
    let mut found = FileListing {
        files: Vec::new(),
        problems: Vec::new(),
    };
    for (name, path) in folder_entries(root, "", &mut found.problems)? {
        let is_folder = path.is_dir();
        if !is_folder && BESIDE.contains(&name.as_str()) {
            found.files.push(name);
        } else if is_folder && READ.contains(&name.as_str()) {
            list_folder(&real, &path, &name, &mut found);
        } else if is_folder {
            found.problems.extend(unread_folder(&name));
        }
    }
    found.files.sort();
    Ok(found)
}

fn unread_folder(name: &str) -> Option<FileProblem> {
    let message = if IGNORED.contains(&name) {
        "the folder is not read by Ambit".to_owned()
    } else {
        let known = suggestion::nearest(name, READ.iter().copied())?;
        format!("the folder is not read; did you mean \"{known}\"?")
    };
    Some(FileProblem::new(Severity::Notice, name, message))
}

fn list_folder(real: &Path, folder: &Path, path: &str, found: &mut FileListing) {
    let error = |path: &str, reason: &str| FileProblem::new(Severity::Error, path, reason);
    if path.split('/').count() > DEPTH {
        found
            .problems
            .push(error(path, "folders are nested too deeply"));
        return;
    }
    let inside = match folder_entries(folder, path, &mut found.problems) {
        Ok(inside) => inside,
        Err(reason) => {
            let reason = format!("the folder cannot be read: {reason}");
            found.problems.push(error(path, &reason));
            return;
        }
    };
    for (name, place) in inside {
        let path = format!("{path}/{name}");
        let is_inside = place
            .canonicalize()
            .is_ok_and(|place| place.starts_with(real));
        if !is_inside {
            found
                .problems
                .push(error(&path, "the link leads out of the app's folder"));
        } else if place.is_dir() {
            list_folder(real, &place, &path, found);
        } else if place.is_file() {
            found.files.push(path);
        }
    }
}

/// What is in a folder. Hidden things and installed packages are nobody's; only the root has an `.env`.
fn folder_entries(
    folder: &Path,
    path: &str,
    problems: &mut Vec<FileProblem>,
) -> io::Result<BTreeMap<String, std::path::PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            let name = entry.file_name().to_string_lossy().into_owned();
            let file = [path, &name].join("/");
            let message = "the name is not UTF-8, so it is not read";
            problems.push(FileProblem::new(Severity::Error, &file, message));
            continue;
        };
        let is_own = path.is_empty() && name == ".env";
        if is_own || !(name.starts_with('.') || name == "node_modules") {
            found.insert(name, entry.path());
        }
    }
    Ok(found)
}

/// The id of a file: its path below a folder with dots, without its ending.
pub fn id(file: &str, folder: &str, ending: &str) -> Option<String> {
    let path = file.strip_prefix(folder)?.strip_prefix('/')?;
    let path = path.strip_suffix(ending)?;
    let is_named = !path.is_empty() && !path.ends_with('/');
    is_named.then(|| path.replace('/', "."))
}

/// Files by id. Where two have the same one, neither can be used, and the problem names both.
pub fn unique(
    found: impl IntoIterator<Item = (String, String)>,
    problems: &mut Vec<FileProblem>,
) -> ItemsById<String> {
    let mut files: ItemsById<String> = BTreeMap::new();
    for (id, file) in found {
        let Some(other) = files.get(&id) else {
            files.insert(id, Ok(file));
            continue;
        };
        let other = other.as_ref().unwrap_or_else(|problem| &problem.file);
        let message = format!("its id \"{id}\" is also that of {other}; rename one of them");
        let problem = FileProblem::new(Severity::Error, &file, message);
        problems.push(problem.clone());
        files.insert(id, Err(problem));
    }
    files
}

/// The folder of a file.
pub fn parent(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}
