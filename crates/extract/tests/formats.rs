//! Each file of `tests/files` is read as its `.expected` file says, in this process and by a child.
//!
//! `AMBIT_BLESS=1 cargo test -p ambit-extract --test formats` rewrites the expected files; read what changed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use ambit_extract::{
    BlockKind, CHILD_TIME, ChildRequest, DocumentBytes, DocumentFormat, ExtractError,
    ExtractedDocument, Section, detect, extract, extract_in_child,
};

#[path = "support/zip.rs"]
#[expect(dead_code, reason = "other tests need all of it")]
mod zip;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files");
const CHILD: &str = env!("CARGO_BIN_EXE_extract-child");

fn documents() -> Vec<PathBuf> {
    let files = fs::read_dir(FILES)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut documents: Vec<_> = files
        .filter(|path| path.extension().is_none_or(|end| end != "expected"))
        .collect();
    documents.sort();
    documents
}

fn read(path: &Path) -> ExtractedDocument {
    let bytes = fs::read(path).unwrap();
    let found = detect(path.to_str(), None, &bytes).unwrap();
    let here = extract(
        found.format,
        &DocumentBytes {
            bytes: &bytes,
            charset: None,
        },
    )
    .unwrap();
    let request = ChildRequest {
        format: found.format,
        charset: None,
        document: &mut &bytes[..],
    };
    let there = extract_in_child(Path::new(CHILD), request, CHILD_TIME).unwrap();
    assert_eq!(here, there, "{}", path.display());
    here
}

/// The document as a person reads it: what is known of it, then each section with its blocks.
fn shown(document: &ExtractedDocument) -> String {
    let mut shown = String::new();
    let about = [("title", &document.title), ("language", &document.language)];
    for (name, value) in about {
        if let Some(value) = value {
            writeln!(shown, "{name}: {value}").unwrap();
        }
    }
    if let Some(pages) = document.pages {
        writeln!(shown, "pages: {pages}").unwrap();
    }
    if !document.metadata.is_empty() {
        writeln!(
            shown,
            "metadata: {}",
            serde_json::to_string(&document.metadata).unwrap()
        )
        .unwrap();
    }
    for warning in &document.warnings {
        writeln!(shown, "warning: {warning}").unwrap();
    }
    for section in &document.sections {
        show_section(&mut shown, section, &document.text);
    }
    shown
}

fn show_section(shown: &mut String, section: &Section, text: &str) {
    write!(shown, "\n== {}", section.heading.join(" / ")).unwrap();
    if let Some(page) = section.page {
        write!(shown, " (page {page})").unwrap();
    }
    if !section.metadata.is_empty() {
        write!(
            shown,
            " {}",
            serde_json::to_string(&section.metadata).unwrap()
        )
        .unwrap();
    }
    shown.push('\n');
    for block in &section.blocks {
        write!(shown, "[{:?}] {}", block.kind, &text[block.range.clone()]).unwrap();
        if let Some(header) = &block.header {
            write!(shown, "   below: {}", &text[header.clone()]).unwrap();
        }
        shown.push('\n');
    }
}

#[test]
fn documents_read_as_expected() {
    for path in documents() {
        let actual = shown(&read(&path));
        let expected = PathBuf::from(format!("{}.expected", path.display()));
        if env::var_os("AMBIT_BLESS").is_some() {
            fs::write(&expected, &actual).unwrap();
        }
        assert_eq!(
            actual,
            fs::read_to_string(&expected).unwrap_or_default(),
            "{}",
            path.display()
        );
    }
}

#[test]
fn ranges_ascend_and_headings_are_part_of_the_text() {
    for path in documents() {
        let document = read(&path);
        let mut end = 0;
        for section in &document.sections {
            for block in &section.blocks {
                assert!(
                    block.range.start >= end && !block.range.is_empty(),
                    "{}",
                    path.display()
                );
                end = block.range.end;
            }
            assert!(
                section
                    .heading
                    .iter()
                    .all(|heading| document.text.contains(heading)),
                "{}",
                path.display()
            );
        }
        assert!(end <= document.text.len());
    }
}

