//! Puts a document together from its pieces, within the limits.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::clean::{Spacing, cleaned, shortened};
use crate::document::{BlockKind, ExtractedDocument, Section, TextBlock};
use crate::error::ExtractError;
use crate::limits;

/// A document that is being read, piece by piece in its order.
#[derive(Default)]
pub(crate) struct DocumentBuilder {
    pub document: ExtractedDocument,
    /// The headings above the next piece, the outermost first.
    outline: Vec<OutlineHeading>,
    current: Section,
    /// The heading that began the current section, as a part of the text.
    own_heading: Option<Range<usize>>,
    blocks: usize,
    /// The bytes of the headings of all sections.
    heading_bytes: usize,
    last_kind: Option<BlockKind>,
    unnamed_warnings: usize,
}

struct OutlineHeading {
    level: u8,
    title: String,
}

impl DocumentBuilder {
    /// Begins the section below a heading.
    pub(crate) fn heading(&mut self, level: u8, text: &str) -> Result<(), ExtractError> {
        let text = cleaned(text, Spacing::Words);
        if text.is_empty() {
            return Ok(());
        }
        let level = level.min(limits::HEADING_LEVEL);
        let above = self.outline.last().map(|heading| heading.level);
        if above.is_some_and(|above| above < level) {
            // What a heading above others says is repeated with each of them.
            self.own_heading = None;
        }
        self.close_section()?;
        self.outline.retain(|heading| heading.level < level);
        let title = shortened(&text);
        self.outline.push(OutlineHeading { level, title });
        self.current.heading = self
            .outline
            .iter()
            .map(|heading| heading.title.clone())
            .collect();
        self.own_heading = Some(self.append(&text, "\n\n")?);
        self.last_kind = None;
        Ok(())
    }

    /// Begins a page or slide, which ends all sections.
    pub(crate) fn page(&mut self, number: u32) -> Result<(), ExtractError> {
        self.close_section()?;
        self.outline.clear();
        self.current = Section {
            page: Some(number),
            ..Section::default()
        };
        self.document.pages = Some(number);
        Ok(())
    }

    /// Begins a record, which ends all sections.
    pub(crate) fn record(&mut self) -> Result<(), ExtractError> {
        self.close_section()?;
        self.outline.clear();
        self.current = Section::default();
        Ok(())
    }

    /// Says something that holds for the current section alone.
    pub(crate) fn section_metadata(&mut self) -> &mut Map<String, Value> {
        &mut self.current.metadata
    }

    /// Adds a piece of text, if there is any, and returns where it stands.
    pub(crate) fn block(
        &mut self,
        kind: BlockKind,
        text: &str,
    ) -> Result<Option<Range<usize>>, ExtractError> {
        let spacing = match kind {
            BlockKind::Paragraph | BlockKind::ListItem => Spacing::Lines,
            BlockKind::TableRow => Spacing::Words,
            BlockKind::Code => Spacing::All,
        };
        self.clean_block(kind, &cleaned(text, spacing))
    }

