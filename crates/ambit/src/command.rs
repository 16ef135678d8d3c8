//! The commands, one file each.

pub mod access;
pub mod backup;
pub mod chat;
pub mod check;
mod console_address;
mod context_summary;
pub mod doctor;
pub mod erase;
mod greeting;
pub mod health;
mod http_client;
pub mod kb;
pub mod keys;
pub mod list;
pub mod messages;
pub mod new;
pub mod relocate;
pub mod schema;
pub mod search;
pub mod serve;
pub mod show;
pub mod types;
pub mod usage;
mod welcome_app;

/// How a command that ran ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// All that was asked for is done.
    Done,
    /// Some of it could not be done; the output says what.
    SomeFailed,
}
