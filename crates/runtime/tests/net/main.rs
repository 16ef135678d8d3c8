//! The client behind `http` and `fetch`: what it reaches, and what it does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod limits;
mod reach;
mod redirects;
mod scripts;
mod server;
