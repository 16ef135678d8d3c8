//! The text of documents: plain text, Markdown, HTML, CSV, JSON, DOCX, ODT, PPTX and PDF become text with its sections.
//!
//! [`detect`] finds out the format. Small documents of the simple formats are read by [`extract`], all others by
//! [`extract_in_child`], in a process that ends at its limits.

mod builder;
mod child;
mod clean;
mod document;
mod encoding;
mod error;
mod format;
pub mod limits;

pub use child::{CHILD_TIME, ChildRequest, extract_in_child, run_child};
pub use document::{BlockKind, ExtractedDocument, Section, TextBlock};
pub use error::ExtractError;
pub use format::{DetectedFormat, DocumentBytes, DocumentFormat, FORMATS, detect, extract};
