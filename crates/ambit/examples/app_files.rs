//! Writes the reference page of an app's files below a folder: `cargo xtask generate` runs this for the repository.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(root.join("docs"))?;
    std::fs::write(root.join("docs/app-files.md"), ambit::app_files::page())
}
