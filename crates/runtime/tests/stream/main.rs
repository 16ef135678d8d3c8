//! A turn's stream: what is said, stored and read.
#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it should be"
)]

mod bed;
mod changes;
mod faults;
mod full;
mod live;
mod nodes;
mod random;
mod readers;
mod steps;
mod wire;
mod words;
