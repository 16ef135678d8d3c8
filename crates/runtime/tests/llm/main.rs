//! Providers of models against servers of our own: what they send, what they make of good answers and of bad ones.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

mod scripted;
mod server;
mod support;
mod wire;
