//! Documents made to do harm end in a named failure.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use std::fs;
use std::io::{self, Read};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Child;
use std::process::{Command, Stdio};
use std::time::Duration;

use ambit_extract::{
    CHILD_TIME, ChildRequest, DocumentBytes, DocumentFormat, ExtractError, ExtractedDocument,
    extract, extract_in_child,
};
use support::pdf::{PdfObject, pdf};
use support::zip::{declare_size, zip, zlib};

const CHILD: &str = env!("CARGO_BIN_EXE_extract-child");

fn read(format: &str, mut bytes: &[u8]) -> Result<ExtractedDocument, ExtractError> {
    read_by(CHILD, format, &mut bytes, CHILD_TIME)
}

fn read_by(
    program: &str,
    format: &str,
    document: &mut (dyn Read + Send),
    time: Duration,
) -> Result<ExtractedDocument, ExtractError> {
    let format = DocumentFormat::by_name(format).unwrap();
    extract_in_child(
        Path::new(program),
        ChildRequest {
            format,
            charset: None,
            document,
        },
        time,
    )
}

fn limited(limit: &str) -> Result<ExtractedDocument, ExtractError> {
    Err(ExtractError::Limited(limit.to_owned()))
}

fn invalid(message: &str) -> Result<ExtractedDocument, ExtractError> {
    Err(ExtractError::Invalid(message.to_owned()))
}

fn docx(document: &[u8]) -> Vec<u8> {
    zip(&[("word/document.xml", document)])
}

/// A document of one paragraph that packs well.
fn large_paragraph(bytes: usize) -> Vec<u8> {
    let mut document = b"<w:document><w:p><w:r><w:t>".to_vec();
    document.resize(bytes, b'a');
    document.extend(b"</w:t></w:r></w:p></w:document>");
    document
}

#[test]
fn g207_a_zip_bomb_is_refused() {
    let archive = docx(&large_paragraph(201 << 20));
    assert_eq!(
        read("docx", &archive),
        limited("an archive of more than 200 MiB unpacked")
    );
    let archive = declare_size(archive, 10);
    assert_eq!(
        read("docx", &archive),
        limited("an archive of more than 200 MiB unpacked")
    );
    let archive = docx(&large_paragraph(17 << 20));
    assert_eq!(read("docx", &archive), limited("more than 16 MiB of text"));
}

