//! What the TypeScript compiler says, as load errors.

use crate::error::{LoadError, SourceLocation};
use oxc::diagnostics::OxcDiagnostic;

/// The first error among what the compiler says.
pub fn first_error<'d>(
    path: &str,
    text: &str,
    found: impl IntoIterator<Item = &'d OxcDiagnostic>,
) -> Option<LoadError> {
    let error = found.into_iter().next()?;
    let offset = error
        .labels
        .iter()
        .next()
        .map(|label| label.offset() as usize);
    let message = match &error.help {
        Some(help) => format!("{} ({help})", error.message),
        None => error.message.to_string(),
    };
    let at = offset.map(|offset| locate(path, text, offset));
    Some(LoadError { at, message })
}

/// The place of a byte.
pub fn locate(path: &str, text: &str, offset: usize) -> SourceLocation {
    SourcePlaces::new(path, text).locate(offset)
}

/// So many bytes lie between two marks of a line at most, but for a character.
const STEP: usize = 1 << 10;

/// The places of a text, of which many are asked for: the text is read once.
pub struct SourcePlaces<'t> {
    path: &'t str,
    text: &'t str,
    /// The beginnings of lines, and places within long ones.
    marks: Vec<SourceMark>,
}

#[derive(Clone, Copy)]
struct SourceMark {
    offset: usize,
    line: usize,
    /// UTF-16 units of the line before it.
    before: usize,
}

impl<'t> SourcePlaces<'t> {
    /// Reads a text.
    pub fn new(path: &'t str, text: &'t str) -> Self {
        let mut mark = SourceMark {
            offset: 0,
            line: 1,
            before: 0,
        };
        let (mut marks, mut units) = (vec![mark], 0);
        for (offset, char) in text.char_indices() {
            if offset - mark.offset >= STEP {
                mark = SourceMark {
                    offset,
                    before: units,
                    ..mark
                };
                marks.push(mark);
            }
            units += char.len_utf16();
            if char == '\n' {
                units = 0;
                mark = SourceMark {
                    offset: offset + 1,
                    line: mark.line + 1,
                    before: 0,
                };
                marks.push(mark);
            }
        }
        Self { path, text, marks }
    }

    /// The place of a byte.
    pub fn locate(&self, offset: usize) -> SourceLocation {
        let offset = offset.min(self.text.len());
        let behind = self.marks.partition_point(|mark| mark.offset <= offset);
        let (start, line, before) = match self.marks.get(behind.saturating_sub(1)) {
            Some(mark) => (mark.offset, mark.line, mark.before),
            None => (0, 1, 0),
        };
        let rest = self.text.get(start..offset).unwrap_or_default();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        SourceLocation {
            file: self.path.to_owned(),
            line: number(line),
            column: number(before + rest.encode_utf16().count() + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STEP, SourcePlaces};

    #[test]
    fn bytes_are_found_by_line_and_utf_16_column() {
        let long = "🐕é".repeat(STEP);
        let text = format!("a\n{long}x\n\nend");
        let places = SourcePlaces::new("a.ts", &text);
        let at = |offset| {
            let place = places.locate(offset);
            (place.line, place.column)
        };
        let x = 2 + long.len();
        let columns = u32::try_from(3 * STEP).unwrap();
        assert_eq!([at(0), at(1), at(2)], [(1, 1), (1, 2), (2, 1)]);
        assert_eq!([at(x), at(x + 1)], [(2, columns + 1), (2, columns + 2)]);
        assert_eq!([at(x + 2), at(x + 3)], [(3, 1), (4, 1)]);
        assert_eq!([at(text.len()), at(usize::MAX)], [(4, 4), (4, 4)]);
    }
}
