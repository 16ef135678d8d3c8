//! Why a document has no text.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::clean::shortened;

/// Why a document could not be read. The words are what its owner is told.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractError {
    /// No reader is made for this kind of file.
    #[error("unsupported: {0} (set uses.extract)")]
    Unsupported(String),
    /// The file is not of its format, or is broken.
    #[error("{0}")]
    Invalid(String),
    /// A limit was reached; it is named.
    #[error("stopped at a limit: {0}")]
    Limited(String),
    /// The document has no text at all.
    #[error("no text found")]
    NoText,
    /// The process that reads documents failed.
    #[error("the document could not be read: {0}")]
    Internal(String),
}

impl ExtractError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(shortened(&message.into()))
    }

    pub(crate) fn limited(limit: impl Into<String>) -> Self {
        Self::Limited(limit.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g207_a_reason_of_the_documents_own_words_is_shortened() {
        let long = "ä".repeat(1_000_000);
        assert_eq!(
            ExtractError::invalid(format!("no entity is named `{long}`")),
            ExtractError::Invalid(format!("no entity is named `{}", "ä".repeat(280)))
        );
    }
}
