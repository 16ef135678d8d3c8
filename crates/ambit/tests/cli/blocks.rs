//! Blocks of JSON and YAML in pages are JSON and YAML.

use crate::app::repository;
use ambit_runtime::app::read::parse;
use std::path::PathBuf;

/// The pages of `docs`, and `README.md`.
fn pages() -> Vec<PathBuf> {
    let mut folders = vec![repository("docs")];
    let mut pages = vec![repository("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The blocks of a page: the line that each begins in, its language, and what it holds.
fn blocks(page: &str) -> Vec<(usize, &str, String)> {
    let (mut found, mut lines) = (Vec::new(), page.lines().enumerate());
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line);
        let inside = inside.take_while(|line| line.trim_start() != "```");
        let text: String = inside.map(|line| format!("{line}\n")).collect();
        found.push((number + 1, language, text));
    }
    found
}

#[test]
fn blocks_of_json_and_yaml_in_pages_can_be_read() {
    let mut count = 0;
    for path in pages() {
        let page = std::fs::read_to_string(&path).unwrap();
        for (line, language, text) in blocks(&page) {
            // The reader of an app's files knows the form of a text by the name of its file.
            let file = match language {
                "json" => "block.json",
                "jsonc" => "block.yao",
                "yaml" => "block.yml",
                _ => continue,
            };
            if let Err(fault) = parse(file, &text) {
                panic!("{}:{line}: {}\n{text}", path.display(), fault.message);
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count} blocks were found");
}
