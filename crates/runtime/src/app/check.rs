//! What `ambit check` tells: everything wrong with an app, its scripts included.

use super::{App, Problem, Severity};
use ambit_script::{Engine, Folder, LoadError};
use std::collections::BTreeMap;
use std::path::Path;

/// All problems of an app, in order of files.
pub fn check(root: &Path, environment: &BTreeMap<String, String>, engine: &Engine) -> Vec<Problem> {
    let app = match App::load(root, environment) {
        Ok(app) => app,
        Err(problems) => return problems,
    };
    let mut problems = app.problems.clone();
    problems.extend(scripts(&app, engine));
    problems.sort_by(|one, other| one.file.cmp(&other.file));
    problems.dedup();
    problems
}

/// What is wrong with the scripts of an app. Loading them also means that they need not be compiled again.
pub fn scripts(app: &App, engine: &Engine) -> Vec<Problem> {
    let folder = match Folder::new(&app.root) {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!("the app's folder cannot be read: {error}");
            return vec![Problem::new(Severity::Error, "app.yao", message)];
        }
    };
    let entries = app.entries().into_iter();
    let broken = entries.filter_map(|source| {
        let error = engine.load(&folder, &source).err()?;
        Some(script(&source.file, &error))
    });
    broken.collect()
}

/// Why a script cannot be used.
pub fn script(file: &str, error: &LoadError) -> Problem {
    let at = error.at.as_ref();
    Problem {
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        ..Problem::new(
            Severity::Error,
            at.map_or(file, |at| &at.file),
            &error.message,
        )
    }
}
