//! PDF: the text of its pages, in the order in which they draw it, which is the order of reading but for few programs.

mod content;
mod layout;

use std::panic::{AssertUnwindSafe, catch_unwind};

use encoding_rs::WINDOWS_1252;
use hayro_syntax::object::dict::keys::{CONTENTS, LANG};
use hayro_syntax::object::{Dict, String as PdfString};
use hayro_syntax::page::Page;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use crate::document::{BlockKind, ExtractedDocument};
use crate::error::ExtractError;
use crate::format::DocumentBytes;
use crate::format::flow::TextFlow;
use content::{ContentReader, DocumentFonts};
use layout::PageLayout;

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let pdf = Pdf::new(source.bytes.to_vec()).map_err(|error| {
        ExtractError::invalid(match error {
            LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
                "the PDF needs a password".to_owned()
            }
            LoadPdfError::Decryption(error) => {
                format!("the PDF is encrypted in a way that is not read here ({error:?})")
            }
            LoadPdfError::Invalid => "not a PDF document, or too broken to be read".to_owned(),
        })
    })?;
    let mut flow = TextFlow::default();
    let fonts = DocumentFonts::new();
    for (number, page) in (1..).zip(pdf.pages().iter()) {
        flow.builder.page(number)?;
        if !read_whole(&mut flow, |flow| read_page(page, &fonts, flow))? {
            flow.builder
                .warn(&format!("page {number} could not be read"));
        }
    }
    let document = &mut flow.builder.document;
    document.title = pdf.metadata().title.as_deref().map(text_of);
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    document.language =
        catalog.and_then(|catalog| Some(text_of(catalog.get::<PdfString<'_>>(LANG)?.as_bytes())));
    flow.builder.finish()
}

/// Texts about a document are in Latin or, with a byte order mark, in Unicode.
fn text_of(bytes: &[u8]) -> String {
    WINDOWS_1252.decode(bytes).0.into_owned()
}

/// Returns what `read` says, or that nothing more could be read where it panics. What it has put into the flow until then ends
/// here, as it is of no other page.
fn read_whole(
    flow: &mut TextFlow,
    read: impl FnOnce(&mut TextFlow) -> Result<bool, ExtractError>,
) -> Result<bool, ExtractError> {
    if let Ok(is_whole) = catch_unwind(AssertUnwindSafe(|| read(flow))) {
        return is_whole;
    }
    flow.end_block(BlockKind::Paragraph)?;
    Ok(false)
}

/// Reads a page, and returns whether its instructions could be unpacked.
fn read_page<'a>(
    page: &Page<'a>,
    fonts: &DocumentFonts<'a>,
    flow: &mut TextFlow,
) -> Result<bool, ExtractError> {
    ContentReader::new(fonts, PageLayout::new(flow))
        .read(page)
        .end()?;
    Ok(page.page_stream().is_some() || !page.raw().contains_key(CONTENTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_page_that_panics_stays_on_its_page() {
        let mut flow = TextFlow::default();
        flow.builder.page(1).unwrap();
        let read = read_whole(&mut flow, |flow| {
            flow.buffer.push_str("first");
            panic!("a defect of a parser");
        });
        assert_eq!(read, Ok(false));
        flow.builder.page(2).unwrap();
        flow.buffer.push_str("second");
        flow.end_block(BlockKind::Paragraph).unwrap();
        let document = flow.builder.finish().unwrap();
        assert_eq!(document.text, "first\n\nsecond");
        let pages: Vec<_> = document
            .sections
            .iter()
            .map(|section| section.page)
            .collect();
        assert_eq!(pages, [Some(1), Some(2)]);
    }
}
