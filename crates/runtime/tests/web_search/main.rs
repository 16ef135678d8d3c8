//! Searching the web: what providers are asked, what is made of their answers, and of those that are none. Every provider that is
//! reached over HTTP has a strict fake here; the answers under `recorded/` are written after what the services document.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "helpers take what json! makes"
)]

mod answers;
mod assistants;
mod cache;
mod fake;
mod faults;
mod network;
mod requests;
mod scripted;
mod secrets;
mod server;
mod settings;
mod shape;
mod support;
