//! The terms of a text, version 1: NFKC, the words of UAX #29 and pairs of letters, full case folding, stems. What indexes a text
//! and what reads a query go through the same steps, on every store.

mod fold;
mod language;
mod script;
mod stop_words;
mod token;

pub use language::{Language, UnknownLanguage};
