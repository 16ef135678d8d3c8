//! What files name of other files: what is not there is told.

use super::StepUses;
use super::defaults::AGENTS_FILE;
use super::files;
use super::loader::AppLoader;
use super::package;
use super::problem::{FileProblem, Severity};
use super::read::{ConfigNode, ConfigValue};
use super::variables::EnvVariables;
use crate::config::ConfigObject;
use crate::model::system;
use crate::web_search;
use ambit_storage::suggestion;

/// Warns of a connector that the app does not have. One that a role or a variable names may be there elsewhere.
pub fn connector(loader: &mut AppLoader, file: &str, key: &str, named: &ConfigNode) {
    if let Some(message) = connector_fault(loader, key, named) {
        warn(loader, file, named, message);
    }
}

/// Tells of an agent's own connector that the app does not have: an error, as every turn would end with it. The agent is loaded all
/// the same, as its hooks may choose another.
pub fn own_connector(loader: &mut AppLoader, file: &str, named: &ConfigNode) {
    if let Some(message) = connector_fault(loader, "connector", named) {
        loader.refuse(FileProblem::at(Severity::Error, file, named.at, message));
    }
}

fn connector_fault(loader: &AppLoader, key: &str, named: &ConfigNode) -> Option<String> {
    let ConfigValue::Text(name) = &named.content else {
        return None;
    };
    if name.is_empty() || name.starts_with("use::") || EnvVariables::named(name).is_some() {
        return None;
    }
    let known = loader.within("connectors", ".conn.yao");
    let known: Vec<&str> = known.iter().map(|(id, _)| id.as_str()).collect();
    let what = missing(name, &known)?;
    Some(format!("\"{key}\": the app has no connector {what}"))
}

/// Warns of a provider that does not search the web; `search` are search settings.
pub fn web_provider(loader: &mut AppLoader, file: &str, key: &str, search: &ConfigNode) {
    let web = search.get("web");
    let Some(named) = web.and_then(|web| web.get("provider")) else {
        return;
    };
    let ConfigValue::Text(name) = &named.content else {
        return;
    };
    if name.is_empty() || EnvVariables::named(name).is_some() {
        return;
    }
    if let Some(hint) = web_search::unknown_provider(name) {
        let message = format!("\"{key}\": no provider \"{name}\" searches the web{hint}");
        warn(loader, file, named, message);
    }
}

/// Tells of collections and warns of models that no file of the app describes; `search` are search settings, or a package with its
/// lists beside them.
pub fn searched(loader: &mut AppLoader, file: &str, key: &str, search: &ConfigNode) {
    let collections = loader.within("kb", ".kb.yao");
    let collections = collections.into_iter().map(|(id, _)| id);
    let sources = [
        ("kb", "collections", collections.collect()),
        ("db", "models", known_models(loader, file)),
    ];
    for (part, list, known) in sources {
        let known: Vec<String> = known;
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let named = search.get(part).map_or(&[][..], |part| part.list(list));
        for (at, named) in named.iter().enumerate() {
            let ConfigValue::Text(name) = &named.content else {
                continue;
            };
            let is_variable = EnvVariables::named(name).is_some();
            let Some(missing) = missing(name, &known).filter(|_| !is_variable) else {
                continue;
            };
            let (severity, what) = match part {
                // One that was made over HTTP is found too.
                "kb" => (Severity::Notice, "the app's files have no collection"),
                _ => (Severity::Warning, "the app has no model"),
            };
            let message = format!("\"{key}{part}.{list}[{at}]\": {what} {missing}");
            loader.refuse(FileProblem::at(severity, file, named.at, message));
        }
    }
}

/// The models of the app and of its agents by their ids, and those of the agent itself also by their short names.
fn known_models(loader: &AppLoader, file: &str) -> Vec<String> {
    let mut known: Vec<String> = system::all().into_iter().map(|model| model.id).collect();
    let ids = |folder: &str| {
        let models = loader.within(folder, ".mod.yao");
        models.into_iter().map(|(id, _)| id)
    };
    known.extend(ids("models"));
    known.extend(ids(&format!("{}/models", files::parent(file))));
    for (agent, folder) in package::folders(loader) {
        let own = ids(&format!("{folder}/models"));
        known.extend(own.map(|id| format!("agents.{agent}.{id}")));
    }
    known
}

/// The tool servers that a file can name by their short names: those of the app, and its agent's own. The defaults of all agents can
/// name those of each.
pub fn known_servers(loader: &AppLoader, file: &str) -> Vec<String> {
    let agents = package::folders(loader).into_iter();
    let own = agents.filter(|(_, folder)| file == AGENTS_FILE || folder == files::parent(file));
    let own = own.map(|(_, folder)| format!("{folder}/mcps"));
    let folders = std::iter::once("mcps".to_owned()).chain(own);
    let known = folders.flat_map(|folder| loader.within(&folder, ".mcp.yao"));
    let known = known.map(|(id, _)| id);
    known.chain(loader.program_servers.clone()).collect()
}

/// Warns of agents and tool servers that the `uses` of a file names and the app does not have.
pub fn uses(loader: &mut AppLoader, file: &str, node: &ConfigNode) {
    let Some(ConfigValue::Object(entries)) = node.get("uses").map(|uses| &uses.content) else {
        return;
    };
    let mut steps = StepUses::keys();
    steps.extend(["default", "title", "extract"]);
    for (step, named) in entries {
        let ConfigValue::Text(value) = &named.content else {
            continue;
        };
        let step = step.text.as_str();
        if !steps.contains(&step) || EnvVariables::named(value).is_some() {
            continue;
        }
        if let Some(what) = uses_fault(loader, file, step, value.trim()) {
            warn(loader, file, named, format!("\"uses.{step}\": {what}"));
        }
    }
}

fn uses_fault(loader: &AppLoader, file: &str, step: &str, value: &str) -> Option<String> {
    let is_provider = step == "web" && web_search::unknown_provider(value).is_none();
    if is_provider || matches!(value, "" | "builtin" | "disabled") {
        return None;
    }
    if let Some(tool) = value.strip_prefix("mcp:") {
        let is_its = |id: &String| {
            let rest = tool.strip_prefix(id.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_known =
            tool.starts_with("agents.") || known_servers(loader, file).iter().any(is_its);
        return (!is_known).then(|| format!("the app has no tool server of \"{tool}\""));
    }
    let agents = package::folders(loader);
    let known: Vec<&str> = agents.iter().map(|(id, _)| id.as_str()).collect();
    let what = missing(value.strip_prefix("agent:").unwrap_or(value), &known)?;
    Some(format!("the app has no agent {what}"))
}

/// A name that is not among these, with the nearest one.
pub fn missing(name: &str, known: &[&str]) -> Option<String> {
    let is_missing = !known.contains(&name);
    is_missing.then(|| {
        format!(
            "\"{name}\"{}",
            suggestion::hint(name, known.iter().copied())
        )
    })
}

/// Warns of something at a place.
pub fn warn(loader: &mut AppLoader, file: &str, node: &ConfigNode, message: String) {
    loader.refuse(FileProblem::at(Severity::Warning, file, node.at, message));
}
