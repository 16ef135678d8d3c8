//! Turns from request to stream: real hooks and stores, a scripted model.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod basics;
mod place;
mod plain;
mod web;
