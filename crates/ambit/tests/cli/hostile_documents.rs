//! Documents made to do harm are added by the program: each ends with its reason, and the next one is read.

use crate::hostile_files::pdf::{PdfObject, pdf};
use crate::hostile_files::zip::zip;
use crate::place::{Place, Ran};
use serde_json::Value;
use std::fs;

fn docx(document: &[u8]) -> Vec<u8> {
    zip(&[("word/document.xml", document)])
}

/// A document of one paragraph that packs well.
fn large_paragraph(bytes: usize) -> Vec<u8> {
    let mut document = b"<w:document><w:p><w:r><w:t>".to_vec();
    document.resize(bytes, b'a');
    document.extend(b"</w:t></w:r></w:p></w:document>");
    docx(&document)
}

/// A file whose pages are the parents of each other.
fn endless_pages() -> Vec<u8> {
    pdf(&[
        PdfObject::new("<< /Type /Catalog /Pages 2 0 R >>"),
        PdfObject::new("<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 2 >>"),
        PdfObject::new("<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"),
    ])
}

/// Files by name, with the reason why they cannot be read.
fn hostile_files() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let entities =
        b"<!DOCTYPE w [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><w:p><w:t>&x;</w:t></w:p>";
    let charset = "not UTF-8 (byte 5), and no byte order mark or charset says what it is: save it as UTF-8 or declare its charset";
    vec![
        (
            "bomb.docx",
            large_paragraph(201 << 20),
            "stopped at a limit: an archive of more than 200 MiB unpacked",
        ),
        ("charset.html", b"<p>na\xefve".to_vec(), charset),
        (
            "deep.html",
            "<div>".repeat(100_000).into_bytes(),
            "stopped at a limit: HTML nested deeper than 10,000 elements",
        ),
        ("endless.pdf", endless_pages(), "no text found"),
        (
            "entities.docx",
            docx(entities),
            "XML with a document type (DTD) is not read",
        ),
        (
            "long.docx",
            large_paragraph(17 << 20),
            "stopped at a limit: more than 16 MiB of text",
        ),
    ]
}

#[test]
fn g207_a_document_that_does_harm_fails_with_its_reason_and_the_next_is_read() {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    place.make_store("shop/ambit.db");
    fs::create_dir(place.path("files")).unwrap();
    let files = hostile_files();
    for (name, bytes, _) in &files {
        fs::write(place.path("files").join(name), bytes).unwrap();
    }
    // It is read behind all others.
    fs::write(place.path("files/tea.html"), "<h1>Tea</h1><p>Green tea.").unwrap();
    let add = [
        "kb", "add", "docs", "files", "--wait", "--json", "--app", "shop",
    ];
    let added = place.run_as(&add);
    assert_eq!(added.code, 2, "{added:?}");
    let told: Vec<(String, Option<String>)> = added.out.lines().map(name_and_error).collect();
    let mut expected: Vec<(String, Option<String>)> = files
        .iter()
        .map(|(name, _, reason)| ((*name).to_owned(), Some((*reason).to_owned())))
        .collect();
    expected.push(("tea.html".to_owned(), None));
    assert_eq!(told, expected);
    let found = place.run_as(&["kb", "search", "docs", "tea", "--json", "--app", "shop"]);
    assert_eq!((found.code, found.json().len()), (0, 1), "{found:?}");
}

fn name_and_error(line: &str) -> (String, Option<String>) {
    let line: Value = serde_json::from_str(line).unwrap();
    let name = line["name"].as_str().unwrap().to_owned();
    (name, line["error"].as_str().map(str::to_owned))
}

#[test]
fn a_collection_is_indexed_anew_from_the_command_line() {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    place.make_store("shop/ambit.db");
    fs::write(place.path("tea.md"), "# Tea\n\nGreen tea.").unwrap();
    let add = ["kb", "add", "docs", "tea.md", "--wait", "--app", "shop"];
    assert_eq!(place.run_as(&add).code, 0);
    let reindex = [
        "kb",
        "reindex",
        "docs",
        "--chunk",
        "100,10",
        "--language",
        "de",
        "--app",
        "shop",
    ];
    assert_eq!(
        place.run_as(&reindex),
        Ran::printed("docs is indexed anew\n")
    );
    let listed = place
        .run_as(&["kb", "ls", "--json", "--app", "shop"])
        .json();
    let collection = (
        &listed[0]["language"],
        &listed[0]["chunk"]["size"],
        &listed[0]["version"],
    );
    assert_eq!(collection, (&"de".into(), &100.into(), &2.into()));
    let wrong = ["kb", "reindex", "docs", "--chunk", "1,0", "--app", "shop"];
    let wrong = place.run_as(&wrong);
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("chunk"), "{}", wrong.err);
}
