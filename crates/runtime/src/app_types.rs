//! `types/app.d.ts`: declarations of an app's own models, processes, stores and tools. They fill the interfaces that
//! `types/index.d.ts` has empty, by TypeScript's merging of declarations.

mod model_types;
mod schema_type;

use crate::app::App;
use crate::check;
use crate::ctx::store_methods;
use crate::error::{Error, ErrorCode, Result};
use crate::model::database::AccessMode;
use crate::model::rows::METHODS;
use crate::process::ProcessRegistry;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const HEAD: &str = "\
// Written by `ambit types` of this app's files. Do not edit.

export {};

declare module \"./index\" {
";

/// What a process is of which no more is known than its name.
const ANYTHING: &str = "(...args: any[]) => any";

/// The declarations of the app in this folder. What of it is broken is left out.
pub fn app_declarations(root: &Path, environment: &BTreeMap<String, String>) -> Result<String> {
    let app = App::load(root, environment).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Error::new(ErrorCode::ConfigError, problems.join("\n"))
    })?;
    let app = Arc::new(app);
    let catalogue = check::catalogue(&app, &check::engine()?)?;
    let interfaces = [
        interface("AppModels", model_types::members(&app)),
        interface("AppProcesses", processes(&catalogue)),
        interface("AppStores", stores(&app)),
        interface("AppTools", tools(&app)),
    ];
    Ok(format!("{HEAD}{}}}\n", interfaces.join("\n")))
}

/// An interface with these members by name, in the module.
fn interface(name: &str, members: BTreeMap<String, String>) -> String {
    let members = members.into_iter();
    let members = members.map(|(name, declared)| format!("    {}: {declared};\n", quoted(&name)));
    format!(
        "  interface {name} {{\n{}  }}\n",
        members.collect::<String>()
    )
}

/// A text as TypeScript has it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The processes that scripts may call.
fn processes(catalogue: &ProcessRegistry) -> BTreeMap<String, String> {
    let app = &catalogue.app;
    let mut all: BTreeMap<String, String> = model_processes(app);
    for id in app.stores.keys() {
        let methods = store_methods().map(|method| method.name());
        all.extend(methods.map(|method| {
            let name = format!("stores.{id}.{method}");
            (name, format!("Store[{}]", quoted(method)))
        }));
    }
    let functions = ["scripts.", "agents."]
        .into_iter()
        .flat_map(|prefix| catalogue.functions(prefix));
    all.extend(functions.map(|name| {
        let declared = function_type(catalogue, &name);
        (name, declared.unwrap_or_else(|| ANYTHING.to_owned()))
    }));
    all.retain(|name, _| catalogue.permits(name));
    all
}

fn model_processes(app: &App) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for model in app.models.values().flatten() {
        let (id, is_system) = (&model.id, model.options.is_system);
        let methods = METHODS.iter();
        let methods = methods.filter(|method| !is_system || method.access == AccessMode::Read);
        all.extend(methods.map(|method| {
            let (model, name) = (quoted(id), quoted(method.name));
            let declared = format!("ModelMethods<AppModels[{model}]>[{name}]");
            (format!("models.{id}.{}", method.name), declared)
        }));
    }
    all
}

/// What TypeScript makes of a function that its file exports.
fn function_type(catalogue: &ProcessRegistry, name: &str) -> Option<String> {
    let (script, function) = name.rsplit_once('.')?;
    let file = &catalogue.app.processes.get(script)?.file;
    let module = quoted(&format!("../{}", file.strip_suffix(".ts")?));
    let is_exported = catalogue.exports(script, function);
    is_exported.then(|| format!("typeof import({module}).{function}"))
}

fn stores(app: &App) -> BTreeMap<String, String> {
    let ids = app.stores.keys();
    ids.map(|id| (id.clone(), "Store".to_owned())).collect()
}

/// The tools of servers whose id means the same in all agents.
fn tools(app: &App) -> BTreeMap<String, String> {
    let is_own = |id: &str| {
        let mut agents = app.agents.keys();
        agents.any(|agent| app.servers.contains_key(&format!("agents.{agent}.{id}")))
    };
    let servers = app.servers.values().flatten();
    let servers = servers.filter(|server| !server.mapping.tools.is_empty() && !is_own(&server.id));
    let servers = servers.map(|server| {
        let tools = server.mapping.tools.iter().map(|mapped| {
            let arguments = schema_type::of(&mapped.tool.input_schema);
            format!("      {}: {arguments};\n", quoted(&mapped.tool.name))
        });
        let declared = format!("{{\n{}    }}", tools.collect::<String>());
        (server.id.clone(), declared)
    });
    servers.collect()
}
