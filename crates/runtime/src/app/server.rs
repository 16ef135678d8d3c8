//! `mcps/**.mcp.yao`: tool servers by id, of the app and of its agents.

use super::Server;
use super::loader::Loader;
use super::mcp_mapping::{self, Mapping};
use super::problem::{Problem, Report};
use super::read::{Field, Fields, Kind, Node};
use crate::mcp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use url::Url;

const NAMED: Kind = Kind::Map(&Kind::Text);
const KIND: Kind = Kind::OneOf(&["process", "stdio", "http", "sse"]);

const TABLE: Kind = Kind::Object(&[
    Field::new("id", Kind::Text),
    Field::new("name", Kind::Text),
    Field::new("label", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new("tags", Kind::TEXTS),
    Field::new("version", Kind::Text),
    Field::new("transport", KIND),
    Field::new("type", KIND),
    Field::new("capabilities", Kind::Any),
    Field::new("timeout", Kind::Duration),
    Field::new("enabled", Kind::Boolean),
    Field::new("tools", NAMED),
    Field::new("resources", NAMED),
    Field::new("prompts", NAMED),
    Field::new("command", Kind::Text),
    Field::new("arguments", Kind::TEXTS),
    Field::new("env", NAMED),
    Field::new("url", Kind::Text),
    Field::new("authorization_token", Kind::Text),
    Field::new("headers", NAMED),
    Field::unused("enable_sampling", " in Ambit"),
    Field::unused("enable_roots", " in Ambit"),
    Field::unused("endpoint", " in Ambit"),
    Field::unused(
        "mapping",
        ": the mapping folder is found by the server's id",
    ),
]);

/// What each transport cannot do without.
const NEEDED: &[(&str, &str)] = &[("stdio", "command"), ("http", "url"), ("sse", "url")];

/// Fields in which variables of the caller are replaced.
const PERSONAL: &[&str] = &["env", "headers", "authorization_token"];

/// Fields that are the same for all callers.
const COMMON: &[&str] = &["url", "command", "arguments"];

/// Reads the servers of the app and of the agents in these folders.
pub fn load(
    loader: &mut Loader,
    agents: &[(String, String)],
) -> BTreeMap<String, Result<Arc<Server>, Problem>> {
    let mut servers = of(loader, "mcps", "");
    for (id, folder) in agents {
        let prefix = format!("agents.{id}.");
        servers.append(&mut of(loader, &format!("{folder}/mcps"), &prefix));
    }
    servers
}

fn of(
    loader: &mut Loader,
    folder: &str,
    prefix: &str,
) -> BTreeMap<String, Result<Arc<Server>, Problem>> {
    let files = loader.items(folder, &[".mcp.yao"]);
    let servers = files.into_iter().map(|(name, file)| {
        let id = format!("{prefix}{name}");
        let mapping = format!("{folder}/mapping/{}", name.replace('.', "/"));
        let server = file.and_then(|file| one(loader, (&id, file), &mapping));
        (id, server.map(Arc::new))
    });
    servers.collect()
}

fn one(loader: &mut Loader, (id, file): (&str, String), mapping: &str) -> Result<Server, Problem> {
    let (value, node) = loader.value(&file, &TABLE)?;
    let fields = match value {
        Value::Object(fields) => Fields(fields),
        _ => Fields::default(),
    };
    let mut report = Report::new(&file);
    let transport = fields.optional("transport").or(fields.optional("type"));
    let transport = transport.unwrap_or_default();
    judge(&fields, &transport, &node, &mut report);
    let failure = report.first().cloned();
    loader.problems.append(&mut report.problems);
    if let Some(problem) = failure {
        return Err(problem);
    }
    let mapping = match transport.as_str() {
        "process" => mcp_mapping::load(loader, mapping, &fields)?,
        _ => Mapping::default(),
    };
    Ok(Server {
        id: id.to_owned(),
        file,
        transport,
        fields: fields.0,
        mapping,
    })
}

fn judge(fields: &Fields, transport: &str, node: &Node, report: &mut Report) {
    if transport.is_empty() {
        let message = "\"transport\" is missing: \"process\", \"stdio\", \"http\" or \"sse\"";
        report.error(node.at, message);
    }
    let needed = NEEDED.iter().find(|(name, _)| *name == transport);
    if let Some((_, key)) = needed.filter(|(_, key)| fields.text(key).is_empty()) {
        let at = node.get(key).map_or(node.at, |node| node.at);
        report.error(at, format!("a server over {transport} needs \"{key}\""));
    }
    if let Some(url) = node.get("url").filter(|_| !fields.text("url").is_empty()) {
        let parsed = Url::parse(&fields.text("url")).ok();
        let is_address = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
        if !parsed.as_ref().is_some_and(is_address) {
            let message = "\"url\" is no address such as https://host/mcp";
            report.error(url.at, message);
        }
    }
    for key in COMMON {
        let Some(node) = node.get(key) else { continue };
        if texts(fields.0.get(*key))
            .iter()
            .any(|text| text.contains("$CTX."))
        {
            let places = PERSONAL.join(", ");
            let message = format!(
                "\"{key}\" is the same for all callers: $CTX variables are replaced in {places} alone"
            );
            report.error(node.at, message);
        }
    }
    for key in PERSONAL {
        let Some(node) = node.get(key) else { continue };
        for text in texts(fields.0.get(*key)) {
            if let Err(message) = mcp::check_variables(text) {
                report.error(node.at, format!("\"{key}\": {message}"));
            }
        }
    }
}

/// The texts of a field: itself, its items, or the values of its keys.
fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::Object(fields)) => fields.values().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
