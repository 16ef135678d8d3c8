//! The commands, one file each.

pub mod access;
pub mod backup;
pub mod chat;
pub mod check;
pub mod doctor;
pub mod erase;
pub mod keys;
pub mod list;
pub mod messages;
pub mod new;
pub mod relocate;
mod row;
pub mod serve;
pub mod show;
pub mod types;
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
    let mut out = output::open();
    let stores = &cli.stores;
    let ran = match &cli.command {
        Command::New(arguments) => new::run(arguments, &mut out),
        Command::Check(arguments) => check::run(arguments, &mut out),
        Command::Types(arguments) => types::run(arguments, &mut out),
        Command::Chat(arguments) => chat::run(arguments, stores).await,
        // A backup opens the store itself: the others would be opened for nothing.
        Command::Backup(arguments) => backup::run(&stores.primary()?, arguments, &mut out).await,
        Command::Serve(arguments) => serve::run(stores, arguments).await,
        Command::Demo => example::run()
            .await
            .map(|()| Outcome::Done)
            .map_err(Into::into),
        Command::Access(access) => access::run(stores, access, &mut out).await,
        Command::Keys(keys) => {
            // The first key of a server can be made before it has ever run.
            let ambit = stores.begin().await?;
            let ran = keys::run(&ambit, keys, &mut out).await;
            closed(&ambit, ran).await
        }
        Command::Context(context) => {
            let ambit = stores.open().await?;
            let ran = about_context(&ambit, context, &mut out).await;
            closed(&ambit, ran).await
        }
        Command::Usage(arguments) => {
            let ambit = stores.open().await?;
            let ran = usage::run(&ambit, arguments, &mut out).await;
            closed(&ambit, ran).await
        }
        Command::Doctor(arguments) => {
            let ambit = stores.open().await?;
            let ran = doctor::run(&ambit, arguments, &mut out).await;
            closed(&ambit, ran).await
        }
    };
    out.flush()?;
    ran
}

/// What came of a command, once its stores are closed.
async fn closed(ambit: &Ambit, ran: Result<Outcome>) -> Result<Outcome> {
    let closed = ambit.close().await;
    let outcome = ran?;
    closed?;
    Ok(outcome)
}

async fn about_context(
    ambit: &Ambit,
    context: &Context,
    out: &mut output::Output,
) -> Result<Outcome> {
    match context {
        Context::Ls(arguments) => list::run(ambit, arguments, out).await,
        Context::Show(arguments) => show::run(ambit, arguments, out).await,
        Context::Messages(arguments) => messages::run(ambit, arguments, out).await,
        Context::Clear(arguments) => erase::clear(ambit, arguments, out).await,
        Context::Remove(arguments) => erase::remove(ambit, arguments, out).await,
        Context::Move(arguments) => relocate::run(ambit, arguments, out).await,
    }
}
