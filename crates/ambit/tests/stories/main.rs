//! Stories: an app, requests, and the streams that must come of them. A story is a folder with `request.json` and one
//! expected file for each format; `AMBIT_BLESS=1` rewrites the expected files.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../support/expected.rs"]
mod expected;
mod steady;
mod story;

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};

fn main() {
    let trials = stories().into_iter().map(|folder| {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        Trial::test(name, move || {
            story::run(&folder);
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// Every folder with a request.
fn stories() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("request.json").exists())
        .collect();
    found.sort();
    found
}
