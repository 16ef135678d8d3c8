//! Output formats: recorded streams and what must come of them, and what holds for any stream.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod ag_ui;
mod ai_sdk;
mod ai_sdk_parts;
mod ai_sdk_versions;
mod anthropic;
#[path = "../support/expected.rs"]
mod expected;
mod log;
mod random;
mod recorded;
#[path = "../support/recorded_logs.rs"]
mod recorded_logs;
mod responses;
mod rules;
