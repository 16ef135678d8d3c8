//! Which contexts a command is about.

use crate::command_error::{CommandError, Result};
use crate::settings::has_app;
use ambit::environment::environment;
use ambit::{suggestion, timestamp};
use ambit_runtime::app::App;
use ambit_storage::clock::Millis;
use ambit_storage::{Ambit, Error, SessionIdentity, SessionQuery};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Conditions, all of which must hold.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which contexts")]
pub struct ContextFilters {
    /// The context with this id
    #[arg(long)]
    id: Option<String>,
    /// Those of this user
    #[arg(long)]
    user: Option<String>,
    /// Those of this chat
    #[arg(long)]
    chat: Option<String>,
    /// Those of this group
    #[arg(long)]
    group: Option<String>,
    /// Those that hold this: chatHistory, usage, memory, or a storage of your own
    #[arg(long)]
    scope: Option<String>,
    /// Last active before (2026-11-21, in UTC, or 2026-11-21T09:30:00Z)
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse)]
    active_before: Option<Millis>,
    /// Last active then or later
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse)]
    active_after: Option<Millis>,
    /// Made before
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse)]
    created_before: Option<Millis>,
    /// Made then or later
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse)]
    created_after: Option<Millis>,
    /// Those with this label; may be given several times
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
}

/// Adds a condition to a query.
type QueryCondition<T> = fn(&SessionQuery, T) -> SessionQuery;

/// Scopes that Ambit itself gives.
const SCOPES: [&str; 3] = ["chatHistory", "usage", "memory"];

impl ContextFilters {
    /// The query, once every condition is known to make sense. The agents of the app in this folder are known, too.
    pub async fn query(
        &self,
        ambit: &Ambit,
        app: &Path,
        agent: Option<&str>,
    ) -> Result<SessionQuery> {
        self.check_names()?;
        self.check_times()?;
        let labels = self.checked_labels()?;
        if let Some(agent) = agent {
            check_agent(ambit, app, agent).await?;
        }
        self.check_scope(ambit).await?;
        let every = || SessionQuery::every(ambit);
        let mut query = agent.map_or_else(every, |agent| SessionQuery::named(ambit, agent));
        for (name, value) in labels {
            query = query.labelled(name, value);
        }
        let texts: [(&Option<String>, QueryCondition<&str>); 5] = [
            (&self.id, SessionQuery::with_id),
            (&self.user, SessionQuery::for_user),
            (&self.chat, SessionQuery::for_chat),
            (&self.group, SessionQuery::for_group),
            (&self.scope, SessionQuery::for_scope),
        ];
        for (value, narrow) in texts {
            if let Some(value) = value {
                query = narrow(&query, value);
            }
        }
        let times: [(Option<Millis>, QueryCondition<Millis>); 4] = [
            (self.active_before, SessionQuery::active_before),
            (self.active_after, SessionQuery::active_after),
            (self.created_before, SessionQuery::created_before),
            (self.created_after, SessionQuery::created_after),
        ];
        for (at, narrow) in times {
            if let Some(at) = at {
                query = narrow(&query, at);
            }
        }
        Ok(query)
    }

    fn check_names(&self) -> Result<()> {
        let given = [
            ("--user", &self.user),
            ("--chat", &self.chat),
            ("--group", &self.group),
            ("--scope", &self.scope),
        ];
        for (option, value) in given {
            let Some(value) = value else {
                continue;
            };
            // The rule for all parts of an identity is the same.
            if let Err(Error::Invalid { reason, .. }) =
                SessionIdentity::builder("agent").user_id(value).build()
            {
                return Err(CommandError::option(option, reason));
            }
        }
        Ok(())
    }

    /// Refuses ranges that nothing can be in.
    fn check_times(&self) -> Result<()> {
        let ranges = [
            (
                "--active-after",
                self.active_after,
                "--active-before",
                self.active_before,
            ),
            (
                "--created-after",
                self.created_after,
                "--created-before",
                self.created_before,
            ),
            // Nothing was active before it was made.
            (
                "--created-after",
                self.created_after,
                "--active-before",
                self.active_before,
            ),
        ];
        for (from_option, from, to_option, to) in ranges {
            if let (Some(from), Some(to)) = (from, to)
                && from >= to
            {
                let reason = format!(
                    "{} is not before {to_option} {}, so nothing can match",
                    timestamp::show(from),
                    timestamp::show(to)
                );
                return Err(CommandError::option(from_option, reason));
            }
        }
        Ok(())
    }

    fn checked_labels(&self) -> Result<BTreeMap<&str, &str>> {
        let mut labels = BTreeMap::new();
        for (name, value) in &self.labels {
            let before = labels.insert(name.as_str(), value.as_str());
            if let Some(before) = before.filter(|before| before != value) {
                let reason = format!("wants {name} to be both \"{before}\" and \"{value}\"");
                return Err(CommandError::option("--label", reason));
            }
        }
        Ok(labels)
    }

    async fn check_scope(&self, ambit: &Ambit) -> Result<()> {
        let Some(scope) = self.scope.as_deref() else {
            return Ok(());
        };
        if SCOPES.contains(&scope) || SessionQuery::every(ambit).for_scope(scope).exists().await? {
            return Ok(());
        }
        let mut known: BTreeSet<String> = SCOPES.map(str::to_owned).into();
        let every = SessionQuery::every(ambit);
        let mut rows = every.rows();
        while let Some(page) = rows.next().await? {
            known.extend(
                page.iter()
                    .filter_map(|row| row.identity.scope().map(str::to_owned)),
            );
        }
        let offer = suggestion::offer(scope, known.iter().map(String::as_str));
        let reason = format!("\"{scope}\" is unknown: nothing is stored under it{offer}");
        Err(CommandError::option("--scope", reason))
    }
}

/// Refuses an agent that nothing is stored of and that the app in this folder does not have.
pub async fn check_agent(ambit: &Ambit, app: &Path, agent: &str) -> Result<()> {
    if SessionQuery::named(ambit, agent).exists().await? {
        return Ok(());
    }
    let mut known = agents_of(app);
    if known.contains(agent) {
        return Ok(());
    }
    let every = SessionQuery::every(ambit);
    let mut rows = every.rows();
    while let Some(page) = rows.next().await? {
        let touches = page.into_iter().flat_map(|row| row.touches);
        known.extend(touches.map(|touch| touch.agent));
    }
    let offer = suggestion::offer(agent, known.iter().map(String::as_str));
    Err(CommandError::Refused(format!(
        "the agent \"{agent}\" is unknown: nothing is stored of it{offer}"
    )))
}

/// The agents of the app in a folder; none where there is no app, or one that cannot be loaded.
fn agents_of(folder: &Path) -> BTreeSet<String> {
    if !has_app(folder) {
        return BTreeSet::new();
    }
    // The folder that the program is started in is an empty path here.
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    match App::load(folder, &environment()) {
        Ok(app) => app.agents.keys().cloned().collect(),
        Err(_) => BTreeSet::new(),
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as name=value".to_owned()),
    }
}
