//! The program as people run it: what it prints, and how it ends.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod app;
mod backup;
mod doctor;
mod erase;
mod extract;
mod health;
mod hostile_documents;
#[path = "../../../extract/tests/support/mod.rs"]
#[expect(dead_code, reason = "some of it is for the tests of readers")]
mod hostile_files;
mod hostile_sizes;
mod image;
mod knowledge;
mod pages;
mod place;
mod read;
mod refused;
mod relocate;
mod search;
mod usage;
