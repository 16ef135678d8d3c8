//! Turns from request to stream: real hooks and stores, a scripted model.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod basics;
mod carried;
mod client;
mod created;
mod delegates;
mod events;
mod faults;
mod fitting;
mod listeners;
mod memory;
mod nexted;
mod place;
mod plain;
mod reloads;
mod retention;
mod scripts;
mod stops;
mod toolbox;
mod tools;
mod usage;
mod web;
