//! The agents of an app as it is loaded, for those who look after the installation: settings, hooks, files, what is wrong, what
//! their models are told, and their tools.

mod files;
mod folders;
pub(crate) mod prompts;
mod settings;
pub(crate) mod tools;

pub use files::AgentFile;
pub use prompts::{PromptOccasion, RenderedPrompt, RenderedPrompts};
pub use settings::AgentSetting;
pub use tools::{AgentServer, AgentTool, AgentToolList};

use crate::app::{App, AppAgent, Connector, FileProblem};
use crate::error::{Error, Result};
use crate::hook::HOOKS;
use crate::llm::ModelCapabilities;
use crate::llm::capabilities::NAMES;
use crate::loaded_app::LoadedApp;
use crate::tool::ServerSelection;
use folders::AgentFolders;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// The agents of the app, workers included.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentDetailsList {
    /// By their ids.
    pub items: Vec<AgentDetails>,
}

/// What an agent is made of.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentDetails {
    /// Its dotted id.
    pub assistant_id: String,
    /// `assistant`, or `worker`, which works for other agents alone.
    #[serde(rename = "type")]
    pub kind: String,
    /// The settings that count, by their keys with dots; of an agent that cannot be used, as far as its package can be read.
    pub settings: BTreeMap<String, AgentSetting>,
    /// The connector of its model; nothing where there is none, or none that can be used.
    #[schema(required)]
    pub connector: Option<AgentConnector>,
    /// The tool servers that it names.
    pub servers: Vec<String>,
    /// The functions of its `src/index.ts`; a turn calls `Create` and `Next`.
    pub hooks: Vec<AgentHook>,
    /// The files of its folder.
    pub files: Vec<AgentFile>,
    /// What is wrong with them, or has no effect.
    pub problems: Vec<FileProblem>,
}

/// The connector of an agent's model.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentConnector {
    /// Its dotted id.
    pub id: String,
    /// Its provider.
    #[serde(rename = "type")]
    pub kind: String,
    /// The model, as the provider calls it; `$ENV.NAME` where its file says so.
    pub model: String,
    /// What the model can do.
    pub capabilities: Vec<String>,
}

/// A function of an agent's hooks.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentHook {
    /// Its name.
    pub name: String,
    /// The file, below the app's folder.
    pub file: String,
    /// Its line, from 1; nothing where only running the file tells.
    #[schema(required)]
    pub line: Option<u32>,
}

/// All agents, those that cannot be used included.
pub(crate) fn list(loaded: &LoadedApp) -> AgentDetailsList {
    let folders = AgentFolders::of(&loaded.app);
    let ids = loaded.app.agents.keys();
    AgentDetailsList {
        items: ids.map(|id| details(loaded, &folders, id)).collect(),
    }
}

/// The agent with this id.
pub(crate) fn get(loaded: &LoadedApp, id: &str) -> Result<AgentDetails> {
    check_known(&loaded.app, id)?;
    Ok(details(loaded, &AgentFolders::of(&loaded.app), id))
}

/// The text of a file of an agent, as it is now.
pub(crate) fn file_text(loaded: &LoadedApp, id: &str, path: &str) -> Result<String> {
    check_known(&loaded.app, id)?;
    let folders = AgentFolders::of(&loaded.app);
    let folder = folders.of_agent(id).unwrap_or_default();
    let mut known = folders.files(folder).iter();
    match known.any(|known| *known == path) {
        true => files::text(&loaded.app.root.join(folder), path),
        false => Err(Error::not_found("file", path)),
    }
}

fn check_known(app: &App, id: &str) -> Result<()> {
    match app.agents.contains_key(id) {
        true => Ok(()),
        false => Err(Error::not_found("agent", id)),
    }
}

fn details(loaded: &LoadedApp, folders: &AgentFolders<'_>, id: &str) -> AgentDetails {
    let app = &loaded.app;
    let folder = folders.of_agent(id).unwrap_or_default();
    let package = format!("{folder}/package.yao");
    let agent = app.agent(id).ok();
    let written = app.written.of(&package);
    let place = app.root.join(folder);
    let (files, versions) = (folders.files(folder).iter(), &loaded.file_versions);
    let problems = loaded.problems().iter();
    AgentDetails {
        assistant_id: id.to_owned(),
        kind: kind(agent.as_deref(), written),
        settings: settings::of(app, &package),
        connector: agent.and_then(|agent| connector(app, &agent)),
        servers: servers(written),
        hooks: hooks(loaded, id),
        files: files
            .filter_map(|path| AgentFile::of(versions, &place, path))
            .collect(),
        problems: problems
            .filter(|problem| folders.around(&problem.file) == Some(folder))
            .cloned()
            .collect(),
    }
}

/// What an agent is for; one that cannot be used is what its package says.
fn kind(agent: Option<&AppAgent>, written: &Value) -> String {
    let kind = agent.map(|agent| agent.package.kind.name());
    let written = written["type"].as_str();
    kind.or(written).unwrap_or("assistant").to_owned()
}

fn connector(app: &App, agent: &AppAgent) -> Option<AgentConnector> {
    let connector = app.model(&agent.package.connector).ok()?;
    let can = ModelCapabilities::of(&connector);
    let names = NAMES
        .iter()
        .filter(|name| can.has(name).is_ok_and(|has| has));
    Some(AgentConnector {
        id: connector.id.clone(),
        kind: connector.kind.clone(),
        model: model(app, &connector),
        capabilities: names.map(|name| (*name).to_owned()).collect(),
    })
}

fn model(app: &App, connector: &Connector) -> String {
    let written = app.written.of(&connector.file)["model"].as_str();
    written.unwrap_or(connector.model()).to_owned()
}

/// The tool servers that a package names, as it is written.
fn servers(written: &Value) -> Vec<String> {
    let named = written["mcp"]["servers"].as_array();
    let named = named.into_iter().flatten();
    named
        .map(|entry| ServerSelection::of_entry(entry).id().to_owned())
        .collect()
}

fn hooks(loaded: &LoadedApp, id: &str) -> Vec<AgentHook> {
    let Ok((_, hooks)) = loaded.agent(id) else {
        return Vec::new();
    };
    let Some(program) = hooks.program() else {
        return Vec::new();
    };
    let mut names: BTreeSet<&str> = program.exported().collect();
    names.extend(HOOKS.into_iter().filter(|hook| program.has(hook)));
    let functions = names.into_iter().map(|name| AgentHook {
        name: name.to_owned(),
        file: program.entry().to_owned(),
        line: program.line(name),
    });
    functions.collect()
}
