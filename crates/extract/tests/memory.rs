//! What a document costs the process that asks for it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fs;
use std::path::Path;

#[path = "support/zip.rs"]
#[expect(dead_code, reason = "other tests need all of it")]
mod zip;

use ambit_extract::{CHILD_TIME, ChildRequest, DocumentFormat, extract_in_child};

/// The most memory that this process has had, in kibibytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let row = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    row.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Headings of the deepest level below one of each other level.
fn headings() -> Vec<u8> {
    let heading = |level| format!("<text:h text:outline-level=\"{level}\">a</text:h>");
    let above: String = (1..255).map(heading).collect();
    let text = format!("<text>{above}{}</text>", heading(255).repeat(19_700));
    zip::zip(&[("content.xml", text.as_bytes())])
}

/// The largest answers: all text that there may be, and as many blocks and sections.
#[test]
fn g207_a_document_costs_its_server_less_than_64_megabytes() {
    let long = format!("{}.\n\n", "a".repeat(1000)).repeat(16_500);
    let rows = format!(
        "<table><tr><th>a<th>b</tr>{}</table>",
        "<tr><td>c<td>d</tr>".repeat(249_000)
    );
    let documents = [
        ("txt", long.into_bytes()),
        ("html", rows.into_bytes()),
        ("odt", headings()),
    ];
    let before = peak();
    for (format, document) in documents {
        let format = DocumentFormat::by_name(format).unwrap();
        let request = ChildRequest {
            format,
            charset: None,
            document: &mut &document[..],
        };
        let read = extract_in_child(
            Path::new(env!("CARGO_BIN_EXE_extract-child")),
            request,
            CHILD_TIME,
        )
        .unwrap();
        assert!(!read.text.is_empty());
    }
    let grown = (peak() - before) * 1024;
    assert!(grown < 64_000_000, "{grown}");
}
