//! Printing: tables, and texts that may hold anything.

pub use ambit::escape::{escape_control, one_line};

use serde::Serialize;
use std::io::{BufWriter, Stdout, Write};

/// The program's output, written in large pieces.
pub type Output = BufWriter<Stdout>;

/// Characters of a snippet.
const SNIPPET: usize = 200;

/// Opens the output.
pub fn open() -> Output {
    BufWriter::new(std::io::stdout())
}

/// Rows under headings, page after page. The first page decides how wide the columns are.
pub struct Table<const N: usize> {
    headings: [&'static str; N],
    widths: Option<[usize; N]>,
}

impl<const N: usize> Table<N> {
    /// A table with these headings, which come with the first row.
    pub fn new(headings: [&'static str; N]) -> Self {
        Self {
            headings,
            widths: None,
        }
    }

    /// Prints more rows.
    pub fn print(&mut self, to: &mut impl Write, rows: &[[String; N]]) -> std::io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let widths = match self.widths {
            Some(widths) => widths,
            None => {
                let widths = self.measure(rows);
                line(to, &self.headings.map(str::to_owned), &widths)?;
                self.widths = Some(widths);
                widths
            }
        };
        rows.iter().try_for_each(|row| line(to, row, &widths))
    }

    fn measure(&self, rows: &[[String; N]]) -> [usize; N] {
        std::array::from_fn(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells
                .chain([self.headings[column].chars().count()])
                .max()
                .unwrap_or(0)
        })
    }
}

fn line<const N: usize>(
    to: &mut impl Write,
    cells: &[String; N],
    widths: &[usize; N],
) -> std::io::Result<()> {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let pad = width.saturating_sub(cell.chars().count()) + 2;
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', pad));
    }
    writeln!(to, "{}", text.trim_end())
}

/// One JSON object on a line of its own.
pub fn json_line(to: &mut impl Write, object: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *to, object)?;
    writeln!(to)
}

/// The beginning of a text on one line.
pub fn snippet(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(SNIPPET).collect();
    one_line(&line)
}

/// A value that may be missing.
pub fn or_dash(text: Option<&str>) -> String {
    text.map_or_else(|| "-".to_owned(), one_line)
}

/// A value that is missing where it is empty.
pub fn filled_or_dash(text: &str) -> String {
    or_dash(Some(text).filter(|text| !text.is_empty()))
}

/// A value behind its name, on a line of its own.
pub fn print_field(to: &mut impl Write, name: &str, value: &str) -> std::io::Result<()> {
    writeln!(to, "{name:<12} {value}")
}

#[cfg(test)]
mod tests {
    use super::{Table, snippet};

    #[test]
    fn columns_are_as_wide_as_the_first_page_needs() {
        let mut table = Table::new(["A", "LONG"]);
        let mut out = Vec::new();
        let cells = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        table.print(&mut out, &[cells("one", "1")]).unwrap();
        table.print(&mut out, &[cells("x", "22222")]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "A    LONG\none  1\nx    22222\n");
    }

    #[test]
    fn a_snippet_is_the_beginning_on_one_line() {
        assert_eq!(snippet(" a\n\n b\x1b"), "a b\\u{1b}");
    }
}
