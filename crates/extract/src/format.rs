//! The formats that are read, and how a document's format is found out.

mod archive;
mod csv;
mod docx;
mod flow;
mod html;
mod json;
mod markdown;
mod odt;
mod pdf;
mod pptx;
mod text;
mod xml;

use std::panic::catch_unwind;

use crate::document::ExtractedDocument;
use crate::error::ExtractError;
use crate::limits;

/// A format that is read.
#[derive(Debug)]
pub struct DocumentFormat {
    /// The name by which a document's owner says it, which is its usual extension.
    pub name: &'static str,
    /// The ends of file names, in lower case.
    pub extensions: &'static [&'static str],
    /// Its media types, in lower case.
    pub media_types: &'static [&'static str],
    /// The largest document that is read in the asking process, if any is. Larger ones are read by the child process.
    pub in_process_bytes: usize,
    read: fn(&DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError>,
}

/// A document as it was received.
#[derive(Clone, Copy, Debug)]
pub struct DocumentBytes<'a> {
    /// The whole file.
    pub bytes: &'a [u8],
    /// The charset that its sender declares.
    pub charset: Option<&'a str>,
}

/// What is known of a document before it is read.
#[derive(Clone, Debug)]
pub struct DetectedFormat {
    /// How to read it.
    pub format: &'static DocumentFormat,
    /// The charset that its sender declares.
    pub charset: Option<String>,
}

/// All formats. Adding one is a file and a row.
pub const FORMATS: &[DocumentFormat] = &[
    DocumentFormat {
        name: "txt",
        extensions: &["txt", "text", "log"],
        media_types: &["text/plain"],
        in_process_bytes: limits::IN_PROCESS_BYTES,
        read: text::read,
    },
    DocumentFormat {
        name: "md",
        extensions: &["md", "markdown", "mdx"],
        media_types: &["text/markdown", "text/x-markdown"],
        in_process_bytes: limits::MARKDOWN_IN_PROCESS_BYTES,
        read: markdown::read,
    },
    DocumentFormat {
        name: "html",
        extensions: &["html", "htm", "xhtml"],
        media_types: &["text/html", "application/xhtml+xml"],
        in_process_bytes: 0,
        read: html::read,
    },
    DocumentFormat {
        name: "csv",
        extensions: &["csv"],
        media_types: &["text/csv", "application/csv"],
        in_process_bytes: limits::IN_PROCESS_BYTES,
        read: csv::read,
    },
    DocumentFormat {
        name: "jsonl",
        extensions: &["jsonl", "ndjson"],
        media_types: &[
            "application/jsonl",
            "application/x-ndjson",
            "application/x-jsonlines",
        ],
        in_process_bytes: limits::IN_PROCESS_BYTES,
        read: json::read_lines,
    },
    DocumentFormat {
        name: "json",
        extensions: &["json"],
        media_types: &["application/json", "text/json"],
        in_process_bytes: limits::IN_PROCESS_BYTES,
        read: json::read,
    },
    DocumentFormat {
        name: "docx",
        extensions: &["docx"],
        media_types: &["application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
        in_process_bytes: 0,
        read: docx::read,
    },
    DocumentFormat {
        name: "pptx",
        extensions: &["pptx"],
        media_types: &["application/vnd.openxmlformats-officedocument.presentationml.presentation"],
        in_process_bytes: 0,
        read: pptx::read,
    },
    DocumentFormat {
        name: "odt",
        extensions: &["odt"],
        media_types: &["application/vnd.oasis.opendocument.text"],
        in_process_bytes: 0,
        read: odt::read,
    },
    DocumentFormat {
        name: "pdf",
        extensions: &["pdf"],
        media_types: &["application/pdf", "application/x-pdf"],
        in_process_bytes: 0,
        read: pdf::read,
    },
];

impl DocumentFormat {
    /// Finds a format by its name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Whether a document of this size is to be read by [`extract_in_child`](crate::extract_in_child).
    pub fn needs_child(&self, bytes: usize) -> bool {
        bytes > self.in_process_bytes
    }
}

/// What a sender says who does not know what it is.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// How files begin whose media type is worth naming, though nobody reads them here.
const FIRST_BYTES: &[(&[u8], &str)] = &[
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"\xd0\xcf\x11\xe0", "application/msword"),
    (b"PK\x03\x04", "application/zip"),
    (b"{\\rtf", "application/rtf"),
];

/// Finds out the format of a document: by its media type, else by the end of its name, else by its bytes, of which the
/// beginning is enough but for office files.
///
/// Other `text/…` than the formats of the table is plain text. A declared media type that nobody reads is not second-guessed.
pub fn detect(
    name: Option<&str>,
    media_type: Option<&str>,
    bytes: &[u8],
) -> Result<DetectedFormat, ExtractError> {
    let mut parameters = media_type.unwrap_or_default().split(';');
    let declared = parameters
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let charset = parameters.find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        (key.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then(|| value.to_owned())
    });
    let found = |format| {
        Ok(DetectedFormat {
            format,
            charset: charset.clone(),
        })
    };
    let extension = name
        .and_then(|name| name.rsplit_once('.'))
        .map(|(_, end)| end.to_ascii_lowercase());
    let by_name = extension.and_then(|end| {
        FORMATS
            .iter()
            .find(|format| format.extensions.contains(&end.as_str()))
    });
    // Senders name Markdown, CSV and lines of JSON plain text.
    if declared == "text/plain" {
        return found(
            by_name
                .filter(|format| format.in_process_bytes > 0)
                .unwrap_or(&FORMATS[0]),
        );
    }
    if !declared.is_empty() && declared != UNKNOWN_TYPE {
        return match FORMATS
            .iter()
            .find(|format| format.media_types.contains(&declared.as_str()))
        {
            Some(format) => found(format),
            None if declared.starts_with("text/") => found(&FORMATS[0]),
            None => Err(ExtractError::Unsupported(declared)),
        };
    }
    match by_name.or_else(|| by_bytes(bytes)) {
        Some(format) => found(format),
        None => {
            let known = FIRST_BYTES
                .iter()
                .find(|(first, _)| bytes.starts_with(first));
            Err(ExtractError::Unsupported(
                known
                    .map_or(UNKNOWN_TYPE, |(_, media_type)| media_type)
                    .to_owned(),
            ))
        }
    }
}

