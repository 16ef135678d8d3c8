//! `mcps/**.mcp.yao`: tool servers by id, of the app and of its agents.

use super::McpServerFile;
use super::loader::AppLoader;
use super::mcp_mapping::{self, McpMapping};
use super::problem::{FileProblem, ProblemReport};
use super::read::{ConfigNode, FieldMap, FieldSpec, ValueKind};
use crate::mcp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use url::Url;

const NAMED: ValueKind = ValueKind::Map(&ValueKind::Text);
const KIND: ValueKind = ValueKind::OneOf(&["process", "stdio", "http", "sse"]);

const TABLE: ValueKind = ValueKind::Object(&[
    FieldSpec::new("id", ValueKind::Text),
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::new("label", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new("tags", ValueKind::TEXTS),
    FieldSpec::new("version", ValueKind::Text),
    FieldSpec::new("transport", KIND),
    FieldSpec::new("type", KIND),
    FieldSpec::new("capabilities", ValueKind::Any),
    FieldSpec::new("timeout", ValueKind::Duration),
    FieldSpec::new("enabled", ValueKind::Boolean),
    FieldSpec::new("tools", NAMED),
    FieldSpec::new("resources", NAMED),
    FieldSpec::new("prompts", NAMED),
    FieldSpec::new("command", ValueKind::Text),
    FieldSpec::new("arguments", ValueKind::TEXTS),
    FieldSpec::new("env", NAMED),
    FieldSpec::new("url", ValueKind::Text),
    FieldSpec::new("authorization_token", ValueKind::Text),
    FieldSpec::new("headers", NAMED),
    FieldSpec::unused("enable_sampling", " in Ambit"),
    FieldSpec::unused("enable_roots", " in Ambit"),
    FieldSpec::unused("endpoint", " in Ambit"),
    FieldSpec::unused(
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
    loader: &mut AppLoader,
    agents: &[(String, String)],
) -> BTreeMap<String, Result<Arc<McpServerFile>, FileProblem>> {
    let mut servers = of(loader, "mcps", "");
    for (id, folder) in agents {
        let prefix = format!("agents.{id}.");
        servers.append(&mut of(loader, &format!("{folder}/mcps"), &prefix));
    }
    servers
}

fn of(
    loader: &mut AppLoader,
    folder: &str,
    prefix: &str,
) -> BTreeMap<String, Result<Arc<McpServerFile>, FileProblem>> {
    let files = loader.items(folder, &[".mcp.yao"]);
    let servers = files.into_iter().map(|(name, file)| {
        let id = format!("{prefix}{name}");
        let mapping = format!("{folder}/mapping/{}", name.replace('.', "/"));
        let server = file.and_then(|file| one(loader, (&id, file), &mapping));
        (id, server.map(Arc::new))
    });
    servers.collect()
}

fn one(
    loader: &mut AppLoader,
    (id, file): (&str, String),
    mapping: &str,
) -> Result<McpServerFile, FileProblem> {
    let (value, node) = loader.value(&file, &TABLE)?;
    let fields = match value {
        Value::Object(fields) => FieldMap(fields),
        _ => FieldMap::default(),
    };
    let mut report = ProblemReport::new(&file);
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
        _ => McpMapping::default(),
    };
    Ok(McpServerFile {
        id: id.to_owned(),
        file,
        transport,
        fields: fields.0,
        mapping,
    })
}

fn judge(fields: &FieldMap, transport: &str, node: &ConfigNode, report: &mut ProblemReport) {
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
