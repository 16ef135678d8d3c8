//! `ambit keys`: keys for programs that call the server.

use crate::command::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{self, Output, Table};
use crate::timestamp;
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use ambit_storage::Ambit;
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::clock::{Clock, Millis};
use clap::{Args, Subcommand};
use std::io::Write;

/// What is done with keys.
#[derive(Subcommand, Debug)]
pub enum KeysCommand {
    /// Makes a key and shows it, this once
    New(NewKeyArguments),
    /// Lists the keys, without the keys themselves
    Ls,
    /// Ends a key at once
    #[command(visible_alias = "remove")]
    Revoke {
        /// Its id, as `ls` shows it
        id: String,
    },
}

/// Whom a key stands for.
#[derive(Args, Debug)]
pub struct NewKeyArguments {
    /// The user it acts for
    #[arg(long)]
    user: Option<String>,
    /// The team it acts in
    #[arg(long)]
    team: Option<String>,
    /// A role; several with several options
    #[arg(long)]
    role: Vec<String>,
    /// A scope that it is for, of those that its roles grant; several with several options, without one all
    #[arg(long)]
    scope: Vec<String>,
    /// Days until it ends
    #[arg(long, conflicts_with = "until")]
    days: Option<u32>,
    /// The day or the time at which it ends
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// What it is for
    #[arg(long)]
    label: Option<String>,
}

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Does it. Keys are kept where the index is; `--tenant` says which tenant a new key belongs to.
pub async fn run(ambit: &Ambit, command: &KeysCommand, out: &mut Output) -> Result<CommandOutcome> {
    let keys = ApiKeys::new(ambit.stores().index()?.driver().clone());
    match command {
        KeysCommand::New(new) => make(ambit, &keys, new, out).await,
        KeysCommand::Ls => list(&keys, out).await,
        KeysCommand::Revoke { id } => match keys.remove(id).await? {
            true => Ok(CommandOutcome::Done),
            false => Err(CommandError::Refused(format!(
                "there is no key {id}; `ambit keys ls` lists them"
            ))),
        },
    }
}

async fn make(
    ambit: &Ambit,
    keys: &ApiKeys,
    new: &NewKeyArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    if new.user.is_none() && new.role.is_empty() {
        let reason = "is missing: a key acts for a user, or has a role with --role";
        return Err(CommandError::option("--user", reason));
    }
    let is_name = |text: &String| !text.is_empty() && !text.contains([' ', ',']);
    for (option, names) in [("--role", &new.role), ("--scope", &new.scope)] {
        if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
            let reason =
                format!("is given \"{wrong}\", which is no name; repeat the option for several");
            return Err(CommandError::option(option, reason));
        }
    }
    let tenant = ambit.caller().tenant();
    let now = Clock::default().now();
    let grant = ApiKeyRecord {
        label: new.label.clone(),
        user_id: new.user.clone(),
        team_id: new.team.clone(),
        tenant_id: (tenant != DEFAULT_TENANT).then(|| tenant.to_owned()),
        roles: new.role.clone(),
        scope: (!new.scope.is_empty()).then(|| new.scope.join(" ")),
        expires_at: end(new, now)?,
        ..ApiKeyRecord::default()
    };
    let secret = keys.make(grant).await?;
    writeln!(out, "{secret}")?;
    Ok(CommandOutcome::Done)
}

/// When the key ends, if it does.
fn end(new: &NewKeyArguments, now: Millis) -> Result<Option<Millis>> {
    let Some(text) = &new.until else {
        return Ok(new.days.map(|days| now + i64::from(days) * DAY));
    };
    match timestamp::parse(text) {
        Ok(end) if end > now => Ok(Some(end)),
        Ok(_) => Err(CommandError::option(
            "--until",
            format!("is {text}, which is over"),
        )),
        Err(why) => Err(CommandError::option(
            "--until",
            format!("is \"{text}\"; {why}"),
        )),
    }
}

async fn list(keys: &ApiKeys, out: &mut Output) -> Result<CommandOutcome> {
    let mut table = Table::new([
        "ID", "USER", "TEAM", "TENANT", "ROLES", "SCOPE", "ENDS", "LABEL",
    ]);
    let rows = keys.list().await?.into_iter().map(|grant| {
        [
            grant.id,
            output::or_dash(grant.user_id.as_deref()),
            output::or_dash(grant.team_id.as_deref()),
            output::or_dash(grant.tenant_id.as_deref()),
            output::or_dash(
                Some(grant.roles.join(","))
                    .filter(|roles| !roles.is_empty())
                    .as_deref(),
            ),
            output::or_dash(grant.scope.as_deref()),
            output::or_dash(grant.expires_at.map(timestamp::show).as_deref()),
            output::or_dash(grant.label.as_deref()),
        ]
    });
    table.print(out, &rows.collect::<Vec<_>>())?;
    Ok(CommandOutcome::Done)
}
