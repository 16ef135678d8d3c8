//! The commands and their arguments, and which command runs what.

#[cfg(test)]
mod reference;

use crate::command::{
    CommandOutcome, access, backup, chat, chats, check, completions, doctor, erase, events, health,
    kb, keys, list, man, messages, models, new, relocate, restore, schema, search, serve, show,
    types, usage, why,
};
use crate::command_error::{CommandError, Result};
use crate::settings::serve::ServeArguments;
use crate::settings::{AppOption, StoreOptions};
use crate::{example, output};
use ambit_storage::Ambit;
use clap::{Args, CommandFactory, Parser, Subcommand};
use futures::future::LocalBoxFuture;
use std::io::Write;
use std::path::Path;

/// Serves AI agents and looks after their contexts. `ambit` alone serves: the app of AMBIT_APP, else the welcome app.
#[derive(Parser, Debug)]
#[command(name = "ambit", version = env!("AMBIT_VERSION"), arg_required_else_help = true)]
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
    /// Writes the TypeScript declarations of what scripts can call, and of what the app has itself, into an app
    Types(types::TypesArguments),
    /// Writes JSON Schemas of an app's files, so that editors complete keys and underline mistakes
    Schema(schema::SchemaArguments),
    /// Talks to an agent in the terminal; exits with 2 where a turn failed
    Chat(chat::ChatArguments),
    /// Lists and shows chats, as one person sees them or all
    Chats(chats::ChatsArguments),
    /// Collections of documents
    #[command(subcommand)]
    Kb(kb::KnowledgeCommand),
    /// Shows what the searches of an agent find
    Search(search::AgentSearchArguments),
    /// What is stored of conversations
    Context(ContextArguments),
    /// What was spent
    Usage(usage::UsageArguments),
    /// Prints what has happened in contexts, one JSON object a line; events are kept for ten minutes, while somebody follows them
    Events(events::EventsArguments),
    /// Says of which messages, tools and options the requests to models in a turn were made; what these say is shown by the console
    Why(why::WhyArguments),
    /// Looks for what is wrong in the stores; exits with 2 where something is left
    Doctor(doctor::DoctorArguments),
    /// Copies the SQLite files of stores and models to a new folder while others write; exits with 3 where other programs copy the rest
    Backup(backup::BackupArguments),
    /// Puts a backup back where no data is, all of it or nothing; exits with 3 where other programs put the rest back
    Restore(restore::RestoreArguments),
    /// The database of an app's models
    Models(models::ModelsArguments),
    /// A worked example of contexts, which prints what it does
    Demo,
    /// Prints the script with which a shell completes commands and options
    Completions(completions::CompletionsArguments),
    /// Prints a page for `man`
    Man(man::ManArguments),
}

#[derive(Args, Debug)]
pub struct ContextArguments {
    #[command(flatten)]
    app: AppOption,
    #[command(subcommand)]
    command: ContextCommand,
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
        CliCommand::Completions(arguments) => completions::run(Cli::command(), arguments, &mut out),
        CliCommand::Man(arguments) => man::run(Cli::command(), arguments, &mut out),
        CliCommand::Chat(arguments) => chat::run(arguments, stores).await,
        // A backup leaves files of an older form as they are, and a restore has none yet.
        CliCommand::Backup(arguments) => backup::run(stores, arguments, &mut out).await,
        CliCommand::Restore(arguments) => restore::run(stores, arguments, &mut out),
        CliCommand::Serve(arguments) => serve::run(stores, arguments).await,
        CliCommand::Health(arguments) => health::run(arguments, &mut out).await,
        CliCommand::Demo => example::run()
            .await
            .map(|()| CommandOutcome::Done)
            .map_err(Into::into),
        CliCommand::Access(access) => access::run(stores, access, &mut out).await,
        CliCommand::Kb(command) => kb::run(command, stores, &mut out).await,
        CliCommand::Search(arguments) => search::run(arguments, stores, &mut out).await,
        CliCommand::Models(arguments) => models::run(arguments, stores, &mut out).await,
        CliCommand::Keys(arguments) => keys::run(arguments, stores, &mut out).await,
        CliCommand::Context(context) => {
            let folder = context.app.folder();
            let ambit = context.command.open(stores, &folder).await?;
            let ran = about_context(&ambit, &folder, &context.command, &mut out).await;
            closed(&ambit, searched(stores, &folder, ran)).await
        }
        CliCommand::Chats(arguments) => {
            let folder = arguments.app.folder();
            let ambit = stores.open_in(&folder).await?;
            let ran = chats::run(&ambit, arguments, &mut out).await;
            closed(&ambit, searched(stores, &folder, ran)).await
        }
        CliCommand::Usage(arguments) => {
            let ambit = stores.open_in(&arguments.app.folder()).await?;
            let ran = usage::run(&ambit, arguments, &mut out).await;
            closed(&ambit, ran).await
        }
        CliCommand::Events(arguments) => events::run(stores, arguments, &mut out).await,
        CliCommand::Why(arguments) => {
            let folder = arguments.app.folder();
            let ambit = stores.open_in(&folder).await?;
            let ran = why::run(&ambit, arguments, &mut out).await;
            closed(&ambit, searched(stores, &folder, ran)).await
        }
        CliCommand::Doctor(arguments) => {
            let ambit = stores.open_in(&arguments.app.folder()).await?;
            let ran = doctor::run(&ambit, stores, arguments, &mut out).await;
            closed(&ambit, ran).await
        }
    };
    out.flush()?;
    ran
}

/// What came of a command; of what is not there, where it was looked for too.
fn searched(
    stores: &StoreOptions,
    app: &Path,
    ran: Result<CommandOutcome>,
) -> Result<CommandOutcome> {
    match ran {
        Err(CommandError::NotFound { what, advice }) => {
            let place = stores.searched(app)?;
            let message = format!("{what} not found in {place}; {advice}");
            Err(CommandError::Refused(message))
        }
        ran => ran,
    }
}

/// What came of a command, once its stores are closed.
async fn closed(ambit: &Ambit, ran: Result<CommandOutcome>) -> Result<CommandOutcome> {
    let closed = ambit.close().await;
    let outcome = ran?;
    closed?;
    Ok(outcome)
}

impl ContextCommand {
    /// Opens the stores. Who erases something asks the listeners that the server asks.
    async fn open(&self, stores: &StoreOptions, app: &Path) -> Result<Ambit> {
        match self {
            Self::Clear(_) | Self::Remove(_) => stores.open_with_listeners(app).await,
            _ => stores.open_in(app).await,
        }
    }
}

async fn about_context(
    ambit: &Ambit,
    app: &Path,
    context: &ContextCommand,
    out: &mut output::Output,
) -> Result<CommandOutcome> {
    match context {
        ContextCommand::Ls(arguments) => list::run(ambit, app, arguments, out).await,
        ContextCommand::Show(arguments) => show::run(ambit, arguments, out).await,
        ContextCommand::Messages(arguments) => messages::run(ambit, arguments, out).await,
        ContextCommand::Clear(arguments) => erase::clear(ambit, app, arguments, out).await,
        ContextCommand::Remove(arguments) => erase::remove(ambit, app, arguments, out).await,
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
