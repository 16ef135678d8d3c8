//! Copies of the apps in `examples`, which a test may change.

use std::path::Path;
use tempfile::TempDir;

/// A copy of an example.
pub fn example(name: &str) -> TempDir {
    let app = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    copy(&examples.join(name), app.path());
    app
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}
