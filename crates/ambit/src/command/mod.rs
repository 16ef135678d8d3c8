//! The commands, one file each.

pub mod backup;
pub mod doctor;
pub mod erase;
pub mod list;
pub mod messages;
pub mod relocate;
mod row;
pub mod show;
pub mod usage;

use crate::cli::{Cli, Command, Context};
use crate::failure::Result;
use crate::output;
use ambit_storage::Ambit;
use std::io::Write;

/// How a command that ran ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that was asked for is done.
    Done,
    /// Some of it could not be done; the output says what.
    SomeFailed,
}

/// Runs a command.
pub async fn run(cli: Cli) -> Result<Outcome> {
    let mut out = output::open();
    // A backup opens the store itself: the others would be opened for nothing.
    if let Command::Backup(arguments) = &cli.command {
        backup::run(&cli.stores.primary()?, arguments, &mut out).await?;
        out.flush()?;
        return Ok(Outcome::Done);
    }
    let ambit = cli.stores.open().await?;
    let ran = dispatch(&ambit, &cli.command, &mut out).await;
    let closed = ambit.close().await;
    out.flush()?;
    let outcome = ran?;
    closed?;
    Ok(outcome)
}

async fn dispatch(ambit: &Ambit, command: &Command, out: &mut output::Output) -> Result<Outcome> {
    let context = match command {
        Command::Usage(arguments) => return usage::run(ambit, arguments, out).await,
        Command::Doctor(arguments) => return doctor::run(ambit, arguments, out).await,
        Command::Backup(_) => return Ok(Outcome::Done),
        Command::Context(context) => context,
    };
    match context {
        Context::Ls(arguments) => list::run(ambit, arguments, out).await,
        Context::Show(arguments) => show::run(ambit, arguments, out).await,
        Context::Messages(arguments) => messages::run(ambit, arguments, out).await,
        Context::Clear(arguments) => erase::clear(ambit, arguments, out).await,
        Context::Remove(arguments) => erase::remove(ambit, arguments, out).await,
        Context::Move(arguments) => relocate::run(ambit, arguments, out).await,
    }
}
