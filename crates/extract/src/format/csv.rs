//! CSV: each row is a section of `column: value` lines.

use csv::{ReaderBuilder, StringRecord};

use crate::builder::DocumentBuilder;
use crate::document::{BlockKind, ExtractedDocument};
use crate::encoding::decode;
use crate::error::ExtractError;
use crate::format::DocumentBytes;

/// What divides columns. Spreadsheets write semicolons where a comma is part of numbers.
const DELIMITERS: [u8; 3] = *b"\t;,";

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let text = decode(source.bytes, source.charset)?;
    let first_line = text.lines().next().unwrap_or_default();
    let count = |delimiter: &u8| first_line.bytes().filter(|byte| byte == delimiter).count();
    // Of equals, the last is taken: the comma.
    let delimiter = DELIMITERS.into_iter().max_by_key(count).unwrap_or(b',');
    let mut rows = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(text.as_bytes());
    let columns = rows.headers().map_err(|error| invalid(&error))?.clone();
    let mut builder = DocumentBuilder::default();
    let mut row = StringRecord::new();
    while rows
        .read_record(&mut row)
        .map_err(|error| invalid(&error))?
    {
        builder.record()?;
        builder.block(BlockKind::Paragraph, &lines(&columns, &row))?;
    }
    builder.finish()
}

/// Values that stand behind the last column have no name; columns without a value are left out.
fn lines(columns: &StringRecord, row: &StringRecord) -> String {
    let mut lines = String::new();
    for (number, value) in row.iter().enumerate() {
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        if let Some(column) = columns
            .get(number)
            .map(str::trim)
            .filter(|column| !column.is_empty())
        {
            lines.push_str(column);
            lines.push_str(": ");
        }
        lines.push_str(value);
        lines.push('\n');
    }
    lines
}

fn invalid(error: &csv::Error) -> ExtractError {
    ExtractError::invalid(format!("not CSV: {error}"))
}
