//! What files name of other files: what is not there is told.

use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::read::{ConfigNode, ConfigValue};
use super::variables::EnvVariables;
use crate::web_search;
use ambit_storage::suggestion;

/// Warns of a connector that the app does not have. One that a role or a variable names may be there elsewhere.
pub fn connector(loader: &mut AppLoader, file: &str, key: &str, named: &ConfigNode) {
    let ConfigValue::Text(name) = &named.content else {
        return;
    };
    if name.is_empty() || name.starts_with("use::") || EnvVariables::named(name).is_some() {
        return;
    }
    let known = loader.within("connectors", ".conn.yao");
    let known: Vec<&str> = known.iter().map(|(id, _)| id.as_str()).collect();
    if let Some(what) = missing(name, &known) {
        let message = format!("\"{key}\": the app has no connector {what}");
        warn(loader, file, named, message);
    }
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
