//! The commands, one file each.

pub mod backup;
pub mod doctor;
pub mod erase;
pub mod key;
pub mod list;
pub mod messages;
pub mod relocate;
mod row;
pub mod serve;
pub mod show;
pub mod usage;
mod welcome;

use crate::cli::{Cli, Command, Context};
use crate::example;
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
    match &cli.command {
        Command::Serve(arguments) => {
            serve::run(&cli.stores, arguments).await?;
            return Ok(Outcome::Done);
        }
        Command::Demo => {
            example::run().await?;
            return Ok(Outcome::Done);
        }
        _ => {}
    }
    let mut out = output::open();
    // A backup opens the store itself: the others would be opened for nothing.
    if let Command::Backup(arguments) = &cli.command {
        backup::run(&cli.stores.primary()?, arguments, &mut out).await?;
        out.flush()?;
        return Ok(Outcome::Done);
    }
    let ambit = match &cli.command {
        // The first key of a server can be made before it has ever run.
        Command::Key(_) => cli.stores.begin().await?,
        _ => cli.stores.open().await?,
    };
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
        Command::Key(key) => return key::run(ambit, key, out).await,
        Command::Backup(_) | Command::Serve(_) | Command::Demo => return Ok(Outcome::Done),
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
