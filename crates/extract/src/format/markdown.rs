//! Markdown: headings, paragraphs, lists, tables and code, and what its front matter says.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::{Map, Value};

use crate::document::{BlockKind, ExtractedDocument};
use crate::encoding::decode;
use crate::error::ExtractError;
use crate::format::flow::TextFlow;
use crate::format::{DocumentBytes, html};
use crate::limits;

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let text = decode(source.bytes, source.charset)?;
    let mut reader = MarkdownReader::default();
    let body = match FrontMatter::of(&text) {
        Some(front) if reader.take_front_matter(front.yaml) => front.body,
        _ => &text,
    };
    // The parser takes any two lines of dashes for front matter, so that it is not asked for it.
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_DEFINITION_LIST;
    for event in Parser::new_ext(body, options) {
        reader.event(event)?;
    }
    reader.end_block()?;
    reader.flow.builder.finish()
}

/// Lines of YAML between two lines of dashes, and what follows.
struct FrontMatter<'a> {
    yaml: &'a str,
    body: &'a str,
}

impl<'a> FrontMatter<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let inner = text
            .strip_prefix("---\n")
            .or_else(|| text.strip_prefix("---\r\n"))?;
        let mut end = 0;
        for line in inner.split_inclusive('\n') {
            if matches!(line.trim_end(), "---" | "...") {
                return Some(Self {
                    yaml: &inner[..end],
                    body: &inner[end + line.len()..],
                });
            }
            end += line.len();
            if end > limits::FRONT_MATTER_BYTES {
                return None;
            }
        }
        None
    }
}

/// Removes a text from the values of a front matter.
fn take_text(values: &mut Map<String, Value>, key: &str) -> Option<String> {
    match values.shift_remove(key)? {
        Value::String(text) => Some(text),
        other => {
            values.insert(key.to_owned(), other);
            None
        }
    }
}

fn is_line_break(tag: &str) -> bool {
    tag.get(..3)
        .is_some_and(|start| start.eq_ignore_ascii_case("<br"))
}

#[derive(Default)]
struct MarkdownReader {
    flow: TextFlow,
    /// How many items of lists are open.
    items: usize,
    /// HTML that has not ended yet.
    html: String,
}

impl MarkdownReader {
    /// Takes what a front matter says, and returns whether it is one.
    fn take_front_matter(&mut self, yaml: &str) -> bool {
        // What aliases repeat counts as well.
        let budget = serde_saphyr::budget! {
            max_nodes: limits::FRONT_MATTER_NODES,
            max_total_scalar_bytes: limits::FRONT_MATTER_BYTES,
        };
        let options = serde_saphyr::options! {
            strict_booleans: true,
            with_snippet: false,
            budget: budget,
        };
        let builder = &mut self.flow.builder;
        match serde_saphyr::from_str_with_options::<Map<String, Value>>(yaml, options) {
            Ok(mut values) => {
                builder.document.title = take_text(&mut values, "title");
                builder.document.language =
                    take_text(&mut values, "lang").or_else(|| take_text(&mut values, "language"));
                builder.document.metadata = values;
                true
            }
            Err(error) => {
                builder.warn(&format!("the front matter is read as text: {error}"));
                false
            }
        }
    }

    fn event(&mut self, event: Event<'_>) -> Result<(), ExtractError> {
        match event {
            Event::Start(tag) => self.start(&tag)?,
            Event::End(tag) => self.end(tag)?,
            Event::Text(text) | Event::Code(text) => self.flow.buffer.push_str(&text),
            Event::SoftBreak => self.flow.buffer.push(' '),
            Event::HardBreak => self.flow.buffer.push('\n'),
            Event::InlineHtml(tag) if is_line_break(&tag) => self.flow.buffer.push('\n'),
            Event::Html(text) => self.html.push_str(&text),
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: &Tag<'_>) -> Result<(), ExtractError> {
        match tag {
            Tag::Item => {
                self.end_block()?;
                self.items += 1;
            }
            Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::List(_) | Tag::BlockQuote(_) => {
                self.end_block()?;
            }
            Tag::Table(_) => self.flow.start_table()?,
            Tag::TableCell => self.flow.start_cell()?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, tag: TagEnd) -> Result<(), ExtractError> {
        match tag {
            TagEnd::Heading(level) => self.heading(level)?,
            TagEnd::CodeBlock => self.flow.end_block(BlockKind::Code)?,
            TagEnd::HtmlBlock => {
                let html = std::mem::take(&mut self.html);
                self.flow.buffer.push_str(&html::text_of(&html));
                self.end_block()?;
            }
            TagEnd::Item => {
                self.end_block()?;
                self.items -= 1;
            }
            TagEnd::TableCell => self.flow.end_cell(),
            TagEnd::TableHead => self.flow.end_row(true)?,
            TagEnd::TableRow => self.flow.end_row(false)?,
            TagEnd::Table => self.flow.end_table()?,
            TagEnd::Paragraph | TagEnd::DefinitionListTitle | TagEnd::DefinitionListDefinition => {
                self.end_block()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn heading(&mut self, level: HeadingLevel) -> Result<(), ExtractError> {
        let title = &mut self.flow.builder.document.title;
        if level == HeadingLevel::H1 && title.is_none() {
            *title = Some(self.flow.buffer.clone());
        }
        self.flow.end_heading(level as u8)
    }

    fn end_block(&mut self) -> Result<(), ExtractError> {
        self.flow.end_block(if self.items > 0 {
            BlockKind::ListItem
        } else {
            BlockKind::Paragraph
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> ExtractedDocument {
        read(&DocumentBytes {
            bytes: text.as_bytes(),
            charset: None,
        })
        .unwrap()
    }

    #[test]
    fn html_line_breaks_divide_words() {
        assert_eq!(document("one<br>two<BR />three").text, "one\ntwo\nthree");
    }

    #[test]
    fn a_front_matter_that_is_no_yaml_is_text() {
        let document = document("---\ntitle: [a\n---\n\nbody");
        assert_eq!(document.text, "title: [a\n\nbody");
        assert_eq!(document.warnings.len(), 1);
        assert!(document.warnings[0].starts_with("the front matter is read as text: "));
    }

    #[test]
    fn g207_aliases_of_a_front_matter_repeat_no_more_than_it_may_hold() {
        let anchors: String = (0..50)
            .map(|number| format!("a{number}: &a{number} {}\n", "a".repeat(1000)))
            .collect();
        let aliases: String = (0..400)
            .map(|number| format!("b{number}: *a{}\n", number % 50))
            .collect();
        let document = document(&format!("---\n{anchors}{aliases}---\n\nbody"));
        assert_eq!(document.metadata, Map::new());
        assert_eq!(document.warnings.len(), 1);
    }

    #[test]
    fn g207_a_front_matter_of_too_many_values_is_text() {
        let values = "1,".repeat(limits::FRONT_MATTER_NODES);
        let document = document(&format!("---\na: [{values}]\n---\n\nbody"));
        assert_eq!(document.metadata, Map::new());
        assert_eq!(document.warnings.len(), 1);
    }
}