    /// Adds a row of a table. A row of one cell is a paragraph.
    pub(crate) fn table_row(
        &mut self,
        cells: &[String],
        header: Option<&Range<usize>>,
    ) -> Result<Option<Range<usize>>, ExtractError> {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| cleaned(cell, Spacing::Words))
            .collect();
        if cells.iter().all(String::is_empty) {
            return Ok(None);
        }
        if let [cell] = &cells[..] {
            return self.block(BlockKind::Paragraph, cell);
        }
        let range = self.clean_block(BlockKind::TableRow, &cells.join(" | "))?;
        if let Some(block) = self.current.blocks.last_mut() {
            block.header = header.cloned();
        }
        Ok(range)
    }

    /// Says what could not be read.
    pub(crate) fn warn(&mut self, warning: &str) {
        if self.document.warnings.len() < limits::WARNINGS {
            self.document.warnings.push(shortened(warning));
        } else {
            self.unnamed_warnings += 1;
        }
    }

    /// Ends the document.
    pub(crate) fn finish(mut self) -> Result<ExtractedDocument, ExtractError> {
        self.close_section()?;
        if self.document.sections.is_empty() {
            return Err(ExtractError::NoText);
        }
        if self.unnamed_warnings > 0 {
            self.document
                .warnings
                .push(format!("{} more warnings", self.unnamed_warnings));
        }
        let named = |text: Option<String>| {
            text.map(|text| shortened(&cleaned(&text, Spacing::Words)))
                .filter(|text| !text.is_empty())
        };
        self.document.title = named(self.document.title);
        self.document.language = named(self.document.language);
        Ok(self.document)
    }

    fn clean_block(
        &mut self,
        kind: BlockKind,
        text: &str,
    ) -> Result<Option<Range<usize>>, ExtractError> {
        if text.is_empty() {
            return Ok(None);
        }
        self.blocks += 1;
        if self.blocks > limits::BLOCKS {
            return Err(ExtractError::limited(format!(
                "more than {} paragraphs and rows",
                limits::BLOCKS
            )));
        }
        let joins = matches!(kind, BlockKind::ListItem | BlockKind::TableRow)
            && self.last_kind == Some(kind);
        let range = self.append(text, if joins { "\n" } else { "\n\n" })?;
        self.last_kind = Some(kind);
        self.current.blocks.push(TextBlock {
            kind,
            range: range.clone(),
            header: None,
        });
        Ok(Some(range))
    }

    fn append(&mut self, piece: &str, between: &str) -> Result<Range<usize>, ExtractError> {
        let text = &mut self.document.text;
        if text.len() + between.len() + piece.len() > limits::TEXT_BYTES {
            return Err(ExtractError::limited("more than 16 MiB of text"));
        }
        if !text.is_empty() {
            text.push_str(between);
        }
        let start = text.len();
        text.push_str(piece);
        Ok(start..text.len())
    }

    /// Keeps the current section if it has any text. A heading with nothing below it is a paragraph.
    fn close_section(&mut self) -> Result<(), ExtractError> {
        let heading = self.own_heading.take();
        let next = Section {
            page: self.current.page,
            ..Section::default()
        };
        let mut section = std::mem::replace(&mut self.current, next);
        if section.blocks.is_empty() {
            let Some(range) = heading else { return Ok(()) };
            section.blocks.push(TextBlock {
                kind: BlockKind::Paragraph,
                range,
                header: None,
            });
        }
        if self.document.sections.len() == limits::SECTIONS {
            return Err(ExtractError::limited(format!(
                "more than {} sections",
                limits::SECTIONS
            )));
        }
        self.heading_bytes += section.heading.iter().map(String::len).sum::<usize>();
        if self.heading_bytes > limits::HEADING_BYTES {
            return Err(ExtractError::limited(
                "more than 16 MiB of headings, as each section repeats those above it: shorten them",
            ));
        }
        self.document.sections.push(section);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(document: &ExtractedDocument) -> Vec<Vec<&str>> {
        let texts = |section: &Section| {
            section
                .blocks
                .iter()
                .map(|block| &document.text[block.range.clone()])
                .collect()
        };
        document.sections.iter().map(texts).collect()
    }

    #[test]
    fn headings_make_sections_and_paths() {
        let mut builder = DocumentBuilder::default();
        builder.heading(1, "Guide").unwrap();
        builder.heading(2, "First").unwrap();
        builder.block(BlockKind::Paragraph, "one").unwrap();
        builder.heading(2, "Second").unwrap();
        builder.block(BlockKind::Paragraph, "two").unwrap();
        let document = builder.finish().unwrap();
        let headings: Vec<_> = document
            .sections
            .iter()
            .map(|section| section.heading.join("/"))
            .collect();
        assert_eq!(headings, ["Guide/First", "Guide/Second"]);
        assert_eq!(document.text, "Guide\n\nFirst\n\none\n\nSecond\n\ntwo");
        assert_eq!(texts(&document), [["one"], ["two"]]);
    }

    #[test]
    fn a_heading_with_nothing_below_it_is_a_paragraph() {
        let mut builder = DocumentBuilder::default();
        builder.heading(1, "Only").unwrap();
        builder.heading(1, "Last").unwrap();
        assert_eq!(texts(&builder.finish().unwrap()), [["Only"], ["Last"]]);
    }

    #[test]
    fn a_document_without_text_is_refused() {
        let mut builder = DocumentBuilder::default();
        builder.block(BlockKind::Paragraph, " \u{0} ").unwrap();
        assert_eq!(builder.finish(), Err(ExtractError::NoText));
    }

    #[test]
    fn g207_text_beyond_its_limit_is_refused() {
        let mut builder = DocumentBuilder::default();
        let mebibyte = "a".repeat(1024 * 1024);
        let error = (0..17).find_map(|_| builder.block(BlockKind::Paragraph, &mebibyte).err());
        assert_eq!(
            error,
            Some(ExtractError::limited("more than 16 MiB of text"))
        );
    }

    #[test]
    fn g207_headings_that_sections_repeat_beyond_their_limit_are_refused() {
        let long = "a".repeat(limits::PHRASE_CHARACTERS);
        let mut builder = DocumentBuilder::default();
        for level in 1..5 {
            builder.heading(level, &long).unwrap();
        }
        let refused = (0..limits::SECTIONS).find_map(|_| builder.heading(5, "b").err());
        let told =
            "more than 16 MiB of headings, as each section repeats those above it: shorten them";
        assert_eq!(refused, Some(ExtractError::limited(told)));
        let most = limits::HEADING_BYTES / (4 * long.len() + 1);
        assert_eq!(builder.document.sections.len(), most);
    }

    #[test]
    fn g207_headings_are_at_most_ten_levels_deep() {
        let mut builder = DocumentBuilder::default();
        for level in 1..=u8::MAX {
            builder.heading(level, &level.to_string()).unwrap();
        }
        let document = builder.finish().unwrap();
        let last = document.sections.last().unwrap();
        assert_eq!(last.heading.join(" "), "1 2 3 4 5 6 7 8 9 255");
    }

    #[test]
    fn g207_what_is_said_of_a_document_is_shortened() {
        let long = "ä".repeat(1_000_000);
        let short = "ä".repeat(limits::PHRASE_CHARACTERS);
        let mut builder = DocumentBuilder::default();
        builder.document.title = Some(long.clone());
        builder.document.language = Some(long.clone());
        builder.warn(&long);
        builder.block(BlockKind::Paragraph, "text").unwrap();
        let document = builder.finish().unwrap();
        assert_eq!(
            (document.title, document.language, document.warnings),
            (Some(short.clone()), Some(short.clone()), vec![short])
        );
    }

    #[test]
    fn g207_sections_and_blocks_beyond_their_limits_are_refused() {
        let mut builder = DocumentBuilder::default();
        let error = (0..=limits::SECTIONS + 1).find_map(|_| builder.heading(1, "a").err());
        assert_eq!(
            error,
            Some(ExtractError::limited("more than 20000 sections"))
        );
        let mut builder = DocumentBuilder::default();
        let error =
            (0..=limits::BLOCKS).find_map(|_| builder.block(BlockKind::ListItem, "a").err());
        assert_eq!(
            error,
            Some(ExtractError::limited(
                "more than 250000 paragraphs and rows"
            ))
        );
    }
}
