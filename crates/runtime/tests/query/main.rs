//! Queries over models, in SQLite and in PostgreSQL: the same rows for the same question.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod dsl;
mod evaluated;
mod hostile;
mod permission;
mod place;
mod relations;
mod scripts;
mod shop;
mod wheres;
