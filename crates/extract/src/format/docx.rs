//! DOCX: headings, paragraphs, lists and tables of a text document of Office Open XML.

use std::collections::HashMap;

use crate::document::{BlockKind, ExtractedDocument};
use crate::error::ExtractError;
use crate::format::DocumentBytes;
use crate::format::archive::Archive;
use crate::format::flow::TextFlow;
use crate::format::xml::{XmlElement, XmlEvent, read_xml};

/// What stands twice in a file: the old text and form of what was changed, and drawings for older programs.
const SKIPPED: &[&str] = &["Fallback", "moveFrom", "pPrChange"];

/// How many styles are based on one another at most.
const STYLE_DEPTH: usize = 10;

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let mut archive = Archive::open(source.bytes, "DOCX")?;
    let styles = paragraph_styles(&mut archive)?;
    let text = archive.required("word/document.xml")?;
    let mut reader = DocxReader {
        styles,
        ..DocxReader::default()
    };
    read_xml(&text, SKIPPED, |event| reader.event(&event))?;
    let mut builder = reader.flow.builder;
    let about = archive.core_properties()?;
    builder.document.title = about.title.or(reader.title);
    builder.document.language = about.language;
    builder.finish()
}

/// The level of a heading, by the name of its style. That is English in every language of Word, whatever the identifier; where no
/// style says its name, the identifier does: `Heading1`.
fn level_of(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    if name == "title" {
        return Some(1);
    }
    name.strip_prefix("heading")?
        .trim_start()
        .parse()
        .ok()
        .filter(|level| (1..=9).contains(level))
}

/// What a style makes of a paragraph.
#[derive(Default)]
struct ParagraphStyle {
    level: Option<u8>,
    is_item: Option<bool>,
    parent: Option<String>,
}

/// The styles of the document, by their identifiers.
fn paragraph_styles(
    archive: &mut Archive<'_>,
) -> Result<HashMap<String, ParagraphStyle>, ExtractError> {
    let mut styles: HashMap<String, ParagraphStyle> = HashMap::new();
    let Some(text) = archive.text("word/styles.xml")? else {
        return Ok(styles);
    };
    let mut current = String::new();
    read_xml(&text, SKIPPED, |event| {
        let XmlEvent::Start(element) = event else {
            return Ok(());
        };
        if element.name == "style" {
            current = element.attribute("styleId").unwrap_or_default();
            styles.insert(current.clone(), ParagraphStyle::default());
        }
        let Some(style) = styles.get_mut(&current) else {
            return Ok(());
        };
        let value = || element.attribute("val").unwrap_or_default();
        match element.name {
            "name" => style.level = style.level.or_else(|| level_of(&value())),
            "basedOn" => style.parent = Some(value()),
            "outlineLvl" => style.level = style.level.or_else(|| outline_level(&value())),
            "numPr" => style.is_item = Some(true),
            "numId" => style.is_item = Some(is_list(&value())),
            _ => {}
        }
        Ok(())
    })?;
    Ok(styles)
}

/// The list 0 takes a paragraph out of the list of its style.
fn is_list(id: &str) -> bool {
    id != "0"
}

/// 9 is the level of what is no heading.
fn outline_level(value: &str) -> Option<u8> {
    value
        .parse::<u8>()
        .ok()
        .filter(|level| *level < 9)
        .map(|level| level + 1)
}

#[derive(Default)]
struct DocxReader {
    styles: HashMap<String, ParagraphStyle>,
    flow: TextFlow,
    /// The first paragraph of the style for titles.
    title: Option<String>,
    in_text: bool,
    level: Option<u8>,
    is_item: Option<bool>,
}

impl DocxReader {
    fn event(&mut self, event: &XmlEvent<'_>) -> Result<(), ExtractError> {
        match event {
            XmlEvent::Start(element) => self.start(element),
            XmlEvent::End(name) => self.end(name),
            XmlEvent::Text(text) => {
                if self.in_text {
                    self.flow.buffer.push_str(text);
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, element: &XmlElement<'_>) -> Result<(), ExtractError> {
        let value = || element.attribute("val").unwrap_or_default();
        match element.name {
            "t" => self.in_text = true,
            "tab" => self.flow.buffer.push(' '),
            "br" | "cr" => self.flow.buffer.push('\n'),
            "noBreakHyphen" => self.flow.buffer.push('-'),
            // A paragraph within another one is a text box, which stands before its rest.
            "p" => self.end_paragraph()?,
            "pStyle" => self.apply_style(&value()),
            "outlineLvl" => self.level = outline_level(&value()),
            "numPr" => self.is_item = Some(true),
            "numId" => self.is_item = Some(is_list(&value())),
            "tbl" => self.flow.start_table()?,
            "tc" => self.flow.start_cell()?,
            _ => {}
        }
        Ok(())
    }

    /// A style is what it says itself, else what the one says that it is based on.
    fn apply_style(&mut self, id: &str) {
        let mut id = id;
        // Styles can be based on one another in a circle.
        for _ in 0..STYLE_DEPTH {
            let Some(found) = self.styles.get(id) else {
                // Word knows the styles that it has itself, and other programs leave them out.
                self.level = self.level.or_else(|| level_of(id));
                return;
            };
            self.level = self.level.or(found.level);
            self.is_item = self.is_item.or(found.is_item);
            let Some(parent) = &found.parent else { return };
            id = parent;
        }
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "t" => self.in_text = false,
            "p" => self.end_paragraph()?,
            "tc" => self.flow.end_cell(),
            "tr" => self.flow.end_row(self.flow.is_first_row())?,
            "tbl" => self.flow.end_table()?,
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), ExtractError> {
        let is_item = self.is_item.take() == Some(true);
        if let Some(level) = self
            .level
            .take()
            .filter(|_| !self.flow.buffer.trim().is_empty())
        {
            if level == 1 && self.title.is_none() {
                self.title = Some(self.flow.buffer.clone());
            }
            return self.flow.end_heading(level);
        }
        self.flow.end_block(if is_item {
            BlockKind::ListItem
        } else {
            BlockKind::Paragraph
        })
    }
}
