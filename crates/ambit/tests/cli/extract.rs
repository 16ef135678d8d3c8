//! The program reads documents of strangers in a process of its own, with the allocator that it has.

use ambit_extract::{
    CHILD_TIME, ChildRequest, DocumentFormat, ExtractError, ExtractedDocument, extract_in_child,
};
use std::io::{Cursor, Read, repeat};
use std::path::Path;

fn read(format: &str, document: &mut (dyn Read + Send)) -> Result<ExtractedDocument, ExtractError> {
    let request = ChildRequest {
        format: DocumentFormat::by_name(format).unwrap(),
        charset: None,
        document,
    };
    extract_in_child(Path::new(env!("CARGO_BIN_EXE_ambit")), request, CHILD_TIME)
}

#[test]
fn documents_are_read_by_the_program_itself() {
    let text = read(
        "pdf",
        &mut Cursor::new(include_bytes!("../../../extract/tests/files/manual.pdf")),
    );
    assert!(!text.unwrap().text.is_empty());
    let text = read("html", &mut Cursor::new(b"<h1>Tea</h1><p>Green."));
    assert_eq!(text.unwrap().text, "Tea\n\nGreen.");
}

#[test]
fn what_is_too_large_or_broken_is_refused_with_its_reason() {
    let endless = read("docx", &mut repeat(b'a'));
    assert!(
        matches!(endless, Err(ExtractError::Limited(_))),
        "{endless:?}"
    );
    let broken = read("pdf", &mut Cursor::new(b"%PDF-1.7\n"));
    assert!(
        matches!(broken, Err(ExtractError::Invalid(_))),
        "{broken:?}"
    );
}
