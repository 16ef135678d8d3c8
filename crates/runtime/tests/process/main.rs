//! Processes and stores, called by the scripts of whole apps.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod fixed;
mod globals;
mod knowledge;
mod later;
mod many;
mod modules;
mod place;
mod scripts;
mod stores;
mod table;
mod tools;