#[test]
fn g207_an_archive_of_too_many_entries_is_refused() {
    let names: Vec<String> = (0..10_001).map(|number| format!("word/{number}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert_eq!(
        read("docx", &zip(&entries)),
        limited("an archive of more than 10,000 entries")
    );
}

#[test]
fn g207_archives_within_archives_are_not_opened() {
    let inner = docx(b"<w:document/>");
    let outer = zip(&[("inner.docx", &inner)]);
    assert_eq!(
        read("docx", &outer),
        invalid("not a DOCX document: it holds no `word/document.xml`")
    );
}

#[test]
fn g207_xml_with_a_dtd_or_entities_is_refused() {
    let dtd =
        b"<!DOCTYPE w [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;\">]><w:p><w:t>&b;</w:t></w:p>";
    assert_eq!(
        read("docx", &docx(dtd)),
        invalid("XML with a document type (DTD) is not read")
    );
    let external =
        b"<!DOCTYPE w [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><w:p><w:t>&x;</w:t></w:p>";
    assert_eq!(
        read("docx", &docx(external)),
        invalid("XML with a document type (DTD) is not read")
    );
    let undeclared = b"<w:p><w:r><w:t>&x;</w:t></w:r></w:p>";
    assert_eq!(
        read("docx", &docx(undeclared)),
        invalid("broken XML: no entity is named `x`")
    );
}

#[test]
fn g207_deep_nesting_is_refused() {
    let deep = |tag: &str| tag.repeat(100_000).into_bytes();
    assert_eq!(
        read("html", &deep("<div>")),
        limited("HTML nested deeper than 10,000 elements")
    );
    assert_eq!(
        read("docx", &docx(&deep("<w:p>"))),
        limited("XML nested deeper than 10,000 elements")
    );
    let told = "not JSON: recursion limit exceeded at line 1 column 128";
    assert_eq!(read("json", &deep("[")), invalid(told));
    assert_eq!(
        read("json", &deep("{\"a\":")),
        invalid("not JSON: recursion limit exceeded at line 1 column 636")
    );
    let quotes = DocumentBytes {
        bytes: &deep("> "),
        charset: None,
    };
    assert_eq!(
        extract(DocumentFormat::by_name("md").unwrap(), &quotes),
        Err(ExtractError::NoText)
    );
}

#[test]
fn g207_bytes_of_no_charset_are_refused() {
    let told = "not UTF-8 (byte 5), and no byte order mark or charset says what it is: save it as UTF-8 or declare its charset";
    assert_eq!(read("html", b"<p>na\xefve"), invalid(told));
    let told = "not valid UTF-8, which it declares: save it as UTF-8";
    assert_eq!(
        read("html", b"<meta charset=utf-8><p>na\xefve"),
        invalid(told)
    );
}

#[test]
fn g207_a_file_that_is_too_large_is_not_read_to_its_end() {
    let mut large = io::repeat(b'a').take(10 << 30);
    assert_eq!(
        read_by(CHILD, "txt", &mut large, CHILD_TIME),
        limited("a file of more than 64 MiB")
    );
    // The pipe and what is on its way to it hold less than a mebibyte.
    assert!(large.limit() > (10 << 30) - (66 << 20));
}

#[test]
fn g207_a_child_that_never_ends_is_killed() {
    let endless = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/children/endless.sh");
    let read = read_by(endless, "pdf", &mut io::empty(), Duration::from_millis(100));
    assert_eq!(read, limited("0.1 s"));
}

#[test]
fn g207_a_child_that_fails_or_lies_is_named() {
    let program = |name: &str| format!("{}/tests/children/{name}", env!("CARGO_MANIFEST_DIR"));
    let told = |what: &str| {
        Err(ExtractError::Internal(format!(
            "its process ended without an answer ({what})"
        )))
    };
    assert_eq!(
        read_by(&program("failing.sh"), "pdf", &mut io::empty(), CHILD_TIME),
        told("exit status: 3")
    );
    assert_eq!(
        read_by(&program("lying.sh"), "pdf", &mut io::empty(), CHILD_TIME),
        Err(ExtractError::Internal(
            "its process gave an answer that does not hold".to_owned()
        ))
    );
    let missing = read_by("/no/program", "pdf", &mut io::empty(), CHILD_TIME);
    assert!(
        matches!(missing, Err(ExtractError::Internal(told)) if told.starts_with("/no/program cannot be started: "))
    );
}

#[test]
fn g207_a_document_that_takes_too_much_memory_is_named() {
    let strings = "\"a\",".repeat(12 << 20);
    let told = limited("512 MiB of memory, or too deep a nesting");
    assert_eq!(
        read("json", format!("{{\"a\":[{strings}0]}}").as_bytes()),
        told
    );
}

/// A child that waits for its document, confined already.
#[cfg(target_os = "linux")]
fn confined_child() -> Child {
    let mut child = Command::new(CHILD)
        .arg("extract")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let limits = format!("/proc/{}/limits", child.id());
    let is_confined = |limits: &str| {
        let row = |name: &str| {
            limits
                .lines()
                .find(|line| line.starts_with(name))
                .unwrap()
                .split_whitespace()
                .collect::<Vec<_>>()
        };
        row("Max core file size")[4..6] == ["0", "0"]
            && row("Max open files")[3..5] == ["0", "0"]
            && row("Max file size")[3..5] == ["0", "0"]
            && row("Max cpu time")[3..5] == ["60", "61"]
            && row("Max address space")[3..5] == ["536870912", "536870912"]
    };
    while !is_confined(&fs::read_to_string(&limits).unwrap()) {
        assert_eq!(child.try_wait().unwrap(), None);
    }
    child
}

#[cfg(target_os = "linux")]
#[test]
fn g207_the_child_can_open_nothing() {
    let mut child = confined_child();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn g207_the_child_ends_first_where_memory_ends() {
    let mut child = confined_child();
    let score = fs::read_to_string(format!("/proc/{}/oom_score_adj", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(score.trim(), "1000");
}

/// A file of one page, which is object 3, with content and resources.
fn page(content: PdfObject, resources: &str, others: Vec<PdfObject>) -> Vec<u8> {
    let mut objects = vec![
        PdfObject::new("<< /Type /Catalog /Pages 2 0 R >>"),
        PdfObject::new("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
        PdfObject::new(&format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << {resources} >> >>"
        )),
        content,
    ];
    objects.extend(others);
    pdf(&objects)
}

const FONT: &str = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";

#[test]
fn g207_a_pdf_of_loops_ends() {
    let catalog = || PdfObject::new("<< /Type /Catalog /Pages 2 0 R >>");
    let tree = pdf(&[
        catalog(),
        PdfObject::new("<< /Type /Pages /Kids [2 0 R 2 0 R] /Parent 2 0 R /Count 1 >>"),
    ]);
    assert_eq!(read("pdf", &tree), Err(ExtractError::NoText));
    let wide = pdf(&[
        catalog(),
        PdfObject::new("<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 2 >>"),
        PdfObject::new("<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"),
    ]);
    assert_eq!(read("pdf", &wide), Err(ExtractError::NoText));
    // A form that draws itself, and fonts and lengths that are themselves.
    let form =
        "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>";
    let draws = PdfObject::stream("", b"/X Do");
    let itself = page(
        draws,
        "/XObject << /X 5 0 R >>",
        vec![PdfObject::stream(form, b"/X Do /X Do")],
    );
    assert_eq!(read("pdf", &itself), Err(ExtractError::NoText));
    let objects = PdfObject::stream(
        "/Type /ObjStm /N 2 /First 8 /Extends 5 0 R",
        b"5 0 6 0 5 0 R",
    );
    let within = page(
        PdfObject::new("5 0 R"),
        "",
        vec![objects, PdfObject::new("6 0 R")],
    );
    assert_eq!(read("pdf", &within), Err(ExtractError::NoText));
}

#[test]
fn g207_a_pdf_whose_table_leads_back_to_itself_ends() {
    let text = page(
        PdfObject::stream("", b"BT /F1 12 Tf 9 9 Td (Text) Tj ET"),
        FONT,
        Vec::new(),
    );
    assert_eq!(read("pdf", &text).unwrap().text, "Text");
    let table = text
        .windows(5)
        .position(|window| window == b"xref\n")
        .unwrap();
    let mut looping = String::from_utf8(text).unwrap();
    looping = looping.replace("/Root 1 0 R", &format!("/Root 1 0 R /Prev {table}"));
    assert_eq!(read("pdf", looping.as_bytes()).unwrap().text, "Text");
}

#[test]
fn g207_a_stream_that_unpacks_to_a_gigabyte_is_stopped() {
    let spaces = zlib(&b" ".repeat(1 << 30));
    let bomb = page(
        PdfObject::stream("/Filter /FlateDecode", &spaces),
        FONT,
        Vec::new(),
    );
    assert_eq!(
        read("pdf", &bomb),
        limited("512 MiB of memory, or too deep a nesting")
    );
}

/// A form that takes a second, drawn two thousand times, and never shows a letter.
#[test]
fn g207_a_pdf_that_would_be_read_for_hours_is_stopped() {
    let states = zlib(&b"q Q ".repeat(8 << 20));
    let form = PdfObject::stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Filter /FlateDecode",
        &states,
    );
    let draws = PdfObject::stream("", &b"/X Do ".repeat(2_000));
    let endless = page(draws, "/XObject << /X 5 0 R >>", vec![form]);
    let time = Duration::from_secs(2);
    assert_eq!(
        read_by(CHILD, "pdf", &mut endless.as_slice(), time),
        limited("2 s")
    );
}

#[test]
fn g207_nested_pdf_objects_end() {
    let deep = PdfObject::new(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(
        read("pdf", &page(deep, "", Vec::new())),
        Err(ExtractError::NoText)
    );
}
