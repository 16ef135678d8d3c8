//! How much an answer holds: a row that is loaded into many others is there many times.

use crate::error::{Error, ErrorCode};
use crate::model::database::{SqlRow, row_bytes};
use std::iter::Sum;

/// The size of rows, with what is loaded into them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerSize {
    /// How many there are.
    pub rows: u64,
    /// How many bytes they take, about.
    pub bytes: u64,
}

impl AnswerSize {
    /// More than there can be.
    pub const UNLIMITED: Self = Self {
        rows: u64::MAX,
        bytes: u64::MAX,
    };

    /// The size of a row without what is loaded into it.
    pub fn of(row: &SqlRow) -> Self {
        Self {
            rows: 1,
            bytes: row_bytes(row),
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(other.rows),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// What is left of it; none where the other is larger.
    pub fn minus(self, other: Self) -> Option<Self> {
        Some(Self {
            rows: self.rows.checked_sub(other.rows)?,
            bytes: self.bytes.checked_sub(other.bytes)?,
        })
    }
}

impl Sum for AnswerSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Self::plus)
    }
}

/// An answer that would hold more than it may.
pub(super) fn too_large(of: &str) -> Error {
    let text = format!(
        "{of}: the answer would hold too much; ask for fewer rows or columns, or load less with them"
    );
    Error::new(ErrorCode::LimitExceeded, text)
}
