//! Turns from request to stream: real hooks and stores, a scripted model.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod basics;
mod carried;
mod place;
mod retention;

mod plain;
mod web;