/// Numbers that look random and are the same on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// What a damaged document reads as is no matter.
fn assert_no_panic(format: &DocumentFormat, bytes: &[u8], charset: Option<&str>) {
    let read = extract(format, &DocumentBytes { bytes, charset });
    assert!(!matches!(read, Err(ExtractError::Internal(_))), "{read:?}");
}

#[test]
fn g207_cut_and_damaged_documents_end_in_text_or_a_reason() {
    let mut numbers = Numbers(1);
    for path in documents() {
        let bytes = fs::read(&path).unwrap();
        let format = detect(path.to_str(), None, &bytes).unwrap().format;
        for _ in 0..40 {
            let cut = numbers.below(bytes.len());
            assert_no_panic(format, &bytes[..cut], None);
            let mut damaged = bytes.clone();
            for _ in 0..8 {
                let place = numbers.below(damaged.len());
                damaged[place] = numbers.below(256) as u8;
            }
            assert_no_panic(format, &damaged, Some("latin1"));
        }
    }
}

/// A style and a paragraph leave the list of the style that they are based on.
#[test]
fn the_list_0_of_docx_is_no_list() {
    let styles = r#"<w:styles><w:style w:styleId="L"><w:numPr><w:numId w:val="3"/></w:numPr></w:style>
        <w:style w:styleId="P"><w:basedOn w:val="L"/><w:numPr><w:numId w:val="0"/></w:numPr></w:style></w:styles>"#;
    let paragraph = |properties: &str| {
        format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>text</w:t></w:r></w:p>")
    };
    let text = [
        r#"<w:pStyle w:val="L"/>"#,
        r#"<w:pStyle w:val="P"/>"#,
        r#"<w:pStyle w:val="L"/><w:numPr><w:numId w:val="0"/></w:numPr>"#,
    ]
    .map(paragraph)
    .concat();
    let text = format!("<w:document>{text}</w:document>");
    let bytes = zip::zip(&[
        ("word/document.xml", text.as_bytes()),
        ("word/styles.xml", styles.as_bytes()),
    ]);
    let source = DocumentBytes {
        bytes: &bytes,
        charset: None,
    };
    let document = extract(DocumentFormat::by_name("docx").unwrap(), &source).unwrap();
    let kinds: Vec<_> = document.sections[0]
        .blocks
        .iter()
        .map(|block| block.kind)
        .collect();
    assert_eq!(
        kinds,
        [
            BlockKind::ListItem,
            BlockKind::Paragraph,
            BlockKind::Paragraph
        ]
    );
}

/// A document of Word says what its styles are, one of another program need not.
#[test]
fn headings_of_docx_are_known_by_the_identifiers_of_styles_that_are_left_out() {
    let paragraph = |(style, text): (&str, &str)| {
        format!(
            r#"<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#
        )
    };
    let paragraphs = [
        ("Title", "Boats"),
        ("Heading2", "Sails"),
        ("BodyText", "They are white."),
        ("Own", "Oars"),
        ("Heading10", "They are long."),
    ];
    let text = paragraphs.map(paragraph).concat();
    let text = format!("<w:document>{text}</w:document>");
    let others =
        r#"<w:styles><w:style w:styleId="Own"><w:basedOn w:val="heading2"/></w:style></w:styles>"#;
    let parts = [
        ("word/document.xml", text.as_bytes()),
        ("word/styles.xml", others.as_bytes()),
    ];
    for (parts, below_oars) in [(&parts[..1], 0), (&parts[..], 1)] {
        let bytes = zip::zip(parts);
        let source = DocumentBytes {
            bytes: &bytes,
            charset: None,
        };
        let document = extract(DocumentFormat::by_name("docx").unwrap(), &source).unwrap();
        assert_eq!(document.title.as_deref(), Some("Boats"));
        let last = document.sections.last().unwrap();
        let heading = [["Boats", "Sails"], ["Boats", "Oars"]][below_oars];
        assert_eq!(last.heading, heading);
    }
}
