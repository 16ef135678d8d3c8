//! The keys of `search.web`: who searches the web, and how.

use crate::config;
use crate::config::ValueKind;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use std::time::Duration;

config! {
    /// Searching the web.
    #[secret]
    pub struct WebSearchSettings {
        /// Who searches it: `tavily`, `serper`, `serpapi`, `http` with an address of its own, or `scripted` with `results`.
        provider: String,
        /// The name of the variable that holds the provider's key.
        api_key_env: String as ValueKind::Verbatim(&ValueKind::Text),
        /// The most results.
        max_results: usize = 10,
        /// The engine that SerpAPI asks.
        engine: String = "google",
        /// What the provider `http` asks, with `{query}`, `{limit}`, `{sites}`, `{time_range}` and `{key}` in query, headers and body, and how its answer is read.
        http: HttpSearchSettings,
        /// What stands in place of the provider's scheme, host and port, such as `https://proxy.example.com:8443`.
        host: String,
        /// Whether private addresses and plain HTTP are allowed.
        private: bool,
        /// How long a search may take, tries again included.
        timeout: Duration = "10s",
        /// How long answers are kept for the same tenant; `0s` keeps none.
        cache: Duration = "0s",
        /// Of so many results the pages are fetched.
        fetch: usize = 0,
        /// What the provider `scripted` answers; the first one that matches counts.
        results: Vec<ScriptedSearch>,
    }

    /// A search over HTTP.
    #[secret]
    pub struct HttpSearchSettings {
        /// The address that is asked.
        url: String,
        /// The method of the request.
        method: String = "GET" as ValueKind::OneOf(&["GET", "POST"]),
        /// Headers to send.
        headers: IndexMap<String, String>,
        /// What is added to the address; what is filled with nothing is left out.
        query: Map<String, Value>,
        /// The body, sent as JSON.
        body: Option<Value>,
        /// Where the results stand in the answer, as names joined by dots; without it the answer is the list.
        items: String,
        /// Where the parts of a result stand in it.
        fields: ItemFields,
        /// Where the answer says that the search failed.
        error: String,
    }

    /// Where the parts of a result stand in it, as names joined by dots.
    pub struct ItemFields {
        /// The title.
        title: String = "title",
        /// The address.
        url: String = "url",
        /// The text.
        content: String = "content",
        /// How well it fits; results without one count by their position.
        score: String = "score",
        /// When it was published.
        date: String = "date",
    }

    /// An answer of the provider `scripted`.
    pub struct ScriptedSearch {
        /// What the query matches; without it every query does.
        #[key = "match"]
        pattern: String as ValueKind::Pattern,
        /// The results, with `title`, `url`, `content`, `score` and `date`.
        items: Vec<Value>,
        /// Why the search fails.
        error: String,
        /// How long the answer takes.
        delay: Duration = "0s",
    }

    /// How old results may be.
    pub enum TimeRange {
        /// An hour.
        Hour = "hour",
        /// A day.
        Day = "day",
        /// A week.
        Week = "week",
        /// A month.
        Month = "month",
        /// A year.
        Year = "year",
    }
}

impl WebSearchSettings {
    /// All that an answer depends on, keys apart.
    pub fn fingerprint(&self) -> Value {
        let Self {
            provider,
            engine,
            http,
            host,
            private,
            results,
            // Who keeps answers for a short time does not want those of one who keeps them for long.
            cache,
            // They change who pays, how many are wanted and how long is waited, and no answer.
            api_key_env: _,
            max_results: _,
            timeout: _,
            fetch: _,
        } = self;
        let results: Vec<Value> = results.iter().map(ScriptedSearch::fingerprint).collect();
        let cache = format!("{cache:?}");
        json!([
            provider,
            engine,
            http.fingerprint(),
            host,
            private,
            results,
            cache
        ])
    }
}

impl HttpSearchSettings {
    fn fingerprint(&self) -> Value {
        let Self {
            url,
            method,
            headers,
            query,
            body,
            items,
            fields,
            error,
        } = self;
        let ItemFields {
            title,
            url: link,
            content,
            score,
            date,
        } = fields;
        let headers: Vec<[&String; 2]> = headers.iter().map(|(name, text)| [name, text]).collect();
        let fields = [title, link, content, score, date];
        json!([url, method, headers, query, body, items, fields, error])
    }
}

impl ScriptedSearch {
    fn fingerprint(&self) -> Value {
        let Self {
            pattern,
            items,
            error,
            delay,
        } = self;
        json!([pattern, items, error, delay.as_secs_f64()])
    }
}
