//! What is known of a document once its text has been read.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The text of a document and how it is built.
///
/// All ranges are bytes of `text` and lie on character boundaries. They ascend and do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExtractedDocument {
    /// What the document itself names as its title.
    pub title: Option<String>,
    /// The language that the document declares, as it is written there (`en-GB`).
    pub language: Option<String>,
    /// What else the document says of itself: the keys of a front matter, an author.
    pub metadata: Map<String, Value>,
    /// All text, the blocks divided by line breaks. Headings are part of it and of no block.
    pub text: String,
    /// The parts of the text in their order. No block belongs to two of them.
    pub sections: Vec<Section>,
    /// What could not be read, each as one sentence.
    pub warnings: Vec<String>,
    /// How many pages or slides there are, where the format has any.
    pub pages: Option<u32>,
}

/// The text below one heading, of one page, or of one record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// The headings above the text, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heading: Vec<String>,
    /// The page or slide on which it begins, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// What holds for this section alone: the `id` of a record.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The text in its order.
    pub blocks: Vec<TextBlock>,
}

/// A piece of text that belongs together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextBlock {
    /// What the piece is in the document.
    pub kind: BlockKind,
    /// The bytes of the document's text.
    pub range: Range<usize>,
    /// The row of names above the table that this row belongs to. Whoever cuts a table repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Range<usize>>,
}

/// What a block is in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Running text.
    Paragraph,
    /// One item of a list.
    ListItem,
    /// Text whose line breaks and spaces have a meaning.
    Code,
    /// One row of a table, its cells divided by ` | `. The header is a row too, without a header of its own.
    TableRow,
}
