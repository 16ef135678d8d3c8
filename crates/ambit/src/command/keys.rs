//! `ambit keys`: keys for programs that call the server.

use crate::command::CommandOutcome;
use crate::command::serve::load;
use crate::command_error::{CommandError, Result};
use crate::output::{self, Output, Table, one_line};
use crate::settings::{AppOption, StoreOptions};
use crate::timestamp;
use ambit::auth::AuthConfig;
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use ambit::environment::environment;
use ambit::suggestion;
use ambit_storage::Ambit;
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::clock::{Clock, Millis};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Keys, and the app whose server takes them.
#[derive(Args, Debug)]
pub struct KeysArguments {
    #[command(flatten)]
    app: AppOption,
    #[command(subcommand)]
    command: KeysCommand,
}

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
    #[arg(long, conflicts_with = "until", value_parser = clap::value_parser!(u32).range(1..))]
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

/// The app that keys are for, if there is one.
struct KeyedApp {
    /// Its folder; empty for the one that the program is started in.
    folder: PathBuf,
    /// Who may call it; none where no app is there.
    config: Option<AuthConfig>,
}

/// Does it. Keys are kept where the index is; `--tenant` says which tenant a new key belongs to.
pub async fn run(
    arguments: &KeysArguments,
    stores: &StoreOptions,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let folder = arguments.app.folder();
    if let KeysCommand::New(new) = &arguments.command {
        check_names(new)?;
        let app = KeyedApp::of(folder, arguments.app.is_given())?;
        return make(&app, stores, new, out).await;
    }
    let ambit = stores.open_in(&folder).await?;
    let ran = look_after(&ambit, &arguments.command, out).await;
    ambit.close().await?;
    ran
}

async fn look_after(
    ambit: &Ambit,
    command: &KeysCommand,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let keys = ApiKeys::new(ambit.stores().index()?.driver().clone());
    let KeysCommand::Revoke { id } = command else {
        return list(&keys, out).await;
    };
    match keys.remove(id).await? {
        true => Ok(CommandOutcome::Done),
        false => Err(CommandError::Refused(format!(
            "there is no key {id}; `ambit keys ls` lists them"
        ))),
    }
}

impl KeyedApp {
    fn of(folder: PathBuf, is_named: bool) -> Result<Self> {
        if !folder.join("app.yao").is_file() {
            if is_named {
                let reason = format!(
                    "is {}, where no app.yao is; name the folder of an app",
                    folder.display()
                );
                return Err(CommandError::option("--app", reason));
            }
            return Ok(Self {
                folder,
                config: None,
            });
        }
        let at_hand = Path::new(".");
        let named = Some(folder.as_path()).filter(|folder| !folder.as_os_str().is_empty());
        let app = load(named.unwrap_or(at_hand), &environment())?;
        let config = AuthConfig::of(&app);
        let config = config.map_err(|problem| {
            CommandError::Refused(format!("who may call is not clear: {problem}"))
        })?;
        Ok(Self {
            folder,
            config: Some(config),
        })
    }

    /// Refuses roles and scopes that the app does not have: they would grant nothing.
    fn check_known(&self, new: &NewKeyArguments) -> Result<()> {
        let Some(config) = &self.config else {
            return check_none_named(new);
        };
        let rules = &config.rules;
        let is_role = |name: &&String| rules.roles().any(|role| role == name.as_str());
        if let Some(wrong) = new.role.iter().find(|name| !is_role(name)) {
            let roles: Vec<&str> = rules.roles().collect();
            let offer = suggestion::offer_all(wrong, roles);
            let reason = format!("is given \"{wrong}\", which is no role of the app{offer}");
            return Err(CommandError::option("--role", reason));
        }
        if let Some(wrong) = new.scope.iter().find(|name| !rules.has_scope(name)) {
            let offer = offer_scopes(wrong, rules.scopes());
            let reason = format!("is given \"{wrong}\", which is no scope of the app{offer}");
            return Err(CommandError::option("--scope", reason));
        }
        Ok(())
    }
}

/// The levels of a scope that is named without one, else the scope that is nearest.
fn offer_scopes<'a>(wrong: &str, scopes: impl Iterator<Item = &'a str>) -> String {
    let scopes: Vec<&str> = scopes.collect();
    let mut levels = scopes.clone();
    levels.retain(|scope| {
        let level = scope.strip_prefix(wrong);
        level.is_some_and(|level| level.starts_with(':'))
    });
    match levels.is_empty() {
        true => suggestion::offer(wrong, scopes),
        false => format!("; there are {}", levels.join(", ")),
    }
}

/// Roles and scopes are an app's: without one nobody knows which there are.
fn check_none_named(new: &NewKeyArguments) -> Result<()> {
    let named = [("--role", &new.role), ("--scope", &new.scope)];
    match named.iter().find(|(_, names)| !names.is_empty()) {
        None => Ok(()),
        Some((option, _)) => {
            let reason = "needs the app that it is one of; name its folder with --app";
            Err(CommandError::option(option, reason))
        }
    }
}

fn check_names(new: &NewKeyArguments) -> Result<()> {
    if new.user.is_none() && new.role.is_empty() {
        let reason =
            "the key is nobody's: name whom it acts for with --user, or what it may do with --role";
        return Err(CommandError::Refused(reason.to_owned()));
    }
    for (option, name) in [("--user", &new.user), ("--team", &new.team)] {
        if name.as_ref().is_some_and(String::is_empty) {
            let reason = "is given no name; name whom the key acts for, or leave the option out";
            return Err(CommandError::option(option, reason));
        }
    }
    let is_name = |text: &String| !text.is_empty() && !text.contains([' ', ',']);
    for (option, names) in [("--role", &new.role), ("--scope", &new.scope)] {
        if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
            let reason =
                format!("is given \"{wrong}\", which is no name; repeat the option for several");
            return Err(CommandError::option(option, reason));
        }
    }
    Ok(())
}

async fn make(
    app: &KeyedApp,
    stores: &StoreOptions,
    new: &NewKeyArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    app.check_known(new)?;
    let expires_at = end(new, Clock::default().now())?;
    let ambit = stores.open_in(&app.folder).await?;
    let made = store_key(&ambit, new, expires_at).await;
    ambit.close().await?;
    let (secret, record) = made?;
    writeln!(out, "{secret}")?;
    out.flush()?;
    let place = one_line(&stores.place(&app.folder)?);
    eprintln!("ambit: key {} is in {place}", record.id);
    if app
        .config
        .as_ref()
        .is_some_and(|config| !config.has_api_keys)
    {
        eprintln!(
            "ambit: the app takes no keys yet: write {{\"auth\": {{\"api_keys\": true}}}} into its openapi/openapi.yao"
        );
    }
    Ok(CommandOutcome::Done)
}

async fn store_key(
    ambit: &Ambit,
    new: &NewKeyArguments,
    expires_at: Option<Millis>,
) -> Result<(String, ApiKeyRecord)> {
    let keys = ApiKeys::new(ambit.stores().index()?.driver().clone());
    let tenant = ambit.caller().tenant();
    let grant = ApiKeyRecord {
        label: new.label.clone(),
        user_id: new.user.clone(),
        team_id: new.team.clone(),
        tenant_id: (tenant != DEFAULT_TENANT).then(|| tenant.to_owned()),
        roles: new.role.clone(),
        scope: (!new.scope.is_empty()).then(|| new.scope.join(" ")),
        expires_at,
        ..ApiKeyRecord::default()
    };
    Ok(keys.make_recorded(grant).await?)
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
