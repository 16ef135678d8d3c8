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
    problems.extend(servers(&app, engine));
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

/// Functions of scripts that tool servers name and that are not there.
fn servers(app: &App, engine: &Engine) -> Vec<Problem> {
    let Ok(folder) = Folder::new(&app.root) else {
        return Vec::new();
    };
    let is_there = |name: &str| {
        let Some(process) = app.process(name) else {
            return false;
        };
        // What a script that does not compile has, nobody knows.
        let program = engine.load(&folder, &process.source);
        program.map_or(true, |program| program.has(&process.function))
    };
    let servers = app.servers.values().flatten();
    let named = servers.flat_map(|server| {
        let mapping = &server.mapping;
        let tools = mapping
            .tools
            .iter()
            .map(|it| ("tools", &it.name, &it.process));
        let resources = mapping
            .resources
            .iter()
            .map(|it| ("resources", &it.name, &it.process));
        // A prompt that has its text calls nothing.
        let called = mapping.prompts.iter();
        let called = called.filter(|it| it.messages.is_empty() && it.template.is_none());
        let prompts = called.map(|it| ("prompts", &it.name, &it.process));
        let all = tools.chain(resources).chain(prompts);
        all.map(move |named| (server, named))
    });
    let of_scripts = named.filter(|(_, (.., process))| {
        process.starts_with("scripts.") || process.starts_with("agents.")
    });
    let missing = of_scripts.filter(|(_, (.., process))| !is_there(process));
    let told = missing.map(|(server, (kind, name, process))| {
        let message = format!("\"{kind}.{name}\": no script has the function {process}");
        Problem::new(Severity::Warning, &server.file, message)
    });
    told.collect()
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
