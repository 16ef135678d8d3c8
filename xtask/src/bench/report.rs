//! The page of a run: made of its lines and of nothing else, so that it can be made again.

mod charts;
mod line;
mod page;
mod plot;
mod reasons;
mod summary;
mod table;
mod targets;
mod text;
mod work;

use crate::process::Result;
use line::SpentLine;
use std::path::{Path, PathBuf};
use table::Table;

/// A file of the page.
struct PageFile {
    /// Its path in the folder of the page.
    path: String,
    text: String,
}

/// What a reader of the terminal wants to know of a page.
#[derive(Debug)]
pub struct Outcome {
    /// Where the page is.
    pub page: PathBuf,
    pub met: usize,
    pub missed: usize,
    /// What did not come to its end.
    pub failures: Vec<String>,
    /// Peers that could not be installed: no target is judged against them.
    pub uninstalled: Vec<String>,
    /// What took the time, the longest first.
    pub spent: Vec<SpentLine>,
}

/// Makes the page of a file of lines in a folder: `benchmarks.md`, and what belongs to it in `benchmarks/`.
pub fn write(lines: &Path, folder: &Path) -> Result<Outcome> {
    let text = std::fs::read_to_string(lines)
        .map_err(|error| format!("cannot read {}: {error}", lines.display()))?;
    let lines = line::all(&text);
    let uninstalled = lines.uninstalled().into_iter().map(str::to_owned).collect();
    let spent = lines.longest();
    let table = Table::of(lines.results.into_iter());
    let (met, missed) = summary::verdicts(&table);
    let failures = lines.failures.iter();
    let failures = failures.map(|failure| format!("{}: {}", failure.failed, failure.why));
    let failures = failures.collect();
    for file in files(&text) {
        save(&folder.join(&file.path), &file.text)?;
    }
    save(&folder.join("benchmarks/results.jsonl"), &text)?;
    let page = folder.join("benchmarks.md");
    Ok(Outcome {
        page,
        met,
        missed,
        failures,
        uninstalled,
        spent,
    })
}

/// The page and its charts.
fn files(text: &str) -> Vec<PageFile> {
    let lines = line::all(text);
    let table = Table::of(lines.results.iter().cloned());
    let charts = charts::all(&table);
    let mut files = vec![PageFile {
        path: "benchmarks.md".to_owned(),
        text: page::page(&lines, &table, &charts),
    }];
    files.extend(charts.iter().map(|chart| PageFile {
        path: format!("benchmarks/{}.svg", chart.file),
        text: plot::svg(chart),
    }));
    files
}

fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::files;
    use crate::process::environment;
    use std::path::Path;

    /// `AMBIT_BLESS=1` rewrites the expected files.
    #[test]
    fn a_page_is_made_of_lines_alone() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/report/expected");
        let lines = std::fs::read_to_string(folder.join("lines.jsonl")).unwrap();
        for file in files(&lines) {
            let path = folder.join(&file.path);
            if environment("AMBIT_BLESS").is_some() {
                super::save(&path, &file.text).unwrap();
            }
            let expected = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(file.text, expected, "{}", file.path);
        }
    }
}
