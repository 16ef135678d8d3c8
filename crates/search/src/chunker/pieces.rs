//! What chunks are put together from: blocks of a section, or parts of such as are too long.

use super::{BlockKind, Section, TextBlock, fits, header_tokens};
use std::iter;
use std::ops::Range;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// A word without an end is cut into stretches of so many characters; each chunk has room for one.
const LONGEST_WORD: usize = 50;

/// So many characters in a row that are of no word end the stretch in which sentences are looked for.
const LONGEST_GAP: usize = 64;

/// A stretch that no chunk begins or ends within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPiece {
    /// Where it stands, without the white space behind it.
    pub range: Range<usize>,
    /// The header of the table that it is of, unless that takes more than half a chunk.
    pub header: Option<Range<usize>>,
    /// Whether it consists of whole sentences.
    pub is_prose: bool,
}

/// Pieces that are made as they are asked for, since a text can have as many of them as bytes.
type TextPieces<'a> = Box<dyn Iterator<Item = TextPiece> + 'a>;

/// The pieces of a section, each of at most `size` tokens together with its header. White space is a piece only where a block
/// begins with it.
pub(super) fn pieces(text: &str, section: &Section, size: u64) -> impl Iterator<Item = TextPiece> {
    section.blocks.iter().flat_map(move |block| {
        let pieces = block_pieces(text, block, size).enumerate();
        let pieces = pieces.filter(|(place, piece)| *place == 0 || !piece.range.is_empty());
        pieces.map(|(_, piece)| piece)
    })
}

fn block_pieces<'a>(text: &'a str, block: &TextBlock, size: u64) -> TextPieces<'a> {
    let header = block.header.clone();
    // The line break behind it takes a token too.
    let header = header.filter(|header| fits(&text[header.clone()], size / 2 - 1));
    let (cuts, is_prose) = match block.kind {
        BlockKind::Paragraph => (PARAGRAPH_CUTS, true),
        BlockKind::Code => (CODE_CUTS, false),
        BlockKind::TableRow => (ROW_CUTS, false),
    };
    let room = size - header_tokens(text, header.clone());
    let piece = TextPiece {
        range: block.range.clone(),
        header,
        is_prose,
    };
    parts(text, piece, CutRules { room, cuts })
}

/// Parts of a text, one behind the other.
type TextRanges<'a> = Box<dyn Iterator<Item = Range<usize>> + 'a>;

/// Finds the parts of a text.
type TextCut = fn(&str) -> TextRanges<'_>;

const PARAGRAPH_CUTS: &[TextCut] = &[sentences, words, stretches];
const CODE_CUTS: &[TextCut] = &[lines, words, stretches];
const ROW_CUTS: &[TextCut] = &[words, stretches];

/// What is cut, and how.
#[derive(Clone, Copy)]
struct CutRules {
    /// The tokens that a piece has at most.
    room: u64,
    /// The ways to part what is longer, the coarsest first.
    cuts: &'static [TextCut],
}

/// A piece, or its parts where it is too long.
fn parts(text: &str, piece: TextPiece, rules: CutRules) -> TextPieces<'_> {
    let start = piece.range.start;
    let own = &text[piece.range.clone()];
    let trimmed = own.trim_end();
    let (cut, finer) = match rules.cuts {
        [cut, finer @ ..] if !fits(trimmed, rules.room) => (cut, finer),
        _ => {
            let range = start..start + trimmed.len();
            return Box::new(iter::once(TextPiece { range, ..piece }));
        }
    };
    // Where what comes next are words, what has been found now are sentences.
    let is_prose = piece.is_prose && finer.len() == 2;
    Box::new(cut(own).flat_map(move |part| {
        let part = TextPiece {
            range: start + part.start..start + part.end,
            header: piece.header.clone(),
            is_prose,
        };
        let rules = CutRules {
            cuts: finer,
            ..rules
        };
        parts(text, part, rules)
    }))
}

fn sentences(text: &str) -> TextRanges<'_> {
    Box::new(ranges(sentence_starts(text).into_iter(), text.len()))
}

/// Where the sentences of UAX #29 begin. A line break within a paragraph ends none.
///
/// For each bracket and space behind a full stop, the library looks at all that comes before the next letter.
pub(super) fn sentence_starts(text: &str) -> Vec<usize> {
    let line = text.replace(['\n', '\r'], " ");
    let mut starts = Vec::new();
    for stretch in ranges(stretch_starts(&line), line.len()) {
        let found = line[stretch.clone()].split_sentence_bound_indices();
        let found = found.map(|(start, _)| stretch.start + start);
        // The sentence before a gap goes on within it.
        starts.extend(found.skip(usize::from(stretch.start > 0)));
    }
    starts
}

