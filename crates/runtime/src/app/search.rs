//! The keys of search settings, in `agent/search.yml` and in packages, and which of them count for a search.

use super::problem::{FileProblem, ProblemReport, Severity};
use super::read::{ConfigNode, ConfigReader};
use super::{App, AppAgent, EnvVariables};
use crate::config;
use crate::config::{ByteSize, ConfigObject, Overrides, Setting, ValueKind};
use crate::web_search::WebSearchSettings;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::time::Duration;

config! {
    /// What is searched for an agent, and how. A package's keys count before those of `agent/search.yml`.
    pub struct SearchSettings {
        /// The web.
        web: WebSearchSettings,
        /// Collections of knowledge.
        kb: KnowledgeSearch,
        /// Tables of the app.
        db: TableSearch,
        /// Finding the words to search the web for.
        keyword: KeywordSettings,
        /// Making queries of the app's tables.
        querydsl: QueryDslSettings,
        /// Putting what was found in order.
        rerank: RerankSettings,
        /// How the model is told of what was found.
        citation: CitationSettings,
        /// How much an item counts, by who looked for it.
        weights: SearchWeights,
        /// When is searched, and how long.
        options: SearchOptions,
    }

    /// Searching collections of knowledge.
    pub struct KnowledgeSearch {
        /// The collections.
        collections: Vec<String>,
        /// How near the meaning of a text must be, from 0 to 1; texts that have the words of the query are found whatever it is.
        threshold: f64 = 0.7,
        /// The most results.
        max_results: usize = 10,
        unused { graph: ": Ambit has no graph search" }
    }

    /// Searching tables of the app.
    pub struct TableSearch {
        /// The models.
        models: Vec<String>,
        /// The most results.
        max_results: usize = 20,
    }

    /// Finding the words to search the web for.
    pub struct KeywordSettings {
        /// The most words.
        max_keywords: usize = 10,
        /// The language of the words.
        language: String = "auto",
    }

    /// Making queries of the app's tables.
    pub struct QueryDslSettings {
        /// Whether a query that is not clear is left out.
        strict: bool,
    }

    /// Putting what was found in order.
    pub struct RerankSettings {
        /// How many are kept.
        top_n: usize = 10,
    }

    /// How the model is told of what was found.
    pub struct CitationSettings {
        /// How a reference is cited: `xml` is a link; `#…` or an address is where that link leads, and any other text with `{id}` or `{index}` stands in its place.
        format: String = "xml",
        /// Whether the model is told how to cite.
        auto_inject_prompt: bool = true,
        /// What the model is told instead.
        custom_prompt: Option<String>,
        unused { style: " in Ambit" }
    }

    /// How much an item counts, by who looked for it.
    pub struct SearchWeights {
        /// Items that the user gave.
        user: f64 = 1.0,
        /// Items that a hook found.
        hook: f64 = 0.8,
        /// Items of the search before the model's call.
        auto: f64 = 0.6,
    }

    /// When is searched, and how long.
    pub struct SearchOptions {
        /// So many references of hooks make a search needless.
        skip_threshold: usize = 5,
        /// Whether the user sees that is searched.
        progress: bool = true,
        /// How long a search may take.
        timeout: Duration = "15s",
        /// The most text of results that the model is shown.
        max_context: ByteSize = "32KiB",
    }
}

/// The search settings that count for one search of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectiveSearch {
    /// The settings of all levels; their collections and models are all that are searched, each once.
    pub settings: SearchSettings,
    /// Whether any level says how results are put in order.
    pub is_reranked: bool,
    /// What is wrong with the levels above the app's files, and goes without effect.
    pub faults: Vec<String>,
}

impl EffectiveSearch {
    /// The settings of an app's agent below those that are said for one search, the later ones last. Keys that are none of search
    /// settings are not looked at. What a client sends is no level: it chooses among what is configured, and sets nothing.
    pub fn of(app: &App, agent: &AppAgent, levels: &[&Map<String, Value>]) -> Self {
        let package = &agent.package;
        let mut merged = app.search.clone();
        merged.merge(&options_of_package(agent));
        if let Some(search) = &package.search {
            merged.merge(search);
        }
        let mut faults = Vec::new();
        for level in levels {
            merged.merge(&judged(level, &mut faults));
        }
        let mut settings = merged.whole();
        let knowledge = package.kb.iter().flat_map(|kb| &kb.collections);
        add_named(&mut settings.kb.collections, knowledge);
        let tables = package.db.iter().flat_map(|db| &db.models);
        add_named(&mut settings.db.models, tables);
        Self {
            settings,
            is_reranked: merged.gives(&["rerank"]),
            faults,
        }
    }
}

impl CitationSettings {
    /// Whether no reference could be told from another in the form.
    pub fn has_unknown_form(&self) -> bool {
        let form = self.format.trim();
        let is_address = form.starts_with('#') || form.contains("://");
        let is_form = form.contains("{id}") || form.contains("{index}");
        !(matches!(form, "" | "xml") || is_address || is_form)
    }
}

/// What a package says of results beside its `search`, which counts before it.
fn options_of_package(agent: &AppAgent) -> Overrides<SearchSettings> {
    let package = &agent.package;
    let kb = package.kb.as_ref().map(|kb| &kb.options);
    let db = package.db.as_ref().map(|db| &db.options);
    let given = json!({
        "kb": {
            "max_results": kb.and_then(|options| options.top_k),
            "threshold": kb.and_then(|options| options.score_threshold),
        },
        "db": {"max_results": db.and_then(|options| options.limit)},
    });
    Overrides::read(given).unwrap_or_default()
}

/// Adds what is not there yet, and leaves out what is there twice.
fn add_named<'a>(names: &mut Vec<String>, others: impl Iterator<Item = &'a String>) {
    names.extend(others.cloned());
    let mut known = HashSet::new();
    names.retain(|name| known.insert(name.clone()));
}

/// What is right of the settings that somebody says for one search. Variables are not replaced in them.
fn judged(level: &Map<String, Value>, faults: &mut Vec<String>) -> Overrides<SearchSettings> {
    const KIND: ValueKind = ValueKind::Verbatim(&SearchSettings::KIND);
    let known = SearchSettings::keys();
    let named = level
        .iter()
        .filter(|(key, _)| known.contains(&key.as_str()));
    let named = named.map(|(key, value)| (key.clone(), value.clone()));
    let node = ConfigNode::of(&Value::Object(named.collect()));
    let mut report = ProblemReport::new("search");
    let variables = &EnvVariables::default();
    let mut reader = ConfigReader {
        variables,
        report: &mut report,
        unknown: Severity::Warning,
    };
    let read = reader.read(&node, &KIND).and_then(Overrides::read);
    let told = report.problems.into_iter();
    faults.extend(told.map(|FileProblem { message, .. }| message));
    read.unwrap_or_default()
}
