//! What chunks are put together from: blocks of a section, or parts of such as are too long.

use super::{BlockKind, Section, fits, header_tokens};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// A word without an end is cut into stretches of so many characters; each chunk has room for one.
const LONGEST_WORD: usize = 50;

/// A stretch that no chunk begins or ends within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPiece {
    pub range: Range<usize>,
    /// The header of the table that it is of, unless that takes more than half a chunk.
    pub header: Option<Range<usize>>,
    /// Whether it consists of whole sentences.
    pub is_prose: bool,
}

/// The pieces of a section, each of at most `size` tokens together with its header.
pub(super) fn pieces(text: &str, section: &Section, size: u64) -> Vec<TextPiece> {
    let mut pieces = Vec::new();
    for block in &section.blocks {
        let header = block.header.clone();
        let header = header.filter(|header| header_tokens(text, Some(header.clone())) <= size / 2);
        let (cuts, is_prose): (&[TextCut], _) = match block.kind {
            BlockKind::Paragraph => (&[sentences, words, stretches], true),
            BlockKind::Code => (&[lines, words, stretches], false),
            BlockKind::TableRow => (&[words, stretches], false),
        };
        let room = size - header_tokens(text, header.clone());
        let piece = TextPiece {
            range: block.range.clone(),
            header,
            is_prose,
        };
        add(text, piece, CutRules { room, cuts }, &mut pieces);
    }
    pieces
}

/// Finds the parts of a text.
type TextCut = fn(&str) -> Vec<Range<usize>>;

/// What is cut, and how.
#[derive(Clone, Copy)]
struct CutRules<'a> {
    /// The tokens that a piece has at most.
    room: u64,
    /// The ways to part what is longer, the coarsest first.
    cuts: &'a [TextCut],
}

/// Adds a piece, or its parts where it is too long.
fn add(text: &str, piece: TextPiece, rules: CutRules<'_>, pieces: &mut Vec<TextPiece>) {
    let own = &text[piece.range.clone()];
    let (cut, finer) = match rules.cuts {
        [cut, finer @ ..] if !fits(own.trim_end(), rules.room) => (cut, finer),
        _ => {
            pieces.push(piece);
            return;
        }
    };
    // Where what comes next are words, what has been found now are sentences.
    let is_prose = piece.is_prose && finer.len() == 2;
    for part in cut(own) {
        let part = TextPiece {
            range: piece.range.start + part.start..piece.range.start + part.end,
            header: piece.header.clone(),
            is_prose,
        };
        let rules = CutRules {
            cuts: finer,
            ..rules
        };
        add(text, part, rules, pieces);
    }
}

/// Sentences of UAX #29. A line break within a paragraph ends none.
pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let line = text.replace(['\n', '\r'], " ");
    let sentences = line.split_sentence_bound_indices();
    let ranges = sentences.map(|(start, sentence)| start..start + sentence.len());
    ranges.collect()
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let range = start..start + line.len();
        start = range.end;
        range
    });
    lines.collect()
}

/// Words of UAX #29, each with the white space behind it.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (start, word) in text.split_word_bound_indices() {
        let range = start..start + word.len();
        match words.last_mut() {
            Some(last) if word.trim_start().is_empty() => last.end = range.end,
            _ => words.push(range),
        }
    }
    words
}

fn stretches(text: &str) -> Vec<Range<usize>> {
    let starts = text.char_indices().step_by(LONGEST_WORD);
    let mut bounds: Vec<_> = starts.map(|(start, _)| start).collect();
    bounds.push(text.len());
    let ranges = bounds.windows(2).map(|bounds| bounds[0]..bounds[1]);
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::{TextCut, lines, sentences, stretches, words};

    #[test]
    fn texts_are_parted_without_a_gap() {
        let long = "é".repeat(120);
        let cases: [(TextCut, &str, &[usize]); 9] = [
            (sentences, "One is here. Two is\nthere! 3?", &[0, 13, 27]),
            (sentences, "一句。二句！三句", &[0, 9, 18]),
            (sentences, "", &[]),
            (lines, "a\nb\n\nc", &[0, 2, 4, 5]),
            (words, "one two,  3.5 中文", &[0, 4, 7, 10, 14, 17]),
            (words, "  a", &[0, 2]),
            (words, "", &[]),
            (stretches, &long, &[0, 100, 200]),
            (stretches, "", &[]),
        ];
        for (cut, text, starts) in cases {
            let parts = cut(text);
            let found: Vec<_> = parts.iter().map(|part| part.start).collect();
            assert_eq!(found, starts, "{text}");
            let ends = parts.iter().map(|part| part.end);
            let next = starts.iter().copied().skip(1).chain([text.len()]);
            assert!(ends.eq(next.take(starts.len())), "{text}");
        }
    }
}
