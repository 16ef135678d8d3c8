//! Searching the web: one trait, one table of providers. A provider speaks to one service; what is the same for all, from the
//! limits of requests to the form of results, is done around it.

mod answer_cache;
mod client;
mod endpoint;
mod error;
mod http;
mod item;
mod plain_text;
mod query;
mod scripted;
mod serpapi;
mod serper;
mod settings;
mod tavily;

pub use client::{WebSearchClient, WebSearchRequest};
pub use error::{WebSearchError, WebSearchFailure};
pub use item::{WebAnswer, WebItem, WebItemKind, WebItemMetadata};
pub use plain_text::{plain_text, truncate};
pub use query::WebQuery;
pub use settings::{HttpSearchSettings, ItemFields, ScriptedSearch, TimeRange, WebSearchSettings};

use crate::net::HttpClient;
use ambit_storage::suggestion;
use async_trait::async_trait;

/// Searches the web.
#[async_trait]
pub trait WebSearchProvider: Send + Sync {
    /// Asks for results, best first. Their texts are as the service wrote them. Dropping the future ends the search.
    async fn search(&self, query: &WebQuery) -> Result<WebAnswer, WebSearchFailure>;
}

/// Who can search the web. One file and one row each.
pub const WEB_SEARCH_PROVIDERS: &[WebSearchEntry] = &[
    tavily::ROW,
    serper::ROW,
    serpapi::ROW,
    http::ROW,
    scripted::ROW,
];

/// A row of the table of providers.
pub struct WebSearchEntry {
    /// The name in settings.
    pub name: &'static str,
    /// The variable with the key where settings name none; none for who needs no key.
    pub key_variable: Option<&'static str>,
    /// Opens it.
    pub open: WebSearchOpener,
}

/// Opens a provider for one search.
pub type WebSearchOpener =
    fn(&WebProviderContext<'_>) -> Result<Box<dyn WebSearchProvider>, WebSearchFailure>;

/// What a provider is opened with.
pub struct WebProviderContext<'a> {
    /// The settings.
    pub settings: &'a WebSearchSettings,
    /// The key, if its variable is set.
    pub key: Option<&'a str>,
    /// Connections.
    pub http: &'a HttpClient,
}

impl<'a> WebProviderContext<'a> {
    /// The key of who needs one.
    fn required_key(&self) -> Result<&'a str, WebSearchFailure> {
        self.key.ok_or(WebSearchFailure::MissingKey)
    }
}

/// A provider that is not in the table, with the nearest one; for warnings about files.
pub fn unknown_provider(name: &str) -> Option<String> {
    let mut rows = WEB_SEARCH_PROVIDERS.iter();
    let is_known = rows.any(|row| row.name == name);
    let names = WEB_SEARCH_PROVIDERS.iter().map(|row| row.name);
    (!is_known).then(|| suggestion::hint(name, names))
}

impl WebSearchSettings {
    /// The variable that holds the provider's key: the one that is named, with or without `$ENV.`, else the usual one.
    pub fn key_variable(&self) -> Option<&str> {
        let named = self.api_key_env.trim();
        let named = named.strip_prefix("$ENV.").unwrap_or(named);
        let mut rows = WEB_SEARCH_PROVIDERS.iter();
        match named {
            "" => rows.find(|row| row.name == self.provider)?.key_variable,
            name => Some(name),
        }
    }

    /// The settings with another provider, which gets neither the key nor the proxy of the one that they are for.
    pub fn of_provider(mut self, provider: &str) -> Self {
        if !self.provider.is_empty() && self.provider != provider {
            self.engine = Self::default().engine;
            self.api_key_env.clear();
            self.host.clear();
        }
        self.provider = provider.to_owned();
        self
    }

    /// The variable as it may be shown. Who writes the key itself in place of its variable does not see it in errors.
    fn shown_key_variable(&self) -> Option<String> {
        let is_letter =
            |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_';
        let name = self.key_variable()?;
        Some(match name.bytes().all(is_letter) {
            true => name.to_owned(),
            false => "the variable of \"web.api_key_env\"".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_provider_gets_no_key_that_is_not_its_own() {
        let settings = WebSearchSettings {
            provider: "tavily".to_owned(),
            api_key_env: "MY_TAVILY".to_owned(),
            host: "https://proxy.test".to_owned(),
            engine: "bing".to_owned(),
            max_results: 3,
            ..WebSearchSettings::default()
        };
        assert_eq!(settings.clone().of_provider("tavily"), settings);
        let other = settings.clone().of_provider("serper");
        let expected = WebSearchSettings {
            provider: "serper".to_owned(),
            max_results: 3,
            ..WebSearchSettings::default()
        };
        assert_eq!(other, expected);
        let unnamed = WebSearchSettings {
            provider: String::new(),
            ..settings
        };
        assert_eq!(unnamed.of_provider("serper").api_key_env, "MY_TAVILY");
    }
}
