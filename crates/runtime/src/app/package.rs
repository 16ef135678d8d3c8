//! `package.yao`: one agent, from its folder.

mod keys;

use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::prompts::read::{self as prompts, PromptSource};
use super::read::{ConfigNode, FieldMap, ValueKind};
use super::references;
use super::variables::EnvVariables;
use super::{AppAgent, ConnectorChoice, ContextOptions, McpSettings, Visibility, locales, scripts};
use crate::mcp;

/// Roles that a client may send besides `user`, where a package says nothing.
const CLIENT_ROLES: &[&str] = &["assistant", "tool"];

/// Folders of an agent in which no other agent is.
const INNER: &[&str] = &["assets", "locales", "mcps", "models", "prompts", "src"];

/// The agents' folders with their ids, in order.
pub fn folders(loader: &AppLoader) -> Vec<(String, String)> {
    let packages = loader.within("assistants", "/package.yao");
    let folders: Vec<(String, String)> = packages
        .into_iter()
        .map(|(id, file)| (id, super::files::parent(&file).to_owned()))
        .collect();
    let is_inner = |folder: &str| {
        folders.iter().any(|(_, outer)| {
            let below = folder.strip_prefix(outer.as_str());
            let below = below.and_then(|below| below.strip_prefix('/'));
            let first = below.and_then(|below| below.split('/').next());
            first.is_some_and(|first| INNER.contains(&first))
        })
    };
    let own = folders.iter().filter(|(_, folder)| !is_inner(folder));
    own.cloned().collect()
}

/// Reads one agent. All of its files are looked at, so that all that is wrong is known; the first thing disables it.
pub fn load(loader: &mut AppLoader, id: &str, file: &str) -> Result<AppAgent, FileProblem> {
    let folder = super::files::parent(file);
    let read = loader.value(file, &ValueKind::Object(keys::TABLE));
    let own = prompts::file(loader, folder);
    let presets = prompts::presets(loader, folder);
    let (mut locales, broken) = locales::read(loader, &format!("{folder}/locales"));
    let places = scripts::places(loader, folder);
    let (value, node) = read?;
    let fields = FieldMap(value.as_object().cloned().unwrap_or_default());
    check_connectors(loader, &node, file);
    let servers = check_servers(loader, &node, file);
    let own = own.unwrap_or_else(|| inline(loader, &fields, &node, file));
    if let Some(problem) = broken {
        return Err(problem);
    }
    servers?;
    locales.merge(&fields.object("locales").0);
    let mut agent = agent(&fields);
    agent.id = id.to_owned();
    agent.folder = folder.to_owned();
    agent.prompts = own?;
    agent.presets = presets?;
    agent.locales = locales;
    [agent.hooks, agent.overrides, agent.listeners] = places?;
    Ok(agent)
}

/// Warns of connectors that are not there: the agent's own, and those that a client may choose from.
fn check_connectors(loader: &mut AppLoader, node: &ConfigNode, file: &str) {
    if let Some(named) = node.get("connector") {
        references::connector(loader, file, ("connector", named));
    }
    let options = node.get("connector_options");
    let chosen = options.and_then(|options| options.get("connectors"));
    for (at, named) in chosen.iter().flat_map(|list| list.items()).enumerate() {
        let key = format!("connector_options.connectors[{at}]");
        references::connector(loader, file, (&key, named));
    }
}

/// Warns of tool servers that are not there. One that a variable names may be there elsewhere, and another agent's by its full id.
/// An entry that names none or several is an error.
fn check_servers(loader: &mut AppLoader, node: &ConfigNode, file: &str) -> Result<(), FileProblem> {
    let servers = node.get("mcp").and_then(|mcp| mcp.get("servers"));
    let own = format!("{}/mcps", super::files::parent(file));
    let mut known = loader.within("mcps", ".mcp.yao");
    known.extend(loader.within(&own, ".mcp.yao"));
    let known: Vec<&str> = known.iter().map(|(id, _)| id.as_str()).collect();
    let named = servers.into_iter().flat_map(ConfigNode::items);
    let mut judged = Ok(());
    for (at, named) in named.enumerate() {
        let entry = named.value();
        if let Err(rule) = mcp::check_entry(&entry) {
            let message = format!("\"mcp.servers[{at}]\": {rule}");
            let problem = loader.refuse(FileProblem {
                line: Some(named.at.line),
                column: Some(named.at.column),
                ..FileProblem::new(Severity::Error, file, message)
            });
            judged = judged.and(Err(problem));
            continue;
        }
        let id = mcp::named(&entry);
        if id.starts_with("agents.") || EnvVariables::named(&id).is_some() {
            continue;
        }
        if let Some(what) = references::missing(&id, &known) {
            let message = format!("\"mcp.servers\": the app has no tool server {what}");
            references::warn(loader, (file, named), message);
        }
    }
    judged
}

