//! Providers of models against servers of our own: what they send, what they make of good answers and of bad ones.
//! The streams under `recorded/` are written after what providers document, byte for byte as their servers send it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "helpers take what json! makes"
)]

mod anthropic;
mod capabilities;
mod connection;
mod embedding;
mod encoded;
mod fake;
mod gemini;
mod openai;
mod refusals;
mod retry;
mod scripted;
mod server;
mod streams;
mod support;
