//! Makes hostile files.

pub mod pdf;
pub mod zip;
