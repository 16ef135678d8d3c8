//! Finding the parts of an app, for whoever needs them.

use super::problem::{FileProblem, ItemsById};
use super::{App, AppAgent, AppStore, Connector, McpServerFile, Visibility};
use crate::access::{Authorized, DataAccess, ResourceOwnership};
use crate::error::{Error, ErrorCode, Result};
use crate::llm::connector::{MODELS, STORES};
use ambit_script::ProgramSource;
use ambit_storage::suggestion;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a connector is named by what it is for.
pub(crate) const ROLE: &str = "use::";

/// The role of agents that name no connector.
const DEFAULT: &str = "default";

/// A function of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFunction {
    /// Where it is.
    pub source: ProgramSource,
    /// Its name.
    pub function: String,
}

impl App {
    /// An agent. The name of the nearest one is for scripts and people who made the app: whoever may not know all agents must
    /// not see this message.
    pub fn agent(&self, id: &str) -> Result<Arc<AppAgent>> {
        find_item(&self.agents, "agent", id)
    }

    /// A tool server; inside an agent its own ones come first.
    pub fn server(&self, agent: &str, id: &str) -> Result<Arc<McpServerFile>> {
        let own = format!("agents.{agent}.{id}");
        match self.servers.contains_key(&own) {
            true => find_item(&self.servers, "MCP server", &own),
            false => find_item(&self.servers, "MCP server", id),
        }
    }

    /// A store.
    pub fn store(&self, id: &str) -> Result<Arc<AppStore>> {
        let Some(store) = self.stores.get(id) else {
            let hint = suggestion::aside(id, self.stores.keys().map(String::as_str));
            let message = format!("unknown store \"{id}\"{hint}");
            return Err(Error::new(ErrorCode::NotFound, message));
        };
        store
            .clone()
            .map_err(|problem| problem.for_user("store", id))
    }

    /// A connector: an id, `use::<role>`, or nothing for the role `default`.
    pub fn connector(&self, name: &str) -> Result<Arc<Connector>> {
        let role = match name {
            "" => Some(DEFAULT),
            name => name.strip_prefix(ROLE),
        };
        let Some(role) = role else {
            return find_item(&self.connectors, "connector", name);
        };
        if let Some(problem) = &self.broken.defaults {
            return Err(problem.for_user("role", role));
        }
        let Some(id) = self.defaults.roles.get(role) else {
            let roles = self.defaults.roles.keys().map(String::as_str);
            let hint = suggestion::aside(role, roles);
            let message = format!(
                "no connector has the role \"{role}\": set system.{role} in agent/agent.yml{hint}"
            );
            return Err(Error::new(ErrorCode::ConfigError, message));
        };
        find_item(&self.connectors, "connector", id)
    }

    /// A connector that answers as a model does, found as [`App::connector`] finds it.
    pub fn model(&self, name: &str) -> Result<Arc<Connector>> {
        let connector = self.connector(name)?;
        self.of_kind(connector, MODELS, "is no model")
    }

    /// A model, found as [`App::model`] finds it, and those that stand in for it, in the order in which they are asked: each of
    /// its list, followed by that one's own.
    pub fn models(&self, name: &str) -> Result<(Arc<Connector>, Vec<Arc<Connector>>)> {
        let model = self.model(name)?;
        let mut others: Vec<Arc<Connector>> = Vec::new();
        let mut waiting = self.fallbacks(&model);
        while let Some(other) = waiting.pop() {
            if !others.iter().any(|known| known.id == other.id) {
                waiting.extend(self.fallbacks(&other));
                others.push(other);
            }
        }
        Ok((model, others))
    }

    /// What a connector's own list names, the last one first.
    fn fallbacks(&self, connector: &Connector) -> Vec<Arc<Connector>> {
        let named = connector.fallback.iter().rev();
        let usable = named.filter_map(|id| self.connectors.get(id)?.as_ref().ok());
        usable.cloned().collect()
    }

    /// A connector that keeps data.
    pub fn storage(&self, name: &str) -> Result<Arc<Connector>> {
        let connector = self.connector(name)?;
        self.of_kind(connector, STORES, "keeps no data")
    }

    fn of_kind(&self, found: Arc<Connector>, kinds: &[&str], not: &str) -> Result<Arc<Connector>> {
        if kinds.contains(&found.kind.as_str()) {
            return Ok(found);
        }
        let (id, kinds) = (&found.id, kinds.join(", "));
        let message = format!("connector \"{id}\" {not}: its type is not one of {kinds}");
        Err(Error::new(ErrorCode::ConfigError, message))
    }

    /// The function that a process name such as `scripts.tools.Add` means. Functions that start with `_` are private.
    pub fn process(&self, name: &str) -> Option<ProcessFunction> {
        let (file, function) = name.rsplit_once('.')?;
        let source = self.processes.get(file)?.clone();
        let is_public = !function.is_empty() && !function.starts_with('_');
        is_public.then(|| ProcessFunction {
            source,
            function: function.to_owned(),
        })
    }

    /// Every script that functions are called in: hooks, overrides and listeners of agents, then processes.
    pub fn entries(&self) -> Vec<ProgramSource> {
        let agents = self.agents.values().flatten();
        let own = agents.flat_map(|agent| {
            let files = [&agent.hooks, &agent.overrides, &agent.listeners];
            files.into_iter().flatten().map(|file| ProgramSource {
                file: file.clone(),
                folder: agent.folder.clone(),
            })
        });
        own.chain(self.processes.values().cloned()).collect()
    }

    /// The errors among the problems.
    pub fn errors(&self) -> impl Iterator<Item = &FileProblem> {
        self.problems.iter().filter(|problem| problem.is_error())
    }

    /// The variables that prompts may show.
    pub fn prompt_variables(&self) -> BTreeMap<String, String> {
        let names = self.settings.capabilities.prompt_env.iter();
        let values =
            names.filter_map(|name| Some((name.clone(), self.variables.get(name)?.to_owned())));
        values.collect()
    }

    /// Whether a caller may see an agent. One that does not say who may follows the app, and that the mode it runs in.
    pub fn visible(&self, agent: &AppAgent, who: &Authorized, is_development: bool) -> bool {
        let otherwise = match is_development {
            true => Visibility::Public,
            false => Visibility::Private,
        };
        let share = agent
            .package
            .seen_by()
            .or(self.settings.visibility.map(Visibility::from))
            .unwrap_or(otherwise);
        DataAccess::of(who).may_use(&ResourceOwnership {
            tenant: agent.package.tenant.as_deref(),
            owner: agent.package.owner.as_deref(),
            team: agent.package.team.as_deref(),
            is_public: share == Visibility::Public,
            is_shared: share == Visibility::Team,
        })
    }
}

fn find_item<T>(items: &ItemsById<Arc<T>>, what: &str, id: &str) -> Result<Arc<T>> {
    match items.get(id) {
        Some(Ok(item)) => Ok(item.clone()),
        Some(Err(problem)) => Err(problem.for_user(what, id)),
        None => {
            let mut error = Error::not_found(what, id);
            error.message += &suggestion::aside(id, items.keys().map(String::as_str));
            Err(error)
        }
    }
}
