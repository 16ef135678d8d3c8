//! Why a document has no text.

use serde::{Deserialize, Serialize};
use thiserror::Error;

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
        Self::Invalid(message.into())
    }

    pub(crate) fn limited(limit: impl Into<String>) -> Self {
        Self::Limited(limit.into())
    }
}
