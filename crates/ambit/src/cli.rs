//! The commands and their arguments, and which command runs what.

use crate::command::{
    CommandOutcome, access, backup, chat, check, doctor, erase, health, kb, keys, list, messages,
    new, relocate, schema, search, serve, show, types, usage,
};
use crate::command_error::Result;
use crate::settings::StoreOptions;
use crate::settings::serve::ServeArguments;
use crate::{example, output};
use ambit_storage::Ambit;
use clap::{Parser, Subcommand};
use futures::future::LocalBoxFuture;
use std::io::Write;

/// Serves AI agents and looks after their contexts. `ambit` alone serves: the app of AMBIT_APP, else the welcome app.
#[derive(Parser, Debug)]
#[command(name = "ambit", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub stores: StoreOptions,
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Subcommand, Debug)]
pub enum CliCommand {
    /// Serves an app; SIGHUP makes the server load the app's files again
    Serve(ServeArguments),
    /// Asks a server whether it is ready; exits with 1 where it is not
    Health(health::HealthArguments),
    /// Keys for programs that call the server
    #[command(visible_alias = "key")]
    Keys(keys::KeysArguments),
    /// What the access rules of an app say
    #[command(subcommand)]
    Access(access::AccessCommand),
    /// Makes a small app to start from
    New(new::NewAppArguments),
    /// Says what is wrong with an app, without running it; exits with 1 where something is broken
    Check(check::CheckArguments),
    /// Writes the TypeScript declarations of what scripts can call into an app
    Types(types::TypesArguments),
    /// Writes JSON Schemas of an app's files, so that editors complete keys and underline mistakes
    Schema(schema::SchemaArguments),
    /// Talks to an agent in the terminal; exits with 2 where a turn failed
    Chat(chat::ChatArguments),
    /// Collections of documents
    #[command(subcommand)]
    Kb(kb::KnowledgeCommand),
    /// Shows what the searches of an agent find
    Search(search::AgentSearchArguments),
    /// What is stored of conversations
    #[command(subcommand)]
    Context(ContextCommand),
    /// What was spent
    Usage(usage::UsageArguments),
    /// Looks for what is wrong in the stores; exits with 2 where something is left
    Doctor(doctor::DoctorArguments),
    /// Copies the SQLite store to a new file while others write
    Backup(backup::BackupArguments),
    /// A worked example of contexts, which prints what it does
    Demo,
}

#[derive(Subcommand, Debug)]
pub enum ContextCommand {
    /// Lists what is stored, oldest first
    Ls(list::ListArguments),
    /// Shows all that is known about one context
    Show(show::ShowArguments),
    /// Prints the messages, or other items, of one context
    #[command(visible_alias = "items")]
    Messages(messages::MessagesArguments),
    /// Erases the data of an agent's contexts, which stay listed; exits with 2 where some failed
    Clear(erase::EraseArguments),
    /// Erases an agent's contexts without a trace; exits with 2 where some failed
    Remove(erase::EraseArguments),
    /// Moves one context to another store
    Move(relocate::MoveArguments),
}

/// Runs a command.
pub fn run(cli: Cli) -> LocalBoxFuture<'static, Result<CommandOutcome>> {
    // Boxed, so that the code of all commands is generated here and not once more in the program.
    Box::pin(run_command(cli))
}

async fn run_command(cli: Cli) -> Result<CommandOutcome> {
    let mut out = output::open();
    let stores = &cli.stores;
    let ran = match &cli.command {
        CliCommand::New(arguments) => new::run(arguments, &mut out),
        CliCommand::Check(arguments) => check::run(arguments, &mut out),
        CliCommand::Types(arguments) => types::run(arguments, &mut out),
        CliCommand::Schema(arguments) => schema::run(arguments, &mut out),
        CliCommand::Chat(arguments) => chat::run(arguments, stores).await,
        // A backup opens the store itself: the others would be opened for nothing.
        CliCommand::Backup(arguments) => backup::run(&stores.primary()?, arguments, &mut out).await,
        CliCommand::Serve(arguments) => serve::run(stores, arguments).await,
        CliCommand::Health(arguments) => health::run(arguments, &mut out).await,
        CliCommand::Demo => example::run()
            .await
            .map(|()| CommandOutcome::Done)
            .map_err(Into::into),
        CliCommand::Access(access) => access::run(stores, access, &mut out).await,
        CliCommand::Kb(command) => kb::run(command, stores, &mut out).await,
        CliCommand::Search(arguments) => search::run(arguments, stores, &mut out).await,
        CliCommand::Keys(arguments) => keys::run(arguments, stores, &mut out).await,
        CliCommand::Context(context) => {
            let ambit = stores.open().await?;
            let ran = about_context(&ambit, context, &mut out).await;
            closed(&ambit, ran).await
        }
        CliCommand::Usage(arguments) => {
            let ambit = stores.open().await?;
            let ran = usage::run(&ambit, arguments, &mut out).await;
            closed(&ambit, ran).await
        }
        CliCommand::Doctor(arguments) => {
            let ambit = stores.open().await?;
            let ran = doctor::run(&ambit, arguments, &mut out).await;
            closed(&ambit, ran).await
        }
    };
    out.flush()?;
    ran
}

/// What came of a command, once its stores are closed.
async fn closed(ambit: &Ambit, ran: Result<CommandOutcome>) -> Result<CommandOutcome> {
    let closed = ambit.close().await;
    let outcome = ran?;
    closed?;
    Ok(outcome)
}

async fn about_context(
    ambit: &Ambit,
    context: &ContextCommand,
    out: &mut output::Output,
) -> Result<CommandOutcome> {
    match context {
        ContextCommand::Ls(arguments) => list::run(ambit, arguments, out).await,
        ContextCommand::Show(arguments) => show::run(ambit, arguments, out).await,
        ContextCommand::Messages(arguments) => messages::run(ambit, arguments, out).await,
        ContextCommand::Clear(arguments) => erase::clear(ambit, arguments, out).await,
        ContextCommand::Remove(arguments) => erase::remove(ambit, arguments, out).await,
        ContextCommand::Move(arguments) => relocate::run(ambit, arguments, out).await,
    }
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
