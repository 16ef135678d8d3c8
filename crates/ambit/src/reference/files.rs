//! The pages about the files of an app.

use super::ReferencePage;
use super::outlines::{HEAD, PAGES};
use crate::app_files::kinds;
use ambit_runtime::app::read::{ExampleFile, FileExamples, FileKind, WRITTEN, page};
use ambit_runtime::app::{App, DocumentPattern, FileProblem};
use std::collections::BTreeMap;
use std::path::Path;

/// The list of all kinds of files, and a page for each part of an app. The examples are the files of the app in this folder.
pub fn pages(example: &Path) -> Result<Vec<ReferencePage>, Vec<FileProblem>> {
    let app = App::load(example, &BTreeMap::new())?;
    let all = kinds().into_iter().map(|kind| examples(kind, &app));
    let all: Vec<FileExamples> = all.collect();
    let pages = PAGES.iter().map(|outline| ReferencePage {
        path: format!("reference/{}.md", outline.name),
        text: page(outline, &all),
    });
    Ok(pages.chain([list()]).collect())
}

/// Which page tells of which files.
fn list() -> ReferencePage {
    let title = "# The files of an app";
    let mut text = format!("{title}\n\n{WRITTEN}\n\n{HEAD}\n| files | are |\n|---|---|\n");
    for outline in PAGES {
        let kinds = kinds().into_iter();
        for kind in kinds.filter(|kind| outline.kinds.contains(&kind.name)) {
            let (patterns, doc, name) = (kind.patterns.join("`, `"), kind.doc, outline.name);
            text += &format!("| [`{patterns}`](reference/{name}.md) | {doc} |\n");
        }
    }
    ReferencePage {
        path: "app-files.md".to_owned(),
        text,
    }
}

/// The files of an app that are of a kind.
fn examples(kind: &'static FileKind, app: &App) -> FileExamples {
    let patterns = kind.patterns.iter();
    let patterns = patterns.filter_map(|pattern| DocumentPattern::parse(pattern).ok());
    let patterns: Vec<DocumentPattern> = patterns.collect();
    let files = app.files.iter();
    let files = files.filter(|path| patterns.iter().any(|pattern| pattern.matches(path)));
    let files = files.filter_map(|path| {
        let text = std::fs::read_to_string(app.root.join(path)).ok()?;
        let path = path.clone();
        Some(ExampleFile { path, text })
    });
    FileExamples {
        kind,
        files: files.collect(),
    }
}
