//! The keys of search settings, in `agent/search.yml` and in packages.

use crate::config;
use crate::web_search::WebSearchSettings;
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
        /// How near a text must be, from 0 to 1.
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
        /// The form of the references.
        format: String = "xml",
        /// Whether the model is told how to cite.
        auto_inject_prompt: bool = true,
        /// What the model is told instead.
        custom_prompt: Option<String>,
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
    }
}
