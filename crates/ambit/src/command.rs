//! The commands, one file each.

pub mod access;
pub mod backup;
pub mod chat;
pub mod chats;
pub mod check;
pub mod completions;
mod console_address;
mod context_summary;
pub mod doctor;
pub mod erase;
pub mod events;
mod greeting;
pub mod health;
mod http_client;
pub mod kb;
pub mod keys;
pub mod list;
pub mod man;
pub mod messages;
pub mod models;
mod native_backup;
pub mod new;
mod open_files;
pub mod relocate;
pub mod restore;
pub mod schema;
pub mod search;
pub mod serve;
mod service_manager;
mod serving;
pub mod show;
pub mod types;
pub mod usage;
mod welcome_app;
pub mod why;

/// How a command that ran ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// All that was asked for is done.
    Done,
    /// Some of it could not be done; the output says what.
    SomeFailed,
    /// Some of it is for other programs to do; the output says their commands.
    LeftToOthers,
}
