//! Queries over models, in SQLite and in PostgreSQL: the same rows for the same question.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]
#![expect(
    clippy::too_many_lines,
    reason = "tables of cases, which are one idea each, are as long as they are"
)]

mod dice;
mod dsl;
mod evaluated;
mod hostile;
mod lint;
mod permission;
mod place;
mod random;
mod relations;
mod scripts;
mod shop;
mod too_large;
mod wheres;
