//! Search over any store: texts become terms, terms postings, and one ranking finds the same on every driver.

pub mod chunker;
pub mod page;
pub mod terms;
mod varint;
