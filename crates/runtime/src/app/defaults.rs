//! `agent/`: what counts for all agents where they say nothing themselves.

use super::loader::AppLoader;
use super::problem::FileProblem;
use super::read::{ConfigNode, ConfigValue};
use super::references;
use super::search::SearchSettings;
use super::{App, locales, prompts};
use crate::config;
use crate::config::Overrides;
use std::collections::BTreeMap;
use std::time::Duration;

/// What counts for all agents.
pub const AGENTS_FILE: &str = "agent/agent.yml";
/// How is searched for all of them.
pub const SEARCH_FILE: &str = "agent/search.yml";

config! {
    /// `agent/agent.yml`: what counts for all agents where they say nothing themselves.
    pub struct AgentDefaults {
        /// Who does the steps beside the model, and the agents that stand in.
        uses: BTreeMap<String, String> as DefaultUses::KIND,
        /// Whether they do them even where the model can.
        force_uses: Option<bool>,
        /// The connector of each role: `default`, `light`, `vision` …; `use::light` names one.
        #[key = "system"]
        roles: BTreeMap<String, String>,
        /// The history of conversations.
        store: HistorySettings,
        unused { cache: " in Ambit", guard: " in Ambit", robot: " in Ambit" }
    }

    /// The history of conversations.
    pub struct HistorySettings {
        /// How many messages a model sees; 20 where nothing makes long conversations shorter.
        max_size: Option<usize>,
        /// Conversations are removed that nobody uses for so long.
        expiration: Option<Duration>,
    }

    /// Who does the steps beside the model, and the agents that stand in.
    pub struct DefaultUses {
        /// The agent of requests that name none.
        default: String,
        /// The agent that writes the titles of chats.
        title: String,
        /// Reads documents of collections that are no plain text: an agent or `mcp:<server>.<tool>`.
        extract: String,
        include { steps: StepUses }
        unused { prompt: " in Ambit" }
    }

    /// Who does the steps beside the model: an agent, `mcp:<server>.<tool>`, `builtin` or `disabled`.
    pub struct StepUses {
        /// Puts pictures in words.
        vision: String,
        /// Puts sounds in words.
        audio: String,
        /// Decides what is searched.
        search: String,
        /// Gets what an address points to.
        fetch: String,
        /// Searches the web.
        web: String,
        /// Finds the words to search for.
        keyword: String,
        /// Makes queries of the app's tables.
        querydsl: String,
        /// Puts what was found in order.
        rerank: String,
    }
}

/// Reads the folder. A broken file there is a problem of every agent that needs it.
pub fn load(loader: &mut AppLoader, app: &mut App) {
    let file = AGENTS_FILE;
    if loader.has(file) {
        match loader.read(file) {
            Ok((defaults, node)) => {
                check_roles(loader, file, &node);
                loader.written.keep(file, &node);
                references::uses(loader, file, &node);
                app.defaults = defaults;
                app.defaults
                    .roles
                    .retain(|_, connector| !connector.is_empty());
            }
            Err(problem) => app.broken.defaults = Some(problem),
        }
    }
    match load_search(loader) {
        Ok(search) => app.search = search,
        Err(problem) => app.broken.defaults = app.broken.defaults.take().or(Some(problem)),
    }
    match prompts::read::folder_prompts(loader, "agent") {
        Some(Ok(prompts)) => app.prompts = prompts,
        Some(Err(problem)) => app.broken.prompts = Some(problem),
        None => {}
    }
    (app.locales, _) = locales::read(loader, "agent/locales");
}

/// Warns of roles whose connector is not there.
fn check_roles(loader: &mut AppLoader, file: &str, node: &ConfigNode) {
    let Some(ConfigValue::Object(roles)) = node.get("system").map(|node| &node.content) else {
        return;
    };
    for (role, connector) in roles {
        let key = format!("system.{}", role.text);
        references::connector(loader, file, &key, connector);
    }
}

/// The search settings of all agents.
fn load_search(loader: &mut AppLoader) -> Result<Overrides<SearchSettings>, FileProblem> {
    let file = SEARCH_FILE;
    if !loader.has(file) {
        return Ok(Overrides::default());
    }
    let (search, node) = loader.read(file)?;
    references::web_provider(loader, file, "web.provider", &node);
    references::searched(loader, file, "", &node);
    loader.written.keep(file, &node);
    Ok(search)
}
