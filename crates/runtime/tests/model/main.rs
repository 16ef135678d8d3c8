//! Models: what their files say, what becomes of it in databases, and what their methods do. Every case runs on SQLite and on
//! PostgreSQL, with equal results.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at what it did not expect"
)]

mod bed;
mod changes;
mod data;
mod data_limits;
mod kinds;
mod migration;
mod mistakes;
mod nodes;
#[expect(dead_code, reason = "shared with the tests of processes")]
#[path = "../process/place.rs"]
mod place;
mod processes;
mod reading;
mod rekeying;
mod secrets;
mod stamps;
mod values;
