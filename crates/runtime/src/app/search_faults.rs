//! Search settings that cannot do what they are for are told when the app is loaded, not at the first search.

use super::defaults::SEARCH_FILE;
use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::{App, AppAgent, EffectiveSearch, EnvVariables, SearchSettings};
use crate::web_search::{WEB_SEARCH_PROVIDERS, WebSearchClient, WebSearchSettings};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Warns of settings of all agents, and of those of each agent that are not theirs alone.
pub fn warn(loader: &mut AppLoader, app: &App) {
    let judge = SearchJudge {
        variables: &loader.variables,
        uses: &app.defaults.uses,
        client: OnceCell::new(),
    };
    let common = judge.faults(&app.search.whole(), None);
    let mut told: Vec<FileProblem> = Vec::new();
    if loader.has(SEARCH_FILE) {
        told.extend(common.iter().map(|fault| warning(SEARCH_FILE, "", fault)));
    }
    for agent in app.agents.values().flatten() {
        let settings = EffectiveSearch::of(app, agent, &[]).settings;
        let file = agent.package_file();
        let faults = judge.faults(&settings, Some(agent));
        let own = faults.iter().filter(|fault| !common.contains(fault));
        told.extend(own.map(|fault| warning(&file, "search.", fault)));
    }
    for problem in told {
        loader.refuse(problem);
    }
}

/// A key of search settings, and what is wrong with it.
#[derive(PartialEq)]
struct SearchFault {
    key: &'static str,
    why: String,
}

impl SearchFault {
    fn new(key: &'static str, why: impl Into<String>) -> Self {
        Self {
            key,
            why: why.into(),
        }
    }
}

fn warning(file: &str, path: &str, fault: &SearchFault) -> FileProblem {
    let message = format!("\"{path}{}\": {}", fault.key, fault.why);
    FileProblem::new(Severity::Warning, file, message)
}

struct SearchJudge<'a> {
    variables: &'a EnvVariables,
    /// Of all agents.
    uses: &'a BTreeMap<String, String>,
    /// Opened where a provider is named.
    client: OnceCell<Option<WebSearchClient>>,
}

impl SearchJudge<'_> {
    fn faults(&self, settings: &SearchSettings, agent: Option<&AppAgent>) -> Vec<SearchFault> {
        let mut faults = Vec::new();
        faults.extend(self.web(&settings.web, agent));
        if !(0.0..=1.0).contains(&settings.kb.threshold) {
            faults.push(SearchFault::new("kb.threshold", "must be 0 to 1"));
        }
        if settings.citation.has_unknown_form() {
            let why = "is neither \"xml\", nor an address, nor a form with {id} or {index} such as \"[{index}]\"";
            faults.push(SearchFault::new("citation.format", why));
        }
        faults
    }

    /// What keeps the web from being searched, unless an agent or a tool does that.
    fn web(&self, web: &WebSearchSettings, agent: Option<&AppAgent>) -> Option<SearchFault> {
        let package = agent.map(|agent| &agent.package);
        let own = package.and_then(|package| package.uses.get("web"));
        let own = own.filter(|value| !value.trim().is_empty());
        let uses = own.or(self.uses.get("web")).map(|value| value.trim());
        let uses = uses.filter(|value| !value.is_empty() && *value != "builtin");
        let mut web = web.clone();
        if let Some(named) = uses {
            WEB_SEARCH_PROVIDERS.iter().find(|row| row.name == named)?;
            web = web.of_provider(named);
        }
        if web.provider.is_empty() {
            let search = package?.search.as_ref()?;
            return search.gives(&["web"]).then(|| {
                let why =
                    "no provider searches the web: set \"search.web.provider\" or \"uses.web\"";
                SearchFault::new("web", why)
            });
        }
        if web.provider == "scripted" && web.results.is_empty() {
            let why = "the provider \"scripted\" answers from here, and there is nothing";
            return Some(SearchFault::new("web.results", why));
        }
        let key = web.key_variable().and_then(|name| self.variables.get(name));
        let client = self.client.get_or_init(|| WebSearchClient::new().ok());
        let error = client.as_ref()?.fault(&web, key)?;
        Some(SearchFault::new("web", error.to_string()))
    }
}
