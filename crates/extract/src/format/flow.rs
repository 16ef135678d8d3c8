//! Text that comes in pieces, of which paragraphs, headings and rows of tables are made.

use std::ops::Range;

use crate::builder::DocumentBuilder;
use crate::document::BlockKind;
use crate::error::ExtractError;

/// The text of what is open, and the document before it.
///
/// A table within a cell ends the row that it stands in: a table that only places things on a page reads as what it places.
#[derive(Default)]
pub(super) struct TextFlow {
    pub builder: DocumentBuilder,
    pub buffer: String,
    in_cell: bool,
    cells: Vec<String>,
    /// How many rows of the table have ended.
    rows: usize,
    header: Option<Range<usize>>,
}

impl TextFlow {
    /// Ends a block. Blocks in a cell are one text.
    pub(super) fn end_block(&mut self, kind: BlockKind) -> Result<(), ExtractError> {
        if self.in_cell {
            self.buffer.push(' ');
            return Ok(());
        }
        self.builder.block(kind, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends a heading, of which all text is that came since the last end.
    pub(super) fn end_heading(&mut self, level: u8) -> Result<(), ExtractError> {
        let text = std::mem::take(&mut self.buffer);
        self.end_row(false)?;
        self.builder.heading(level, &text)
    }

    pub(super) fn start_table(&mut self) -> Result<(), ExtractError> {
        self.end_row(false)?;
        self.end_block(BlockKind::Paragraph)?;
        self.rows = 0;
        self.header = None;
        Ok(())
    }

    pub(super) fn end_table(&mut self) -> Result<(), ExtractError> {
        self.start_table()
    }

    pub(super) fn start_cell(&mut self) -> Result<(), ExtractError> {
        self.end_cell();
        self.end_block(BlockKind::Paragraph)?;
        self.in_cell = true;
        Ok(())
    }

    pub(super) fn end_cell(&mut self) {
        if self.in_cell {
            self.cells.push(std::mem::take(&mut self.buffer));
            self.in_cell = false;
        }
    }

    pub(super) fn is_first_row(&self) -> bool {
        self.rows == 0
    }

    /// Ends a row, if there is one.
    pub(super) fn end_row(&mut self, is_header: bool) -> Result<(), ExtractError> {
        self.end_cell();
        if self.cells.is_empty() {
            return Ok(());
        }
        self.rows += 1;
        let header = self.header.as_ref().filter(|_| !is_header);
        let range = self.builder.table_row(&self.cells, header)?;
        self.cells.clear();
        if is_header {
            self.header = range;
        }
        Ok(())
    }
}
