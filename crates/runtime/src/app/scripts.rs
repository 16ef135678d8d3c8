//! Which files are scripts, and which of them are processes.

use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use ambit_script::ProgramSource;
use std::collections::BTreeMap;

/// Files of an agent's `src/` with a meaning of their own: hooks, identity overrides, event listeners.
const PLACES: [&str; 3] = ["index", "context", "events"];

/// What a script's name ends with.
const ENDINGS: &[&str] = &[".ts", ".js"];

/// The files of an agent with a meaning of their own, in the order of [`PLACES`].
pub fn special_files(
    loader: &mut AppLoader,
    folder: &str,
) -> Result<[Option<String>; 3], FileProblem> {
    let mut found = [None, None, None];
    let mut broken = None;
    for (place, name) in found.iter_mut().zip(PLACES) {
        let files = ENDINGS
            .iter()
            .map(|ending| format!("{folder}/src/{name}{ending}"));
        let files: Vec<String> = files.filter(|file| loader.has(file)).collect();
        if let [first, second] = files.as_slice() {
            let message = format!("{first} has the same meaning; keep one of them");
            let problem = FileProblem::new(Severity::Error, second, message);
            broken = broken.or(Some(loader.refuse(problem)));
        }
        *place = files.into_iter().next();
    }
    broken.map_or(Ok(found), Err)
}

/// The files whose functions are processes, by the name in front of the function's. Two of one name disable both.
pub fn processes(
    loader: &mut AppLoader,
    agents: &[(String, String)],
) -> BTreeMap<String, ProgramSource> {
    let mut found = scripts_within(loader, "scripts", "scripts.", "");
    for (id, folder) in agents {
        let (within, prefix) = (format!("{folder}/src"), format!("agents.{id}."));
        let own = scripts_within(loader, &within, &prefix, folder);
        let is_place = |name: &str| PLACES.iter().any(|place| name[prefix.len()..] == **place);
        found.extend(own.into_iter().filter(|(name, _)| !is_place(name)));
    }
    let sources = found
        .iter()
        .cloned()
        .map(|(_, source)| (source.file.clone(), source));
    let sources: BTreeMap<String, ProgramSource> = sources.collect();
    let names = found.into_iter().map(|(name, source)| (name, source.file));
    let files = loader.unique(names.collect());
    let known = files.into_iter().filter_map(|(name, file)| {
        let source = sources.get(&file.ok()?)?;
        Some((name, source.clone()))
    });
    known.collect()
}

/// Scripts of a folder, each with its name behind a prefix; their imports stay below `within`.
fn scripts_within(
    loader: &AppLoader,
    folder: &str,
    prefix: &str,
    within: &str,
) -> Vec<(String, ProgramSource)> {
    let found = ENDINGS
        .iter()
        .flat_map(|ending| loader.within(folder, ending));
    let found = found.filter(|(id, _)| {
        let name = id.rsplit('.').next().unwrap_or_default();
        !(name == "d" || name == "index" && !within.is_empty() || name.ends_with("_test"))
    });
    let sources = found.map(|(id, file)| {
        let folder = within.to_owned();
        (format!("{prefix}{id}"), ProgramSource { file, folder })
    });
    sources.collect()
}
