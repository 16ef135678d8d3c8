//! `ambit access`: what the access rules of an app say.

use crate::command::CommandOutcome;
use crate::command::serve::load;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, escape_control};
use crate::settings::{StoreOptions, app_folder};
use ambit::auth::access::{RequestTarget, explain};
use ambit::auth::api_keys::ApiKeys;
use ambit::auth::{AuthConfig, RequestCaller};
use ambit::environment::environment;
use ambit::http;
use ambit_runtime::Authorized;
use ambit_storage::suggestion;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;

/// What is asked of the rules.
#[derive(Subcommand, Debug)]
pub enum AccessCommand {
    /// Says whether a request is granted, and which rules say so
    Explain(ExplainArguments),
}

/// What is told of a caller by a name of its own; further claims are the app's.
const CLAIMS: [&str; 10] = [
    "user_id",
    "team_id",
    "tenant_id",
    "constraints",
    "roles",
    "scope",
    "client_id",
    "session_id",
    "sub",
    "remember_me",
];

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
    let target = target(&config, &asked.what)?;
    let who = config.with_role(caller(&config, stores, &asked.who).await?);
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

/// The request; its path may stand below the base path or not.
fn target(config: &AuthConfig, what: &str) -> Result<RequestTarget> {
    let found = what.trim().split_once(' ').and_then(|(method, path)| {
        let path = path.trim();
        let below = path.strip_prefix(&config.base);
        let below = below.filter(|below| below.starts_with('/'));
        RequestTarget::of(&method.to_uppercase(), below.unwrap_or(path))
    });
    let refused = || {
        CommandError::Refused(format!(
            "\"{what}\" is no request; write it as \"GET /chat/sessions\""
        ))
    };
    found.ok_or_else(refused)
}

/// Refuses a claim that is a known one, misspelt: it would say nothing, and the answer would be about somebody else.
fn check_claims(person: &Authorized) -> Result<()> {
    for claim in person.claims.keys() {
        let known = CLAIMS.iter().copied();
        if CLAIMS.contains(&claim.as_str()) {
            continue;
        }
        if let Some(meant) = suggestion::nearest(claim, known) {
            return Err(CommandError::Refused(format!(
                "<WHO> says \"{claim}\", which nothing reads; did you mean \"{meant}\"?"
            )));
        }
    }
    Ok(())
}

async fn caller(config: &AuthConfig, stores: &StoreOptions, who: &str) -> Result<RequestCaller> {
    if who.trim_start().starts_with('{') {
        let person: Authorized = serde_json::from_str(who)
            .map_err(|error| CommandError::Refused(format!("<WHO> is no identity: {error}")))?;
        check_claims(&person)?;
        return Ok(RequestCaller::of(person)?);
    }
    let roles: Vec<&str> = who.split(',').map(str::trim).collect();
    let is_role = |name: &&str| config.rules.roles().any(|role| role == *name);
    if roles.iter().all(is_role) {
        return Ok(RequestCaller {
            roles: roles.into_iter().map(str::to_owned).collect(),
            ..RequestCaller::default()
        });
    }
    let ambit = stores.open().await?;
    let keys = ApiKeys::new(ambit.stores().index()?.driver().clone());
    let found = keys.list().await;
    ambit.close().await?;
    let found = found?.into_iter().find(|grant| grant.id == who);
    let known: Vec<&str> = config.rules.roles().collect();
    let refused = || {
        CommandError::Refused(format!(
            "\"{who}\" is neither a role of the app ({}) nor the id of a key; `ambit keys ls` lists the keys",
            known.join(", ")
        ))
    };
    Ok(found.ok_or_else(refused)?.caller())
}