/// Where a line is parted to look for sentences: at its beginning and within long gaps between words.
fn stretch_starts(line: &str) -> impl Iterator<Item = usize> {
    let mut gap = 0;
    let starts = line.char_indices().filter(move |(at, sign)| {
        gap = if is_of_word(*sign) {
            0
        } else {
            gap % LONGEST_GAP + 1
        };
        *at == 0 || gap == LONGEST_GAP
    });
    starts.map(|(at, _)| at)
}

/// Whether a sign ends a run of brackets and spaces. Marks do not, and the two half-width ones are letters by their category.
fn is_of_word(sign: char) -> bool {
    sign.is_alphanumeric() && !is_combining_mark(sign) && !matches!(sign, '\u{ff9e}' | '\u{ff9f}')
}

fn lines(text: &str) -> TextRanges<'_> {
    Box::new(text.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some(start..*end)
    }))
}

/// Words of UAX #29, and the white space between them.
fn words(text: &str) -> TextRanges<'_> {
    let words = text.split_word_bound_indices();
    Box::new(words.map(|(start, word)| start..start + word.len()))
}

fn stretches(text: &str) -> TextRanges<'_> {
    let starts = text.char_indices().step_by(LONGEST_WORD);
    Box::new(ranges(starts.map(|(start, _)| start), text.len()))
}

/// The stretches from each place to the next, the last of which ends at `end`.
fn ranges(starts: impl Iterator<Item = usize>, end: usize) -> impl Iterator<Item = Range<usize>> {
    let mut starts = starts.peekable();
    iter::from_fn(move || {
        let start = starts.next()?;
        Some(start..starts.peek().copied().unwrap_or(end))
    })
}

#[cfg(test)]
mod tests {
    use super::{
        BlockKind, Section, TextBlock, TextCut, is_of_word, lines, pieces, sentence_starts,
        sentences, stretches, words,
    };
    use unicode_segmentation::UnicodeSegmentation;

    #[test]
    fn texts_are_parted_without_a_gap() {
        let long = "é".repeat(120);
        let cases: [(TextCut, &str, &[usize]); 9] = [
            (sentences, "One is here. Two is\nthere! 3?", &[0, 13, 27]),
            (sentences, "一句。二句！三句", &[0, 9, 18]),
            (sentences, "", &[]),
            (lines, "a\nb\n\nc", &[0, 2, 4, 5]),
            (
                words,
                "one two,  3.5 中文",
                &[0, 3, 4, 7, 8, 10, 13, 14, 17],
            ),
            (words, "  a", &[0, 2]),
            (words, "", &[]),
            (stretches, &long, &[0, 100, 200]),
            (stretches, "", &[]),
        ];
        for (cut, text, starts) in cases {
            let parts: Vec<_> = cut(text).collect();
            let found: Vec<_> = parts.iter().map(|part| part.start).collect();
            assert_eq!(found, starts, "{text}");
            let ends = parts.iter().map(|part| part.end);
            let next = starts.iter().copied().skip(1).chain([text.len()]);
            assert!(ends.eq(next.take(starts.len())), "{text}");
        }
    }

    /// Each of these would take hours if the library looked at them as a whole.
    #[test]
    fn g207_brackets_behind_a_full_stop_are_looked_at_once() {
        for bracket in [")", " ", ")\u{93e}", ")\u{ff9e}"] {
            let text = format!(".{}", bracket.repeat(2_000_000 / bracket.len()));
            assert_eq!(sentence_starts(&text), [0], "{bracket:?}");
        }
    }

    /// Behind an exclamation mark, a sentence goes on with brackets, spaces and marks alone.
    #[test]
    fn no_sign_of_a_word_is_among_those_that_the_library_looks_past() {
        for sign in ('\0'..=char::MAX).filter(|sign| is_of_word(*sign)) {
            let text = format!("!{sign}");
            assert_eq!(text.split_sentence_bounds().count(), 2, "{sign:?}");
        }
    }

    #[test]
    fn rules_and_dots_behind_which_a_sentence_begins_change_none() {
        for gap in ["=", ".", "─", "- ", "…"] {
            let gap = gap.repeat(200);
            let text =
                format!("It ends. {gap} Dr. No, e.g. {gap} 7 Then (\"so\") {gap}! 一句。二句");
            let whole = text.split_sentence_bound_indices();
            let starts: Vec<_> = whole.map(|(start, _)| start).collect();
            assert_eq!(sentence_starts(&text), starts, "{text}");
        }
    }

    #[test]
    fn white_space_is_a_piece_only_where_a_block_begins_with_it() {
        let text = format!("\n  one{}two\n \n", "\n".repeat(1_000));
        let section = Section {
            blocks: vec![TextBlock {
                kind: BlockKind::Code,
                range: 0..text.len(),
                header: None,
            }],
            ..Section::default()
        };
        let pieces: Vec<_> = pieces(&text, &section, 50).collect();
        let texts: Vec<_> = pieces
            .iter()
            .map(|piece| &text[piece.range.clone()])
            .collect();
        assert_eq!(texts, ["", "  one", "two"]);
    }
}
