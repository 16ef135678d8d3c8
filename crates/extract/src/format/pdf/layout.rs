//! Glyphs become words, lines and paragraphs by where they stand, in the order in which the page draws them.

use crate::document::BlockKind;
use crate::error::ExtractError;
use crate::format::flow::TextFlow;

/// A glyph on its page. Lengths are in units of the page.
pub(super) struct PlacedGlyph<'a> {
    pub text: &'a str,
    /// Where it begins on its baseline.
    pub x: f64,
    pub y: f64,
    /// The way to where the next one begins, as far as its font says.
    pub advance_x: f64,
    pub advance_y: f64,
    /// The height of its font.
    pub size: f64,
}

/// A gap as wide as this part of the font's size divides words. A space is a quarter of it in most fonts, and justified lines
/// have narrower ones.
const WORD_GAP: f64 = 0.15;

/// What is higher or lower by this part of the font's size is still on the line: an exponent, an index.
const SAME_LINE: f64 = 0.5;

/// A line that is lower by more than this is of another paragraph. Lines are usually 1.2 apart, in drafts 1.5.
const LINE_GAP: f64 = 1.7;

/// A line in a font that is larger or smaller by this is of another paragraph.
const SIZE_CHANGE: f64 = 1.2;

/// The text of a page, glyph by glyph.
pub(super) struct PageLayout<'a> {
    flow: &'a mut TextFlow,
    /// Where the last glyph ended.
    last: Option<GlyphEnd>,
    /// Why the page was given up.
    pub failure: Option<ExtractError>,
}

struct GlyphEnd {
    x: f64,
    y: f64,
    size: f64,
    line_size: f64,
}

impl<'a> PageLayout<'a> {
    pub(super) fn new(flow: &'a mut TextFlow) -> Self {
        Self {
            flow,
            last: None,
            failure: None,
        }
    }

    pub(super) fn glyph(&mut self, glyph: &PlacedGlyph<'_>) {
        if self.failure.is_some() || !(glyph.x + glyph.y + glyph.size).is_finite() {
            return;
        }
        let mut line_size = glyph.size;
        if let Some(last) = self.last.take() {
            line_size = self.divide(&last, glyph);
        }
        self.flow.buffer.push_str(glyph.text);
        let (x, y) = (glyph.x + glyph.advance_x, glyph.y + glyph.advance_y);
        self.last = Some(GlyphEnd {
            x,
            y,
            size: glyph.size,
            line_size,
        });
    }

    /// Ends the page.
    pub(super) fn end(mut self) -> Result<(), ExtractError> {
        self.end_paragraph();
        self.failure.map_or(Ok(()), Err)
    }

    /// Puts what is between the last glyph and this one, and returns the size of the line's font.
    fn divide(&mut self, last: &GlyphEnd, glyph: &PlacedGlyph<'_>) -> f64 {
        let size = last.size.max(glyph.size).max(f64::MIN_POSITIVE);
        // Along the line and down from it, for text that is turned as well.
        let length = glyph.advance_x.hypot(glyph.advance_y);
        let (along_x, along_y) = if length > 0.0 {
            (glyph.advance_x / length, glyph.advance_y / length)
        } else {
            (1.0, 0.0)
        };
        let (x, y) = (glyph.x - last.x, glyph.y - last.y);
        let along = (x * along_x + y * along_y) / size;
        let down = (x * along_y - y * along_x) / size;
        if down.abs() < SAME_LINE && along > -1.0 {
            if along > WORD_GAP {
                self.flow.buffer.push(' ');
            }
            return last.line_size.max(glyph.size);
        }
        let change = (glyph.size / last.line_size).max(last.line_size / glyph.size);
        if (SAME_LINE..LINE_GAP).contains(&down) && change < SIZE_CHANGE {
            join_lines(&mut self.flow.buffer, glyph.text);
        } else {
            self.end_paragraph();
        }
        glyph.size
    }

    fn end_paragraph(&mut self) {
        if let Err(failure) = self.flow.end_block(BlockKind::Paragraph) {
            self.failure = Some(failure);
        }
    }
}

/// Prepares a line for the next one, which begins with `next`: a word that was cut is joined, and Chinese needs no space.
fn join_lines(line: &mut String, next: &str) {
    line.truncate(line.trim_end().len());
    let begins_lower = next.chars().next().is_some_and(char::is_lowercase);
    let mut ends = line.chars().rev();
    match (ends.next(), ends.next()) {
        (Some('-' | '\u{2010}'), Some(before)) if before.is_alphabetic() && begins_lower => {
            line.pop();
        }
        (Some(end), _) if is_unspaced(end) && next.chars().next().is_some_and(is_unspaced) => {}
        _ => line.push(' '),
    }
}

/// Scripts whose words are not divided by spaces: Chinese and Japanese with their punctuation.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of glyphs that are each 5 wide in a font of 10.
    fn line(layout: &mut PageLayout<'_>, text: &str, x: f64, y: f64) {
        for (number, character) in text
            .chars()
            .enumerate()
            .filter(|(_, character)| *character != '_')
        {
            let text = &character.to_string();
            layout.glyph(&PlacedGlyph {
                text,
                x: x + 5.0 * number as f64,
                y,
                advance_x: 5.0,
                advance_y: 0.0,
                size: 10.0,
            });
        }
    }

    fn text(lines: &[(&str, f64, f64)]) -> String {
        let mut flow = TextFlow::default();
        let mut layout = PageLayout::new(&mut flow);
        for (text, x, y) in lines {
            line(&mut layout, text, *x, *y);
        }
        layout.end().unwrap();
        flow.builder.finish().unwrap().text
    }

    #[test]
    fn gaps_divide_words_lines_and_paragraphs() {
        assert_eq!(
            text(&[
                ("two_words", 0.0, 100.0),
                ("more", 0.0, 88.0),
                ("next", 0.0, 60.0)
            ]),
            "two words more\n\nnext"
        );
        assert_eq!(
            text(&[("left", 0.0, 10.0), ("right", 300.0, 500.0)]),
            "left\n\nright"
        );
        assert_eq!(
            text(&[("m", 0.0, 10.0), ("2", 5.0, 13.0), ("x", 10.0, 10.0)]),
            "m2x"
        );
    }

    #[test]
    fn cut_words_are_joined() {
        assert_eq!(text(&[("hous-", 0.0, 20.0), ("ing", 0.0, 8.0)]), "housing");
        assert_eq!(text(&[("pre-", 0.0, 20.0), ("War", 0.0, 8.0)]), "pre- War");
        assert_eq!(text(&[("水泵", 0.0, 20.0), ("手册", 0.0, 8.0)]), "水泵手册");
    }
}
