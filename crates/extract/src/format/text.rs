//! Plain text: paragraphs are divided by empty lines.

use crate::builder::DocumentBuilder;
use crate::document::{BlockKind, ExtractedDocument};
use crate::encoding::decode;
use crate::error::ExtractError;
use crate::format::DocumentBytes;

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let text = decode(source.bytes, source.charset)?;
    let mut builder = DocumentBuilder::default();
    let mut paragraph = String::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            builder.block(BlockKind::Paragraph, &paragraph)?;
            paragraph.clear();
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    builder.block(BlockKind::Paragraph, &paragraph)?;
    builder.finish()
}
