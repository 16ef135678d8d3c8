//! Loading an app: what its files mean, what is wrong with them, and how its parts are found.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod cannot_work;
mod check;
mod collections;
mod fallback;
mod find;
mod fixture_app;
mod fuzz;
mod limits;
mod locales;
mod mistakes;
mod prompts;
mod reload;
mod schemas;
mod search;
mod secrets;
mod support;
mod visible;
mod watch;
mod wrong;
