//! Loading an app: its files one kind after another.

use super::app_console::{AppConsole, is_web_origin};
use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::read::ConfigNode;
use super::references;
use super::{
    App, AppAgent, AppFile, access_files, collection, connector, defaults, mcp_server, model,
    package, scripts, search_faults, store,
};
use crate::llm::connector::MODELS;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The agent of conversations that belong to no agent of the app.
pub const CONVERSATIONS: &str = "ambit.conversations";

impl App {
    /// Loads the app of a folder. A broken file disables what it describes and is told in `problems`; only a broken `app.yao`
    /// and broken access rules leave no app at all. Nothing of an app changes afterwards: a reload makes another one.
    pub fn load(
        root: &Path,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Vec<FileProblem>> {
        Self::load_with(root, environment, Vec::new())
    }

    /// The same app beside these tool servers, which are no files.
    pub fn load_with(
        root: &Path,
        environment: &BTreeMap<String, String>,
        program_servers: Vec<String>,
    ) -> Result<Self, Vec<FileProblem>> {
        let mut loader = AppLoader::new(root, environment).map_err(|problem| vec![problem])?;
        loader.program_servers = program_servers;
        let mut app = Self {
            root: root.to_owned(),
            ..Self::default()
        };
        let is_whole = load_settings(&mut loader, &mut app);
        let is_guarded = access_files::load(&mut loader, &mut app);
        defaults::load(&mut loader, &mut app);
        let agents = package::folders(&loader);
        app.connectors = connector::load(&mut loader);
        app.stores = store::load(&mut loader, &app);
        app.collections = collection::load(&mut loader);
        app.servers = mcp_server::load(&mut loader, &agents);
        app.models = model::load(&mut loader, &agents);
        app.processes = scripts::processes(&mut loader, &agents);
        load_agents(&mut loader, &mut app, agents);
        search_faults::warn(&mut loader, &app);
        app.variables = std::mem::take(&mut loader.variables);
        app.written = std::mem::take(&mut loader.written);
        app.files.clone_from(&loader.files);
        app.problems = loader.finish();
        match is_whole && is_guarded {
            true => Ok(app),
            false => Err(app.problems),
        }
    }
}

fn load_settings(loader: &mut AppLoader, app: &mut App) -> bool {
    let file = "app.yao";
    if !loader.has(file) {
        let message = "the file is not there, so the folder is no app";
        loader.refuse(FileProblem::new(Severity::Error, file, message));
        return false;
    }
    let Ok((read, node)) = loader.read::<AppFile>(file) else {
        return false;
    };
    check_embeddings(loader, file, &node);
    check_images(loader, file, &read.ambit.console);
    let ambit = node.get("ambit");
    loader.written.keep_keys(file, ambit, &["limits"]);
    app.name = read.name;
    app.version = read.version;
    app.description = read.description;
    app.settings = read.ambit;
    true
}

/// Warns of origins of pictures that are none.
fn check_images(loader: &mut AppLoader, file: &str, console: &AppConsole) {
    for (at, text) in console.images.iter().enumerate() {
        if !is_web_origin(text) {
            let message = format!(
                "\"ambit.console.images[{at}]\" is no origin such as https://images.example.com, so it is left out"
            );
            let problem = FileProblem::new(Severity::Warning, file, message);
            loader.problems.push(problem);
        }
    }
}

/// Warns of connectors that are to make vectors and that the app does not have.
fn check_embeddings(loader: &mut AppLoader, file: &str, node: &ConfigNode) {
    let search = node.get("ambit").and_then(|ambit| ambit.get("search"));
    for part in ["recall", "values"] {
        let options = search.and_then(|search| search.get(part));
        if let Some(named) = options.and_then(|options| options.get("embedding")) {
            let key = format!("ambit.search.{part}.embedding");
            references::connector(loader, file, &key, named);
        }
    }
}

fn load_agents(loader: &mut AppLoader, app: &mut App, folders: Vec<(String, String)>) {
    let packages = folders
        .into_iter()
        .map(|(id, folder)| (id, format!("{folder}/package.yao")));
    let packages = loader.unique(packages.collect());
    for (id, file) in packages {
        let agent = file.and_then(|file| match id == CONVERSATIONS {
            true => Err(loader.refuse(reserved(&file))),
            false => package::load(loader, &id, &file),
        });
        if let Ok(agent) = &agent {
            check_own_model(loader, app, agent);
        }
        let agent = agent.and_then(|agent| {
            let prompts = app
                .broken
                .prompts
                .as_ref()
                .filter(|_| !agent.package.disable_global_prompts);
            let broken = app.broken.defaults.as_ref().or(prompts);
            broken.map_or(Ok(Arc::new(agent)), |problem| Err(problem.clone()))
        });
        app.agents.insert(id, agent);
    }
}

/// Tells of an agent whose connector is no model: every turn would end with it.
fn check_own_model(loader: &mut AppLoader, app: &App, agent: &AppAgent) {
    let id = &agent.package.connector;
    let Some(Ok(found)) = app.connectors.get(id) else {
        return;
    };
    let kind = found.kind.as_str();
    if !MODELS.contains(&kind) {
        let message = format!("\"connector\": \"{id}\" is no model: its type is \"{kind}\"");
        let file = agent.package_file();
        loader.refuse(FileProblem::new(Severity::Error, &file, message));
    }
}

/// The problem of an agent that has an id of Ambit's own.
fn reserved(file: &str) -> FileProblem {
    let message = format!(
        "the id \"{CONVERSATIONS}\" is that of conversations without an agent; rename the folder"
    );
    FileProblem::new(Severity::Error, file, message)
}
