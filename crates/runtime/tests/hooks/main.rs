//! Hooks as scripts write them, run against the context of a turn.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot be set up has failed"
)]

mod beside;
mod calls;
mod context;
mod failing;
mod generated;
mod globals;
mod isolated;
mod listeners;
mod logging;
mod memory;
mod memory_search;
mod messages;
mod processes;
mod returned;
mod searching;
mod support;
mod tracing;
