//! The server as its clients see it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod auth;
mod document;
mod input;
mod limits;
mod models;
mod operation;
mod site;
