//! The reference pages, and the app that their examples come from.

use crate::app::repository;
use crate::place::{Place, Ran, told};
use ambit::reference::{EXAMPLE, ReferencePage, pages};

/// The variables that the app of the examples names.
const VARIABLES: [&str; 12] = [
    "AMBIT_MODEL_KEY",
    "ANTHROPIC_API_KEY",
    "DOCUMENTS_KEY",
    "GEMINI_API_KEY",
    "JOBS_SECRET",
    "OPENAI_API_KEY",
    "OWN_MODEL_KEY",
    "PG_PASSWORD",
    "REDIS_PASSWORD",
    "SHOP_NAME",
    "STOCK_TOKEN",
    "TAVILY_API_KEY",
];

fn all_pages() -> Vec<ReferencePage> {
    pages(&repository("docs").join(EXAMPLE)).unwrap()
}

#[test]
fn the_reference_pages_equal_what_the_tables_write() {
    for page in all_pages() {
        let path = repository("docs").join(&page.path);
        let written = std::fs::read_to_string(path).unwrap_or_default();
        let is_same = written == page.text;
        assert!(is_same, "{}: run `cargo xtask generate`", page.path);
    }
}

#[test]
fn each_key_of_a_file_has_an_example() {
    for page in all_pages() {
        let head = "| key | is | default | example | means |";
        let tables = page.text.split(head).skip(1);
        let rows =
            tables.flat_map(|table| table.lines().take_while(|line| !line.starts_with("##")));
        for row in rows.filter(|row| row.starts_with("| `")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            // An object's keys have rows of their own.
            let is_object = cells[1].contains("object") || cells[1].contains("](#");
            assert!(is_object || !cells[3].is_empty(), "{}: {row}", page.path);
        }
    }
}

#[test]
fn the_app_of_the_examples_is_whole() {
    let place = Place::new();
    let app = repository("docs").join(EXAMPLE);
    let mut check = place.command(&["check", "--strict", app.to_str().unwrap()]);
    for name in VARIABLES {
        check.env(name, "0123456789abcdef0123456789abcdef");
    }
    let clean = Ran::printed("nothing is broken: 0 errors, 0 warnings, 0 notices\n");
    assert_eq!(told(check.output().unwrap()), clean);
}
