//! HTML: headings and text without what stands on every page of a site.
//!
//! The tokenizer is that of browsers; no tree is built of its tags, as nothing here depends on how browsers mend one.

mod tags;

use html5gum::{StartTag, Token};

use crate::document::{BlockKind, ExtractedDocument};
use crate::encoding::decode;
use crate::error::ExtractError;
use crate::format::DocumentBytes;
use crate::format::flow::TextFlow;
use crate::limits;

/// How far into a file browsers look for its charset.
const CHARSET_WITHIN: usize = 1024;

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let start = &source.bytes[..source.bytes.len().min(CHARSET_WITHIN)];
    let named = tags::declared_charset(start);
    read_html(&decode(source.bytes, source.charset.or(named.as_deref()))?)
}

/// Returns the text of a piece of HTML that stands in another document.
pub(super) fn text_of(html: &str) -> String {
    read_html(html)
        .map(|document| document.text)
        .unwrap_or_default()
}

fn read_html(html: &str) -> Result<ExtractedDocument, ExtractError> {
    let mut reader = HtmlReader::default();
    for token in tags::tokens(html.as_bytes()) {
        match token {
            Token::StartTag(tag) => reader.start(&tag)?,
            Token::EndTag(tag) => reader.end(&String::from_utf8_lossy(&tag.name))?,
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            _ => {}
        }
    }
    reader.flow.end_row(false)?;
    reader.end_block()?;
    reader.flow.builder.finish()
}

#[derive(Default)]
struct HtmlReader {
    flow: TextFlow,
    /// How many elements are open whose end cannot be left out.
    depth: usize,
    /// The element that is passed over with all that is in it.
    passed_over: Option<PassedElement>,
    in_title: bool,
    in_pre: bool,
    has_heading_cell: bool,
    lists: usize,
}

struct PassedElement {
    name: String,
    /// How many elements of this name are open.
    depth: usize,
}

impl HtmlReader {
    fn start(&mut self, tag: &StartTag<()>) -> Result<(), ExtractError> {
        let name = &*String::from_utf8_lossy(&tag.name);
        if let Some(passed_over) = &mut self.passed_over {
            passed_over.depth += usize::from(passed_over.name == name);
            return Ok(());
        }
        if !tags::VOID.contains(&name) && !tags::END_OPTIONAL.contains(&name) && !tag.self_closing {
            self.depth += 1;
        }
        if self.depth > limits::ELEMENT_DEPTH {
            return Err(ExtractError::limited(
                "HTML nested deeper than 10,000 elements",
            ));
        }
        if tags::SKIPPED.contains(&name) {
            self.passed_over = Some(PassedElement {
                name: name.to_owned(),
                depth: 1,
            });
        }
        match name {
            "html" => self.flow.builder.document.language = tags::attribute(tag, "lang"),
            "title" => self.in_title = self.flow.builder.document.title.is_none(),
            "br" => self.flow.buffer.push('\n'),
            "pre" => {
                self.end_block()?;
                self.in_pre = true;
            }
            "ul" | "ol" | "menu" => {
                self.end_block()?;
                self.lists += 1;
            }
            "table" => self.flow.start_table()?,
            "tr" => self.end_row()?,
            "td" | "th" => {
                self.has_heading_cell |= name == "th";
                self.flow.start_cell()?;
            }
            // What stands before a heading is not part of it. A table is left, for it only places the heading on the page.
            _ if heading_level(name).is_some() => {
                self.end_row()?;
                self.end_block()?;
            }
            _ if tags::BLOCKS.contains(&name) => self.end_block()?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        if let Some(passed_over) = &mut self.passed_over {
            passed_over.depth -= usize::from(passed_over.name == name);
            if passed_over.depth > 0 {
                return Ok(());
            }
            self.passed_over = None;
        }
        if !tags::END_OPTIONAL.contains(&name) {
            self.depth = self.depth.saturating_sub(1);
        }
        match name {
            "title" => self.in_title = false,
            "pre" => {
                self.end_block()?;
                self.in_pre = false;
            }
            "ul" | "ol" | "menu" => {
                self.end_block()?;
                self.lists = self.lists.saturating_sub(1);
            }
            "td" | "th" => self.flow.end_cell(),
            "tr" => self.end_row()?,
            "table" => {
                self.end_row()?;
                self.flow.end_table()?;
            }
            _ => match heading_level(name) {
                Some(level) => self.flow.end_heading(level)?,
                None if tags::BLOCKS.contains(&name) => self.end_block()?,
                None => {}
            },
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.flow
                .builder
                .document
                .title
                .get_or_insert_default()
                .push_str(text);
        } else if self.passed_over.is_none() && self.in_pre {
            self.flow.buffer.push_str(text);
        } else if self.passed_over.is_none() {
            // Line breaks of the source are spaces.
            self.flow.buffer.extend(
                text.chars()
                    .map(|character| if character == '\n' { ' ' } else { character }),
            );
        }
    }

    fn end_row(&mut self) -> Result<(), ExtractError> {
        let is_header = std::mem::take(&mut self.has_heading_cell) && self.flow.is_first_row();
        self.flow.end_row(is_header)
    }

    fn end_block(&mut self) -> Result<(), ExtractError> {
        self.flow.end_block(if self.in_pre {
            BlockKind::Code
        } else if self.lists > 0 {
            BlockKind::ListItem
        } else {
            BlockKind::Paragraph
        })
    }
}

fn heading_level(name: &str) -> Option<u8> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_in_place_of_something_is_passed_over() {
        for name in ["noscript", "iframe", "noembed"] {
            let html = format!("before<{name}><img src=x></{name}> after");
            assert_eq!(text_of(&html), "before after", "{name}");
        }
    }

    #[test]
    fn what_stands_on_every_page_divides_the_text_around_it() {
        for name in ["nav", "header", "footer"] {
            let html = format!("Price<{name}>Home</{name}>Next");
            assert_eq!(text_of(&html), "Price\n\nNext", "{name}");
        }
    }
}
