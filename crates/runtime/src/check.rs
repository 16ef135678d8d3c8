//! What `ambit check` tells: everything wrong with an app, its scripts included.

use crate::app::{App, AppAgent, FileProblem, McpMapping, McpServerFile, ROLE, Severity};
use crate::ctx::surface;
use crate::error::{Error, ErrorCode, Result};
use crate::hook::{EVENTS, HOOKS};
use crate::model::ColumnCipher;
use crate::process::store::OpenStores;
use crate::process::{self, ProcessRegistry};
use ambit_script::{Engine, EngineSettings, LoadError, Program, SourceFolder};
use ambit_storage::driver::DriverOptions;
use ambit_storage::{Stores, suggestion};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The variable with the secret that columns are encrypted with.
const MODEL_KEY: &str = "AMBIT_MODEL_KEY";

/// Hooks of older versions of Yao.
const OLDER_HOOKS: [&str; 2] = ["Done", "Retry"];

/// Everything that is wrong with the app in this folder or has no effect there, its scripts included, in order of files.
pub fn check(root: &Path, environment: &BTreeMap<String, String>) -> Result<Vec<FileProblem>> {
    let engine = &engine()?;
    let app = match App::load(root, environment) {
        Ok(app) => Arc::new(app),
        Err(problems) => return Ok(problems),
    };
    let programs = AppPrograms::load(&app, engine, &folder(&app)?);
    let mut problems = app.problems.clone();
    problems.extend(programs.problems());
    problems.extend(servers(&app, engine));
    problems.extend(hooks(&app, &programs));
    problems.extend(listeners(&app, &programs));
    problems.extend(unasked_models(&app));
    problems.extend(models_without_connector(&app, &programs));
    problems.extend(models_without_key(&app, environment));
    problems.sort_by(|one, other| one.file.cmp(&other.file));
    problems.dedup();
    Ok(problems)
}

/// An engine that only reads scripts.
pub(crate) fn engine() -> Result<Engine> {
    let settings = EngineSettings {
        threads: 1,
        warm: 0,
        ..EngineSettings::default()
    };
    Engine::new(&settings, surface()).map_err(|error| Error::internal(error.to_string()))
}

/// The processes of an app, to look up their names: nothing is opened.
pub(crate) fn catalogue(app: &Arc<App>, engine: &Engine) -> Result<ProcessRegistry> {
    let stores = Arc::new(Stores::builder(DriverOptions::default()).build()?);
    let stores = Arc::new(OpenStores::new(stores));
    Ok(ProcessRegistry::load(app, engine, &folder(app)?, stores))
}

fn folder(app: &App) -> Result<SourceFolder> {
    SourceFolder::new(&app.root).map_err(|error| {
        let message = format!("the app's folder cannot be read: {error}");
        Error::new(ErrorCode::ConfigError, message)
    })
}

/// The files of an app's scripts, and their programs or why they cannot be used.
pub struct AppPrograms(Vec<(String, Result<Arc<Program>, LoadError>)>);

impl AppPrograms {
    /// Loads all of them, which also means that they need not be compiled again.
    pub fn load(app: &App, engine: &Engine, folder: &SourceFolder) -> Self {
        let entries = app.entries().into_iter();
        let loaded = entries.map(|source| {
            let program = engine.load(folder, &source);
            (source.file, program)
        });
        Self(loaded.collect())
    }

    /// What is wrong with those that cannot be used.
    pub fn problems(&self) -> impl Iterator<Item = FileProblem> {
        let programs = self.0.iter();
        programs.filter_map(|(file, program)| Some(script(file, program.as_ref().err()?)))
    }

    /// A file that an agent may have, and its program. `None` also where it cannot be used, which is told as of any script.
    fn of(&self, file: Option<&String>) -> Option<(&str, &Program)> {
        let file = file?;
        let (file, program) = self.0.iter().find(|(it, _)| it == file)?;
        Some((file.as_str(), program.as_deref().ok()?))
    }
}

/// Processes that tool servers name and that are not there.
fn servers(app: &Arc<App>, engine: &Engine) -> Vec<FileProblem> {
    let catalogue = match catalogue(app, engine) {
        Ok(catalogue) => catalogue,
        Err(error) => {
            return vec![FileProblem::new(Severity::Error, "app.yao", error.message)];
        }
    };
    let servers = app.servers.values().flatten();
    let named = servers.flat_map(|server| named(server).map(move |named| (server, named)));
    let told = named.filter_map(|(server, (kind, name, process))| {
        let unknown = process::check_known(&catalogue, process).err()?;
        let message = format!("\"{kind}.{name}\": {}", unknown.message);
        Some(FileProblem::new(Severity::Warning, &server.file, message))
    });
    told.collect()
}

/// What a server calls: the kind and name of what is offered, and the process. A prompt that has its text calls nothing.
fn named(server: &McpServerFile) -> impl Iterator<Item = (&'static str, &str, &str)> {
    let McpMapping {
        tools,
        resources,
        prompts,
    } = &server.mapping;
    let tools = tools.iter();
    let tools = tools.map(|it| ("tools", it.tool.name.as_str(), it.process.as_str()));
    let resources = resources.iter();
    let resources = resources.map(|it| ("resources", it.name.as_str(), it.process.as_str()));
    let called = prompts
        .iter()
        .filter(|it| it.file.messages.is_empty() && it.file.template.is_none());
    let prompts = called.map(|it| ("prompts", it.name.as_str(), it.process.as_str()));
    tools.chain(resources).chain(prompts)
}

