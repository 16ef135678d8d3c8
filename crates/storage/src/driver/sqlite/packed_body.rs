//! Long bodies of entries and values as the file has them: packed with LZ4, where that makes them much shorter. What turns leave
//! behind repeats the names of its members, and each page less is one write less.

use crate::address::{BLOBS, ITEMS, OVERLAYS};
use lz4_flex::block::{compress_prepend_size, decompress, uncompressed_size};
use rusqlite::types::{ToSql, ToSqlOutput};
use std::error::Error;

/// Logs whose bodies anybody can read in the file.
const PLAIN: [&str; 3] = [ITEMS, OVERLAYS, BLOBS];
/// Shorter bodies are left as they are.
const SHORTEST: usize = 512;
/// Nothing is packed to less than one in so many bytes.
const MOST: usize = 255;

/// A body on its way into the file.
pub enum StoredBody<'a> {
    Text(&'a str),
    Packed(Vec<u8>),
}

impl<'a> StoredBody<'a> {
    /// Of an entry of the log of this name.
    pub fn of(log: &str, text: &'a str) -> Self {
        if PLAIN.contains(&log) {
            return Self::Text(text);
        }
        Self::of_value(text)
    }

    /// Of a value whose body stands beside it.
    pub fn of_value(text: &'a str) -> Self {
        if text.len() < SHORTEST {
            return Self::Text(text);
        }
        let packed = compress_prepend_size(text.as_bytes());
        if packed.len() > text.len() / 4 * 3 {
            return Self::Text(text);
        }
        Self::Packed(packed)
    }
}

impl ToSql for StoredBody<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Text(text) => ToSqlOutput::from(*text),
            Self::Packed(bytes) => ToSqlOutput::from(bytes.as_slice()),
        })
    }
}

/// The text of a packed body.
pub fn unpack(packed: &[u8]) -> Result<String, Box<dyn Error + Send + Sync>> {
    let (length, packed) = uncompressed_size(packed)?;
    if length > packed.len().saturating_mul(MOST) {
        return Err(format!("a packed body cannot have {length} bytes").into());
    }
    let text = decompress(packed, length)?;
    if text.len() != length {
        let found = text.len();
        return Err(format!("a packed body has {found} bytes in the place of {length}").into());
    }
    Ok(String::from_utf8(text)?)
}