/// The prompts in the package itself.
fn inline(
    loader: &mut AppLoader,
    fields: &FieldMap,
    node: &ConfigNode,
    file: &str,
) -> Result<Vec<super::Prompt>, FileProblem> {
    let items = node
        .get("prompts")
        .map(ConfigNode::items)
        .unwrap_or_default();
    let contents = items.iter().map(|item| item.get("content").unwrap_or(item));
    let contents: Vec<&ConfigNode> = contents.collect();
    let folder = super::files::parent(file);
    let place = PromptSource {
        file,
        folder,
        contents: &contents,
    };
    prompts::from(loader, &fields.list("prompts").into(), &place)
}

fn agent(fields: &FieldMap) -> AppAgent {
    let mut options = fields.object("options");
    let history_size = options.count("history_size");
    options.0.remove("history_size");
    let client_tools = options.list("tools");
    options.0.remove("tools");
    let runtime = fields.object("runtime");
    let context = fields.object("context");
    let client = fields.object("client");
    let client_roles = match client.0.contains_key("roles") {
        true => client.texts("roles"),
        false => CLIENT_ROLES.iter().map(ToString::to_string).collect(),
    };
    AppAgent {
        name: fields.text("name"),
        description: fields.text("description"),
        avatar: fields.text("avatar"),
        is_worker: fields.text("type") == "worker",
        connector: fields.text("connector"),
        choice: choice(fields),
        options: options.0,
        client_tools,
        history_size,
        modes: fields.texts("modes"),
        default_mode: fields.text("default_mode"),
        share: share(fields),
        owner: fields.optional("__yao_created_by"),
        team: fields.optional("__yao_team_id"),
        tenant: fields.optional("__yao_tenant_id"),
        disable_global_prompts: fields.boolean("disable_global_prompts") == Some(true),
        mcp: mcp(fields),
        uses: fields.object("uses").0,
        force_uses: fields.boolean("force_uses"),
        search: fields.0.get("search").cloned(),
        kb: fields.0.get("kb").cloned(),
        db: fields.0.get("db").cloned(),
        limits: runtime.object("limits").0,
        http: runtime.0.contains_key("http").then(|| runtime.list("http")),
        context: ContextOptions {
            group: context.optional("group"),
            history: context.object("history").0,
            usage: context.object("usage").0,
            truncation: context.object("truncation").0,
        },
        client_roles,
        shown: fields.shown(keys::TABLE),
        ..AppAgent::default()
    }
}

fn choice(fields: &FieldMap) -> Option<ConnectorChoice> {
    let options = fields.object("connector_options");
    let is_optional = options.boolean("optional") == Some(true);
    is_optional.then(|| ConnectorChoice {
        connectors: options.texts("connectors"),
        filters: options.texts("filters"),
    })
}

fn share(fields: &FieldMap) -> Option<Visibility> {
    match (fields.boolean("public"), fields.text("share").as_str()) {
        (Some(true), _) => Some(Visibility::Public),
        (_, "team") => Some(Visibility::Team),
        (Some(false), _) | (_, "private") => Some(Visibility::Private),
        (None, _) => None,
    }
}

fn mcp(fields: &FieldMap) -> McpSettings {
    let options = fields.object("mcp").object("options");
    let default = McpSettings::default();
    McpSettings {
        servers: fields.object("mcp").list("servers"),
        tool_loop: options.boolean("tool_loop").unwrap_or(default.tool_loop),
        max_turn: options.count("max_turn").unwrap_or(default.max_turn),
        parallel: options.boolean("parallel").unwrap_or(default.parallel),
        is_error_fatal: options.text("tool_error") == "fail",
        timeout: options.milliseconds("timeout").unwrap_or(default.timeout),
        max_tools: options.count("max_tools").unwrap_or(default.max_tools),
        samples: options.count("samples").unwrap_or(default.samples),
    }
}
