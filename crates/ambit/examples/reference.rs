//! Writes the reference pages of the documentation below a folder: `cargo xtask generate` runs this for the repository.

use ambit::reference::{EXAMPLE, pages};
use std::io::{Error, Result};
use std::path::PathBuf;

fn main() -> Result<()> {
    let root = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let docs = root.join("docs");
    let pages = pages(&docs.join(EXAMPLE)).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Error::other(problems.join("\n"))
    })?;
    for page in pages {
        std::fs::write(docs.join(&page.path), &page.text)?;
    }
    Ok(())
}
