//! Search over any store: texts become terms, terms postings, and one ranking finds the same on every driver.

pub mod allowed;
mod base64_json;
mod best_chunks;
pub mod chunker;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod filter;
pub mod fusion;
pub mod index;
pub mod manifest;
pub mod page;
pub mod postings;
pub mod quality;
pub mod ranking;
pub mod similarity;
pub mod terms;
pub mod text_ranking;
mod varint;
pub mod vectors;