/// Scripts of agents that have no hook, and hooks whose names are misspelt: nothing would ever call them.
pub fn hooks(app: &App, programs: &AppPrograms) -> Vec<FileProblem> {
    let mut problems = Vec::new();
    for agent in app.agents.values().flatten() {
        let Some((file, program)) = programs.of(agent.hooks.as_ref()) else {
            continue;
        };
        problems.extend(older_hooks(file, program));
        let missing: Vec<&str> = HOOKS
            .into_iter()
            .filter(|hook| !program.has(hook))
            .collect();
        let is_alone = missing.len() == HOOKS.len();
        let is_meant = |name: &&str| missing.iter().any(|hook| suggestion::is_slip(name, hook));
        let uncalled = program.exported().filter(|name| is_alone || is_meant(name));
        let uncalled: Vec<String> = uncalled.take(5).map(|name| format!("\"{name}\"")).collect();
        let what = match uncalled.as_slice() {
            [] if is_alone => "the file exports no hook".to_owned(),
            [] => continue,
            names => format!("nothing calls {}", names.join(", ")),
        };
        let message = format!("{what}; hooks are \"Create\" and \"Next\"");
        problems.push(FileProblem::new(Severity::Warning, file, message));
    }
    problems
}

/// Hooks that Yao had before `Create` and `Next` were all: they got what they work with as `this`.
fn older_hooks(file: &str, program: &Program) -> Option<FileProblem> {
    let older = program.names().filter(|name| OLDER_HOOKS.contains(name));
    let older: Vec<String> = older.map(|name| format!("\"{name}\"")).collect();
    let message = format!(
        "nothing calls {}, which are hooks of an older Yao; hooks are \"Create\" and \"Next\", and get `ctx` as their first argument",
        older.join(", ")
    );
    (!older.is_empty()).then(|| FileProblem::new(Severity::Notice, file, message))
}

/// What listeners of agents export that is no event: nothing would ever call it.
fn listeners(app: &App, programs: &AppPrograms) -> Vec<FileProblem> {
    let mut problems = Vec::new();
    for agent in app.agents.values().flatten() {
        let Some((file, program)) = programs.of(agent.listeners.as_ref()) else {
            continue;
        };
        let events = || EVENTS.iter().map(|row| row.name);
        let unknown = program
            .exported()
            .filter(|name| !events().any(|it| it == *name));
        problems.extend(unknown.map(|name| {
            let hint = suggestion::hint(name, events());
            let message = format!("\"{name}\" is no event{hint}");
            FileProblem::new(Severity::Error, file, message)
        }));
    }
    problems
}

/// Connectors that nothing leads to: an agent without prompts and tools leaves its model out, and without a script it says nothing.
fn unasked_models(app: &App) -> impl Iterator<Item = FileProblem> {
    let silent = app.agents.values().flatten().filter(|agent| {
        !agent.package.connector.is_empty() && !has_prompts_or_tools(agent) && agent.hooks.is_none()
    });
    silent.map(|agent| {
        let file = agent.package_file();
        let message =
            "\"connector\": the model is not asked, and nothing is answered: the agent has neither prompts nor tool servers nor hooks; \
             add prompts.yml beside this file, for instance `- { role: system, content: Be helpful. }`";
        FileProblem::new(Severity::Warning, &file, message)
    })
}

/// Agents whose model is that of a role which no connector has. Clients or `Create` may choose another where they can.
fn models_without_connector(app: &App, programs: &AppPrograms) -> Vec<FileProblem> {
    let has_no_create = |agent: &AppAgent| {
        let hooks = programs.of(agent.hooks.as_ref());
        agent.hooks.is_none() || hooks.is_some_and(|(_, program)| !program.has("Create"))
    };
    let agents = app.agents.values().flatten();
    let told = agents.filter_map(|agent| {
        let package = &agent.package;
        let is_of_role = package.connector.is_empty() || package.connector.starts_with(ROLE);
        let is_fixed = has_prompts_or_tools(agent) && !package.connector_options.optional;
        if !is_of_role || !is_fixed {
            return None;
        }
        let error = app.connector(&package.connector).err()?;
        let message = format!(
            "each call of its model fails: {}, or name another \"connector\" here",
            error.message
        );
        has_no_create(agent)
            .then(|| FileProblem::new(Severity::Warning, &agent.package_file(), message))
    });
    told.collect()
}

/// Whether there is something for a model to be asked with.
fn has_prompts_or_tools(agent: &AppAgent) -> bool {
    let package = &agent.package;
    let has_prompts = !agent.prompts.is_empty() || !agent.presets.is_empty();
    has_prompts || !package.mcp.servers.is_empty() || !package.options.tools.is_empty()
}

/// Models with encrypted columns, where no key is set, or one that cannot be used.
fn models_without_key(app: &App, environment: &BTreeMap<String, String>) -> Vec<FileProblem> {
    let key = environment.get(MODEL_KEY).filter(|key| !key.is_empty());
    let (severity, reason) = match key.map(|key| ColumnCipher::new(key)) {
        None => (
            Severity::Warning,
            format!("which needs a key: set {MODEL_KEY}"),
        ),
        Some(Err(error)) => (Severity::Error, format!("and {error}")),
        Some(Ok(_)) => return Vec::new(),
    };
    let models = app.models.values().flatten();
    let encrypted = models.filter_map(|model| {
        let mut columns = model.columns.iter();
        let column = columns.find(|column| column.is_sealed())?;
        let name = &column.name;
        let message = format!("column \"{name}\" is encrypted, {reason}");
        Some(FileProblem::new(severity, &model.file, message))
    });
    encrypted.collect()
}

/// Why a script cannot be used.
pub fn script(file: &str, error: &LoadError) -> FileProblem {
    let at = error.at.as_ref();
    FileProblem {
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        ..FileProblem::new(
            Severity::Error,
            at.map_or(file, |at| &at.file),
            &error.message,
        )
    }
}
