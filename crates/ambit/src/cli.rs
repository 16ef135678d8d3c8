//! The commands and their arguments.

use crate::command::{
    access, backup, chat, check, doctor, erase, keys, list, messages, new, relocate, show, types,
    usage,
};
use crate::settings::{StoreOptions, serving};
use clap::{Parser, Subcommand};

/// Serves AI agents and looks after their contexts. Without arguments it serves the welcome app.
#[derive(Parser, Debug)]
#[command(name = "ambit", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub stores: StoreOptions,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Serves an app; SIGHUP makes the server load the app's files again
    Serve(serving::Arguments),
    /// Keys for programs that call the server
    #[command(subcommand, visible_alias = "key")]
    Keys(keys::Command),
    /// What the access rules of an app say
    #[command(subcommand)]
    Access(access::Command),
    /// Makes a small app to start from
    New(new::Arguments),
    /// Says what is wrong with an app, without running it; exits with 1 where something is broken
    Check(check::Arguments),
    /// Writes the TypeScript declarations of what scripts can call into an app
    Types(types::Arguments),
    /// Talks to an agent in the terminal; exits with 2 where a turn failed
    Chat(chat::Arguments),
    /// What is stored of conversations
    #[command(subcommand)]
    Context(Context),
    /// What was spent
    Usage(usage::Arguments),
    /// Looks for what is wrong in the stores; exits with 2 where something is left
    Doctor(doctor::Arguments),
    /// Copies the SQLite store to a new file while others write
    Backup(backup::Arguments),
    /// A worked example of contexts, which prints what it does
    Demo,
}

#[derive(Subcommand, Debug)]
pub enum Context {
    /// Lists what is stored, oldest first
    Ls(list::Arguments),
    /// Shows all that is known about one context
    Show(show::Arguments),
    /// Prints the messages, or other items, of one context
    #[command(visible_alias = "items")]
    Messages(messages::Arguments),
    /// Erases the data of an agent's contexts, which stay listed; exits with 2 where some failed
    Clear(erase::Arguments),
    /// Erases an agent's contexts without a trace; exits with 2 where some failed
    Remove(erase::Arguments),
    /// Moves one context to another store
    Move(relocate::Arguments),
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }
}
