//! `package.yao`: one agent, from its folder.

mod keys;

pub use keys::*;

use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::prompts::read::{self, PromptSource};
use super::read::ConfigNode;
use super::references;
use super::variables::EnvVariables;
use super::{AppAgent, Visibility, locales, scripts};
use crate::error::{Error, ErrorCode, Result};
use crate::net::AllowList;
use crate::tool::ServerSelection;

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
    let read = loader.read::<PackageFile>(file);
    let own = read::folder_prompts(loader, folder);
    let presets = read::presets(loader, folder);
    let (mut locales, broken) = locales::read(loader, &format!("{folder}/locales"));
    let places = scripts::special_files(loader, folder);
    let (mut package, node) = read?;
    loader.written.keep(file, &node);
    check_connectors(loader, &node, file);
    if let Some(search) = node.get("search") {
        references::web_provider(loader, file, "search.web.provider", search);
        references::searched(loader, file, "search.", search);
    }
    references::searched(loader, file, "", &node);
    references::uses(loader, file, &node);
    let servers = check_servers(loader, &node, file);
    let inline = std::mem::take(&mut package.prompts);
    let own = own.unwrap_or_else(|| {
        let nothing = ConfigNode::nothing();
        let written = node.get("prompts").unwrap_or(&nothing);
        let place = PromptSource {
            file,
            folder,
            written,
        };
        read::with_assets(loader, inline, &place)
    });
    if let Some(problem) = broken {
        return Err(problem);
    }
    servers?;
    locales.merge(std::mem::take(&mut package.locales));
    let mut agent = AppAgent {
        id: id.to_owned(),
        folder: folder.to_owned(),
        package,
        prompts: own?,
        presets: presets?,
        locales,
        ..AppAgent::default()
    };
    [agent.hooks, agent.overrides, agent.listeners] = places?;
    Ok(agent)
}

/// Tells of connectors that are not there: the agent's own, and those that a client may choose from.
fn check_connectors(loader: &mut AppLoader, node: &ConfigNode, file: &str) {
    if let Some(named) = node.get("connector") {
        references::own_connector(loader, file, named);
    }
    let options = node.get("connector_options");
    let chosen = options.and_then(|options| options.get("connectors"));
    for (at, named) in chosen.iter().flat_map(|list| list.items()).enumerate() {
        let key = format!("connector_options.connectors[{at}]");
        references::connector(loader, file, &key, named);
    }
}

/// Warns of tool servers that are not there. One that a variable names may be there elsewhere, and another agent's by its full id.
/// An entry that names none or several is an error.
fn check_servers(loader: &mut AppLoader, node: &ConfigNode, file: &str) -> Result<(), FileProblem> {
    let servers = node.get("mcp").and_then(|mcp| mcp.get("servers"));
    let known = references::known_servers(loader, file);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let named = servers.into_iter().flat_map(ConfigNode::items);
    let mut judged = Ok(());
    for (at, named) in named.enumerate() {
        let entry = named.value();
        if let Err(rule) = ServerSelection::check_entry(&entry) {
            let message = format!("\"mcp.servers[{at}]\": {rule}");
            let problem = FileProblem::at(Severity::Error, file, named.at, message);
            judged = judged.and(Err(loader.refuse(problem)));
            continue;
        }
        let wanted = ServerSelection::of_entry(&entry);
        let id = wanted.id();
        if id.starts_with("agents.") || EnvVariables::named(id).is_some() {
            continue;
        }
        if let Some(what) = references::missing(id, &known) {
            let message = format!("\"mcp.servers\": the app has no tool server {what}");
            references::warn(loader, file, named, message);
        }
    }
    judged
}

impl PackageFile {
    /// Who may see the agent, where it is said.
    pub fn seen_by(&self) -> Option<Visibility> {
        match (self.public, self.share) {
            (Some(true), _) => Some(Visibility::Public),
            (_, Some(AgentShare::Team)) => Some(Visibility::Team),
            (Some(false), _) | (_, Some(AgentShare::Private)) => Some(Visibility::Private),
            (None, None) => None,
        }
    }
}

impl AppAgent {
    /// The hosts that its scripts are narrowed to, if they are.
    pub fn allowed_hosts(&self) -> Result<Option<AllowList>> {
        let hosts = self.package.runtime.http.as_deref();
        let list = hosts.map(|hosts| AllowList::parse("runtime.http", hosts));
        list.transpose()
            .map_err(|error| Error::new(ErrorCode::ConfigError, error.message))
    }

    /// Its `package.yao`, below the app's folder.
    pub fn package_file(&self) -> String {
        format!("{}/package.yao", self.folder)
    }

    /// Whether it works for other agents alone.
    pub fn is_worker(&self) -> bool {
        self.package.kind == AgentKind::Worker
    }
}