fn by_bytes(bytes: &[u8]) -> Option<&'static DocumentFormat> {
    // Names of entries are not packed.
    let holds = |part: &str| {
        bytes
            .windows(part.len())
            .any(|window| window == part.as_bytes())
    };
    let name = if bytes.starts_with(b"%PDF-") {
        "pdf"
    } else if bytes.starts_with(b"PK\x03\x04") {
        if holds("mimetypeapplication/vnd.oasis.opendocument.text") {
            "odt"
        } else if holds("word/document.xml") {
            "docx"
        } else if holds("ppt/presentation.xml") {
            "pptx"
        } else {
            return None;
        }
    } else {
        let start = bytes[..bytes.len().min(512)]
            .trim_ascii_start()
            .to_ascii_lowercase();
        let is_html = start.starts_with(b"<!doctype html") || start.starts_with(b"<html");
        return is_html.then(|| DocumentFormat::by_name("html")).flatten();
    };
    DocumentFormat::by_name(name)
}

/// Reads a document in this process. Whoever asks for documents of strangers asks [`DocumentFormat::needs_child`] first.
pub fn extract(
    format: &DocumentFormat,
    source: &DocumentBytes<'_>,
) -> Result<ExtractedDocument, ExtractError> {
    if source.bytes.len() > limits::FILE_BYTES {
        return Err(ExtractError::limited("a file of more than 64 MiB"));
    }
    if source.bytes.is_empty() {
        return Err(ExtractError::NoText);
    }
    let panicked = |_| {
        Err(ExtractError::Internal(
            "its reader came upon what it does not expect".to_owned(),
        ))
    };
    catch_unwind(|| (format.read)(source)).unwrap_or_else(panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(file: &str, media_type: &str, bytes: &[u8]) -> String {
        let given = |text| Some(text).filter(|text: &&str| !text.is_empty());
        match detect(given(file), given(media_type), bytes) {
            Ok(DetectedFormat {
                format,
                charset: Some(charset),
            }) => format!("{} {charset}", format.name),
            Ok(DetectedFormat {
                format,
                charset: None,
            }) => format.name.to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn formats_are_found_by_type_name_and_bytes() {
        assert_eq!(
            name("x.pdf", "text/html; Charset=\"gb2312\"", b""),
            "html gb2312"
        );
        assert_eq!(name("x.md", "text/plain; charset=utf-8", b""), "md utf-8");
        assert_eq!(name("x.pdf", "text/plain", b""), "txt");
        assert_eq!(name("x", "text/x-rust", b""), "txt");
        assert_eq!(name("A.B.DOCX", "application/octet-stream", b""), "docx");
        assert_eq!(name("", "", b"%PDF-1.7"), "pdf");
        assert_eq!(name("", "", b" \n<!DOCTYPE HTML><p>"), "html");
        assert_eq!(name("", "", b"PK\x03\x04....word/document.xml"), "docx");
    }

    #[test]
    fn other_formats_are_refused_by_their_type() {
        assert_eq!(
            name("x.md", "image/png", b""),
            "unsupported: image/png (set uses.extract)"
        );
        assert_eq!(
            name("x.jpg", "", b"\xff\xd8\xff\xe0"),
            "unsupported: image/jpeg (set uses.extract)"
        );
        assert_eq!(
            name("x.bin", "", b"abc"),
            "unsupported: application/octet-stream (set uses.extract)"
        );
    }

    #[test]
    fn g207_the_asking_process_reads_small_documents_of_simple_formats() {
        let needs_child = |name, bytes| DocumentFormat::by_name(name).unwrap().needs_child(bytes);
        assert!(!needs_child("txt", 256 * 1024) && needs_child("txt", 256 * 1024 + 1));
        assert!(!needs_child("md", 64 * 1024) && needs_child("md", 64 * 1024 + 1));
        assert!(needs_child("html", 1) && needs_child("pdf", 1));
    }

    #[test]
    fn names_and_types_are_of_one_format_each() {
        let mut ways: Vec<_> = FORMATS
            .iter()
            .flat_map(|format| format.extensions.iter().chain(format.media_types))
            .collect();
        let count = ways.len();
        ways.sort();
        ways.dedup();
        assert_eq!(ways.len(), count);
    }

    #[test]
    fn g207_a_reader_that_panics_is_a_failure_of_its_document() {
        let format = DocumentFormat {
            name: "panicking",
            extensions: &[],
            media_types: &[],
            in_process_bytes: limits::IN_PROCESS_BYTES,
            read: |_| panic!("a defect of a parser"),
        };
        let source = DocumentBytes {
            bytes: b"a",
            charset: None,
        };
        assert_eq!(
            extract(&format, &source),
            Err(ExtractError::Internal(
                "its reader came upon what it does not expect".to_owned()
            ))
        );
    }

    #[test]
    fn g207_a_file_beyond_its_limit_is_not_looked_at() {
        // Pages that nobody touches take no memory.
        let gigabyte = vec![0; 1 << 30];
        let source = DocumentBytes {
            bytes: &gigabyte,
            charset: None,
        };
        assert_eq!(
            extract(&FORMATS[0], &source),
            Err(ExtractError::limited("a file of more than 64 MiB"))
        );
    }
}
