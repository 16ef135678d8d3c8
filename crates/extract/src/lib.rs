//! The text of documents: plain text, Markdown, HTML, CSV, JSON, DOCX, ODT, PPTX and PDF become text with its sections.
//!

mod builder;
mod clean;
mod document;
mod encoding;
mod error;
pub mod limits;

pub use document::{BlockKind, ExtractedDocument, Section, TextBlock};
pub use error::ExtractError;
