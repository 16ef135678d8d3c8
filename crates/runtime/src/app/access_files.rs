//! `openapi/`: the files of access rules, and what else is there.

use super::App;
use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::read::ValueKind;
use ambit_storage::suggestion;
use std::collections::BTreeMap;

/// The folder.
const FOLDER: &str = "openapi";
/// What there is access rules.
const RULES: [&str; 3] = ["openapi.yao", "roles.yml", "scopes"];
/// Endings of the files that are read.
const ENDINGS: [&str; 4] = [".yao", ".yml", ".yaml", ".json"];
/// Endings of what editors and people leave beside a file that they change.
const BACKUPS: [&str; 6] = ["~", ".bak", ".old", ".orig", ".swp", ".tmp"];

/// Reads the files of access rules, for whoever enforces them, and passes over all else. False where something is wrong: no rule
/// may be missing.
pub fn load(loader: &mut AppLoader, app: &mut App) -> bool {
    pass_over(loader);
    let is_rule = |file: &&String| part(file).is_some_and(|part| RULES.contains(&part));
    let rules: Vec<String> = loader.files.iter().filter(is_rule).cloned().collect();
    for file in rules {
        if !ENDINGS.iter().any(|ending| file.ends_with(ending)) {
            loader.refuse(unread(&file));
            continue;
        }
        if let Ok((value, _)) = loader.value(&file, &ValueKind::Map(&ValueKind::Any)) {
            app.access.0.insert(file, value);
        }
    }
    let mut broken = loader.problems.iter();
    !broken.any(|problem| problem.is_error() && problem.file.starts_with(FOLDER))
}

/// Tells once of each file and each folder that holds no rules, whatever is wrong inside. One that looks as if it did is an error:
/// rules that nobody reads would leave a door open.
fn pass_over(loader: &mut AppLoader) {
    let is_passed = |file: &str| part(file).is_some_and(|part| !RULES.contains(&part));
    let told = loader.problems.iter().map(|problem| &problem.file);
    let files = loader.files.iter().chain(told);
    let files: Vec<String> = files.filter(|file| is_passed(file)).cloned().collect();
    loader.problems.retain(|problem| !is_passed(&problem.file));
    let mut parts: BTreeMap<&str, &str> = BTreeMap::new();
    for file in &files {
        parts.entry(part(file).unwrap_or_default()).or_insert(file);
    }
    for (part, file) in parts {
        let problem = match meant(part) {
            // A set of keys, which `jwks` names.
            None if part.ends_with(".json") => continue,
            Some(meant) => {
                let message = format!(
                    "nothing of this name has a meaning in openapi/; did you mean \"{meant}\"?"
                );
                FileProblem::new(Severity::Error, file, message)
            }
            None => {
                let message = "no access rules are read from here: they are openapi.yao, roles.yml and scopes/";
                FileProblem::new(Severity::Notice, &format!("{FOLDER}/{part}"), message)
            }
        };
        loader.refuse(problem);
    }
    loader.leave_out(files);
}

/// What is told of a file among the rules that does not end as they do. Only one for people is no mistake: rules that nobody reads
/// would leave a door open.
fn unread(file: &str) -> FileProblem {
    let name = file.rsplit('/').next().unwrap_or(file).to_lowercase();
    if name.starts_with("readme") || name.ends_with(".md") {
        let message = "no access rules are read from this file";
        return FileProblem::new(Severity::Notice, file, message);
    }
    let message = "rules of scopes are read from files of openapi/scopes/ that end with .yml";
    FileProblem::new(Severity::Error, file, message)
}

/// The file or folder of `openapi/` that a path leads to or into.
fn part(file: &str) -> Option<&str> {
    let below = file.strip_prefix(FOLDER)?.strip_prefix('/')?;
    below.split('/').next()
}

/// What of the rules a name must have been meant for. That of a backup is meant for none.
fn meant(part: &str) -> Option<&'static str> {
    if BACKUPS.iter().any(|ending| part.ends_with(ending)) {
        return None;
    }
    let stem = |name: &str| name.split('.').next().map(str::to_owned);
    let same = RULES.into_iter().find(|rule| stem(rule) == stem(part));
    same.or_else(|| suggestion::nearest(part, RULES))
}
