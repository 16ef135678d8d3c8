//! `ambit search`: what an agent's searches find.

use super::CommandOutcome;
use super::chat::{agents, unknown_agent};
use super::kb::{AppArguments, GRACE, read_app};
use crate::command_error::{CommandError, Result};
use crate::output::{Output, json_line, one_line, snippet};
use crate::settings::StoreOptions;
use ambit_runtime::search::{SearchItem, SearchKind};
use ambit_runtime::{AgentSearchRequest, Authorized, ErrorCode, Runtime};
use clap::Args;
use std::io::Write;

#[derive(Args, Debug)]
pub struct AgentSearchArguments {
    /// The agent whose settings count
    agent: String,
    /// What is looked for
    query: String,
    /// What is searched, with commas between: web, kb, db; without it all that the agent is set up for
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = kind)]
    types: Vec<SearchKind>,
    #[command(flatten)]
    app: AppArguments,
}

/// Runs a search.
pub async fn run(
    arguments: &AgentSearchArguments,
    stores: &StoreOptions,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let runtime = read_app(&arguments.app, stores).await?;
    let ran = search(&runtime, arguments, out).await;
    let closed = runtime.close(GRACE).await;
    ran?;
    closed?;
    Ok(CommandOutcome::Done)
}

async fn search(
    runtime: &Runtime,
    arguments: &AgentSearchArguments,
    out: &mut Output,
) -> Result<()> {
    if arguments.query.trim().is_empty() {
        let reason = "the query is empty: say what to look for";
        return Err(CommandError::Refused(reason.to_owned()));
    }
    let app = runtime.app();
    if let Err(unknown) = app.agent(&arguments.agent)
        && unknown.code == ErrorCode::NotFound
    {
        return Err(unknown_agent(&unknown.to_string(), &agents(&app)));
    }
    let request = AgentSearchRequest {
        agent: arguments.agent.clone(),
        authorized: Authorized {
            user_id: Some(arguments.app.user.clone()),
            ..Authorized::default()
        },
        query: arguments.query.clone(),
        types: arguments.types.clone(),
    };
    let found = runtime.search(&request).await?;
    for item in &found.items {
        match arguments.app.json {
            true => json_line(out, item)?,
            false => show(item, out)?,
        }
    }
    let told = found.results.iter().flat_map(|result| {
        let notes = result.notes.iter().chain(&result.error);
        notes.map(|note| format!("{}: {}", result.kind.name(), one_line(note)))
    });
    let told: Vec<String> = told.collect();
    if found.results.iter().all(|result| result.error.is_some()) {
        return Err(CommandError::Refused(told.join(", ")));
    }
    told.iter().for_each(|note| eprintln!("ambit: {note}"));
    if found.items.is_empty() {
        eprintln!("ambit: nothing is found");
    }
    Ok(())
}

fn show(item: &SearchItem, out: &mut Output) -> Result<()> {
    let collection = item.knowledge.as_ref().map(|it| it.collection.as_str());
    let model = item.record.as_ref().map(|it| it.model.as_str());
    let place = collection.or(model).unwrap_or(&item.url);
    let title = one_line(&item.title);
    writeln!(out, "{:.3}  {title}  {}", item.score, one_line(place))?;
    writeln!(out, "       {}", snippet(&item.content))?;
    Ok(())
}

fn kind(name: &str) -> Result<SearchKind, String> {
    SearchKind::named(name.trim()).ok_or_else(|| "must be web, kb or db".to_owned())
}
