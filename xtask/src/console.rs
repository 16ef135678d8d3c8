//! `cargo xtask console`: builds the console's files, which are committed, so that cargo alone builds Ambit. The test command
//! checks that they are what the sources give. `cargo xtask screenshots` takes the pictures of them that pages show.

use crate::browser::Browser;
use crate::process::{Result, cargo, root, succeeds, target_folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the built files are.
const BUILT: &str = "crates/ambit/console";

/// Builds the files; behind `--images`, of these views or of all, it takes the pictures too.
pub fn run(arguments: &[String]) -> Result<bool> {
    install()?;
    if !succeeds(npm().args(["run", "build"]))? {
        return Ok(false);
    }
    match arguments {
        [] => Ok(true),
        [option, views @ ..] if option == "--images" => take_images(views),
        [other, ..] => Err(format!(
            "it knows no {other}; leave it out, or write --images"
        )),
    }
}

/// The same as `console --images`.
pub fn screenshots(views: &[String]) -> Result<bool> {
    let option = std::iter::once("--images".to_owned());
    let arguments: Vec<String> = option.chain(views.iter().cloned()).collect();
    run(&arguments)
}

/// Takes the pictures of `docs/images`: of the program with the files that were built, in the browser of the tests.
fn take_images(views: &[String]) -> Result<bool> {
    let browser = Browser::find()?;
    if !succeeds(&mut cargo(&["build", "--package", "ambit"]))? {
        return Ok(false);
    }
    let mut images = in_sources("node");
    images.arg("tests/images.mjs").args(views);
    images.env("AMBIT_BINARY", target_folder()?.join("debug/ambit"));
    succeeds(browser.tell(&mut images))
}

/// Checks types and units, the size of the files, and that they are what the sources give.
pub fn check() -> Result<bool> {
    install()?;
    let mut failed = Vec::new();
    for script in ["check", "test"] {
        if !succeeds(npm().args(["run", script]))? {
            failed.push(format!("npm run {script}"));
        }
    }
    if !succeeds(in_sources("node").arg("scripts/sizes.mjs"))? {
        failed.push("node scripts/sizes.mjs".to_owned());
    }
    let again = root().join("target/console");
    let mut build = in_sources("npx");
    build.args(["vite", "build", "--emptyOutDir", "--outDir"]);
    if !succeeds(build.arg(&again))? {
        failed.push("vite build".to_owned());
    }
    let (built, committed) = (files(&again)?, files(&root().join(BUILT))?);
    let differ = differences(&built, &committed);
    if !differ.is_empty() {
        let differ = differ.join(", ");
        failed.push(format!(
            "{BUILT}: {differ} is not what console/ gives: run `cargo xtask console`"
        ));
    }
    match failed.is_empty() {
        true => Ok(true),
        false => Err(failed.join("; ")),
    }
}

/// Installs what the lock file names, unless just that is installed.
fn install() -> Result<()> {
    let sources = sources();
    let wanted = read(&sources.join("package-lock.json"))?;
    let note = sources.join("node_modules/installed");
    if fs::read(&note).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut command = npm();
    if !succeeds(command.args(["ci", "--silent", "--no-audit", "--no-fund"]))? {
        return Err("npm could not install what console/package-lock.json names".to_owned());
    }
    fs::write(&note, wanted).map_err(|error| format!("cannot write {}: {error}", note.display()))
}

fn sources() -> PathBuf {
    root().join("console")
}

fn in_sources(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(sources());
    command
}

fn npm() -> Command {
    in_sources("npm")
}

/// The files of a folder, by their paths below it.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let path = folder.join(&below);
        let entries = fs::read_dir(&path);
        let entries =
            entries.map_err(|error| format!("cannot list {}: {error}", path.display()))?;
        for entry in entries.flatten() {
            let below = below.join(entry.file_name());
            match entry.path().is_dir() {
                true => folders.push(below),
                false => {
                    files.insert(below.display().to_string(), read(&entry.path())?);
                }
            }
        }
    }
    Ok(files)
}

/// The paths that only one of them has, or with other bytes.
fn differences(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let mut paths: Vec<&String> = one.keys().chain(other.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.retain(|path| one.get(*path) != other.get(*path));
    paths.into_iter().cloned().collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::differences;
    use std::collections::BTreeMap;

    #[test]
    fn files_that_are_missing_added_or_changed_differ() {
        let folder = |files: &[(&str, &str)]| -> BTreeMap<String, Vec<u8>> {
            let files = files.iter();
            files
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect()
        };
        let one = folder(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let other = folder(&[("b", "2"), ("c", "1"), ("d", "1")]);
        assert_eq!(differences(&one, &other), ["a", "b", "d"]);
    }
}
