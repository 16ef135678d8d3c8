//! Small apps, written by the tests that need them.

use ambit_runtime::app::{App, FileProblem};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The folder of the fixture.
pub fn fixture() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/app/fixture"))
}

/// A folder with these files, and an `app.yao` if none of them is.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "app.yao", "{ \"name\": \"test\" }");
    for (file, text) in files {
        write(root.path(), file, text);
    }
    root
}

/// Writes one file of an app.
pub fn write(root: &Path, file: &str, text: impl AsRef<[u8]>) {
    let file = root.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Variables by name.
pub fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let variables = variables.iter();
    let owned = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    owned.collect()
}

/// The app of these files.
pub fn load(files: &[(&str, &str)]) -> App {
    load_with(files, &[])
}

/// The app of these files with these variables.
pub fn load_with(files: &[(&str, &str)], variables: &[(&str, &str)]) -> App {
    let root = folder(files);
    App::load(root.path(), &environment(variables)).unwrap()
}

/// Problems as people read them.
pub fn texts(problems: &[FileProblem]) -> Vec<String> {
    let problems = problems.iter();
    let texts = problems.map(|problem| format!("{:?} {problem}", problem.severity));
    texts.collect()
}
