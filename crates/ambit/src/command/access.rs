//! `ambit access`: what the access rules of an app say.

use crate::command::CommandOutcome;
use crate::command::serve::load;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, escape_control};
use crate::settings::{StoreOptions, app_folder, data_folder};
use ambit::auth::access::{AskedCaller, explain, read_caller, read_target, unknown_caller};
use ambit::auth::api_keys::ApiKeys;
use ambit::auth::{AuthConfig, RequestCaller};
use ambit::environment::environment;
use ambit::http;
use ambit_runtime::Error;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is asked of the rules.
#[derive(Subcommand, Debug)]
pub enum AccessCommand {
    /// Says whether a request is granted, and which rules say so
    Explain(ExplainArguments),
}

/// A request by somebody.
#[derive(Args, Debug)]
pub struct ExplainArguments {
    /// Who: the id of a key, roles with commas between them, or `authorized` as JSON with `roles` and `scope`
    who: String,
    /// What: a method and a path, "GET /chat/sessions"
    what: String,
    /// The app's folder, else AMBIT_APP, else the one that the program is started in
    #[arg(long)]
    app: Option<PathBuf>,
}

/// Prints the answer and its reasons.
pub async fn run(
    stores: &StoreOptions,
    command: &AccessCommand,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let AccessCommand::Explain(asked) = command;
    let folder = app_folder(asked.app.clone());
    let app = load(&folder, &environment())?;
    let config =
        AuthConfig::of(&app).map_err(|problem| CommandError::Refused(problem.to_string()))?;
    let target = read_target(&config, &asked.what).map_err(refused)?;
    let data = data_folder(asked.app.clone());
    let who = config.with_role(caller(&config, stores, &data, &asked.who).await?);
    if config.development.is_some() {
        writeln!(
            out,
            "the app is in development mode, in which every route is granted; otherwise:"
        )?;
    }
    if !http::has_route(&target) {
        writeln!(out, "{target} is no route of this server")?;
    }
    for line in explain(&config.rules, &target, &who) {
        writeln!(out, "{}", escape_control(&line))?;
    }
    Ok(CommandOutcome::Done)
}

async fn caller(
    config: &AuthConfig,
    stores: &StoreOptions,
    data: &Path,
    who: &str,
) -> Result<RequestCaller> {
    let id = match read_caller(&config.rules, who).map_err(refused)? {
        AskedCaller::Described(caller) => return Ok(*caller),
        AskedCaller::KeyHolder(id) => id,
    };
    let ambit = stores.open_in(data).await?;
    let keys = ApiKeys::new(ambit.stores().index()?.driver().clone());
    let found = keys.list().await;
    ambit.close().await?;
    let found = found?.into_iter().find(|grant| grant.id == id);
    let unknown = || refused(unknown_caller(&config.rules, who));
    Ok(found.ok_or_else(unknown)?.caller())
}

fn refused(error: Error) -> CommandError {
    CommandError::Refused(error.message)
}
