//! ODT: headings, paragraphs, lists and tables of a text document of OpenDocument.

use crate::document::{BlockKind, ExtractedDocument};
use crate::error::ExtractError;
use crate::format::DocumentBytes;
use crate::format::archive::Archive;
use crate::format::flow::TextFlow;
use crate::format::xml::{XmlElement, XmlEvent, read_xml};

/// What is written beside the text: comments, deleted text, and notes in the middle of sentences.
const SKIPPED: &[&str] = &["annotation", "tracked-changes", "note", "forms"];

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let mut archive = Archive::open(source.bytes, "ODT")?;
    let text = archive.required("content.xml")?;
    let mut reader = OdtReader::default();
    read_xml(&text, SKIPPED, |event| reader.event(&event))?;
    let mut builder = reader.flow.builder;
    let about = archive.properties("meta.xml")?;
    builder.document.title = about.title;
    builder.document.language = about.language;
    builder.finish()
}

#[derive(Default)]
struct OdtReader {
    flow: TextFlow,
    /// How many paragraphs and headings are open: text boxes are paragraphs within paragraphs.
    paragraphs: usize,
    lists: usize,
    level: u8,
}

impl OdtReader {
    fn event(&mut self, event: &XmlEvent<'_>) -> Result<(), ExtractError> {
        match event {
            XmlEvent::Start(element) => self.start(element),
            XmlEvent::End(name) => self.end(name),
            XmlEvent::Text(text) => {
                if self.paragraphs > 0 {
                    self.flow.buffer.push_str(&text.replace('\n', " "));
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, element: &XmlElement<'_>) -> Result<(), ExtractError> {
        match element.name {
            "p" | "h" => {
                self.end_block()?;
                self.paragraphs += 1;
                self.level = element
                    .attribute("outline-level")
                    .and_then(|level| level.parse().ok())
                    .unwrap_or(1);
            }
            "s" | "tab" => self.flow.buffer.push(' '),
            "line-break" => self.flow.buffer.push('\n'),
            "list" => self.lists += 1,
            "table" => self.flow.start_table()?,
            "table-cell" => self.flow.start_cell()?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "p" | "h" => {
                self.paragraphs -= 1;
                if name == "h" && !self.flow.buffer.trim().is_empty() {
                    self.flow.end_heading(self.level)?;
                } else {
                    self.end_block()?;
                }
            }
            "list" => self.lists -= 1,
            "table-cell" => self.flow.end_cell(),
            "table-row" => self.flow.end_row(self.flow.is_first_row())?,
            "table" => self.flow.end_table()?,
            _ => {}
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), ExtractError> {
        self.flow.end_block(if self.lists > 0 {
            BlockKind::ListItem
        } else {
            BlockKind::Paragraph
        })
    }
}
