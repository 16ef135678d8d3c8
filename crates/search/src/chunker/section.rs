//! What a document is built of, as far as chunks depend on it.

use std::ops::Range;

/// The text below one heading, of one page, or of one record. No chunk spans two of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The headings above the text, the outermost first.
    pub heading: Vec<String>,
    /// The page on which it begins.
    pub page: Option<u32>,
    /// The text in its order.
    pub blocks: Vec<TextBlock>,
}

/// A piece of text that belongs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextBlock {
    /// What it is.
    pub kind: BlockKind,
    /// Its bytes in the document's text.
    pub range: Range<usize>,
    /// The header of the table that a row belongs to.
    pub header: Option<Range<usize>>,
}

/// What a block is: it says where it can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Sentences.
    Paragraph,
    /// Lines that mean something.
    Code,
    /// A row of a table.
    TableRow,
}
