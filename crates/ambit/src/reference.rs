//! The pages below `docs/reference`, written from the tables that the program works by. Those of its commands are written by
//! `cli/reference.rs` of the program, which alone knows them.

mod errors;
mod events;
mod files;
mod http;
mod limits;
mod metrics;
mod outlines;

use ambit_runtime::app::FileProblem;
use ambit_runtime::app::read::WRITTEN;
use std::path::Path;

/// The folder of the app whose files are the examples of the pages, below `docs`.
pub const EXAMPLE: &str = "reference/app";

/// A page.
#[derive(Debug)]
pub struct ReferencePage {
    /// Its path below `docs`.
    pub path: String,
    /// What it says, in Markdown.
    pub text: String,
}

impl ReferencePage {
    /// A page with this heading, and this below it.
    fn new(name: &str, title: &str, text: &str) -> Self {
        Self {
            path: format!("reference/{name}.md"),
            text: format!("# {title}\n\n{WRITTEN}\n\n{text}"),
        }
    }
}

/// All pages. Fails where the app of the examples, in this folder, is broken.
pub fn pages(example: &Path) -> Result<Vec<ReferencePage>, Vec<FileProblem>> {
    let mut pages = files::pages(example)?;
    pages.extend([
        http::page(),
        events::page(),
        errors::page(),
        limits::page(),
        metrics::page(),
    ]);
    Ok(pages)
}

/// A text in a cell of a table: on one line, and without what would end the cell.
pub fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// Names as code, with commas between them.
fn codes(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{cell, codes};

    #[test]
    fn a_cell_is_one_line_and_ends_no_cell() {
        assert_eq!(cell("a |\n  b"), "a \\| b");
        assert_eq!(codes(&["a", "b"]), "`a`, `b`");
        assert_eq!(codes(&[]), "");
    }
}
