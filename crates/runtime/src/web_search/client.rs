//! One search from the settings to results in one form, with what is kept of earlier ones.

use super::answer_cache::{AnswerDigest, WebAnswerCache};
use super::{
    WEB_SEARCH_PROVIDERS, WebAnswer, WebProviderContext, WebQuery, WebSearchError,
    WebSearchFailure, WebSearchProvider, WebSearchSettings, unknown_provider,
};
use crate::Result;
use crate::llm::Secrets;
use crate::net::{AddressLookup, AllowList, HttpClient};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use url::form_urlencoded::byte_serialize;

/// The most results of a search.
const LIMIT: usize = 100;

/// Headers whose values are known words rather than secrets.
const HARMLESS: &[&str] = &[
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-type",
    "origin",
    "referer",
    "user-agent",
];

/// Searches the web for a node: with its connections, and with the answers that it keeps.
pub struct WebSearchClient {
    http: HttpClient,
    cache: WebAnswerCache,
}

/// A search, and for whom.
pub struct WebSearchRequest<'a> {
    /// Whose answers may be taken again.
    pub tenant: &'a str,
    /// Who is asked, and how.
    pub settings: &'a WebSearchSettings,
    /// What the variable `settings.key_variable()` holds.
    pub key: Option<&'a str>,
    /// What is asked.
    pub query: &'a WebQuery,
}

impl WebSearchClient {
    /// A client without answers.
    pub fn new() -> Result<Self> {
        Ok(Self::over(HttpClient::new(&AllowList::default())?))
    }

    /// A client that finds addresses in another way.
    pub fn with_lookup(lookup: Arc<dyn AddressLookup>) -> Result<Self> {
        let http = HttpClient::with_lookup(&AllowList::default(), lookup)?;
        Ok(Self::over(http))
    }

    fn over(http: HttpClient) -> Self {
        Self {
            http,
            cache: WebAnswerCache::default(),
        }
    }

    /// Searches, unless the same was answered a moment ago. Dropping the future ends the search.
    pub async fn search(
        &self,
        request: &WebSearchRequest<'_>,
    ) -> Result<WebAnswer, WebSearchError> {
        let WebSearchRequest {
            settings, query, ..
        } = request;
        if query.limit == 0 {
            return Ok(WebAnswer::default());
        }
        let digest = (!settings.cache.is_zero()).then(|| request.digest());
        if let Some(known) = digest.and_then(|digest| self.cache.get(&digest)) {
            return Ok(known);
        }
        let answer = self.ask(request).await;
        let answer = answer.map_err(|failure| error(settings, failure))?;
        if let Some(digest) = digest {
            self.cache.put(digest, &answer, settings.cache);
        }
        Ok(answer)
    }

    /// Why a provider that there is could not even be asked; `key` is what the variable `settings.key_variable()` holds.
    pub fn fault(&self, settings: &WebSearchSettings, key: Option<&str>) -> Option<WebSearchError> {
        match self.open(settings, filled(key)) {
            Ok(_) | Err(WebSearchFailure::UnknownProvider { .. }) => None,
            Err(failure) => Some(error(settings, failure)),
        }
    }

    fn open(
        &self,
        settings: &WebSearchSettings,
        key: Option<&str>,
    ) -> Result<Box<dyn WebSearchProvider>, WebSearchFailure> {
        let mut rows = WEB_SEARCH_PROVIDERS.iter();
        let row = rows.find(|row| row.name == settings.provider);
        let row = row.ok_or_else(|| WebSearchFailure::UnknownProvider {
            hint: unknown_provider(&settings.provider).unwrap_or_default(),
        })?;
        (row.open)(&WebProviderContext {
            settings,
            key,
            http: &self.http,
        })
    }

    async fn ask(&self, request: &WebSearchRequest<'_>) -> Result<WebAnswer, WebSearchFailure> {
        let settings = request.settings;
        let provider = self.open(settings, request.key())?;
        let query = request.plain_query();
        let answer = provider.search(&query).await?;
        Ok(answer.in_one_form(&settings.provider, query.limit, &request.secrets()))
    }
}

fn error(settings: &WebSearchSettings, failure: WebSearchFailure) -> WebSearchError {
    WebSearchError {
        provider: settings.provider.clone(),
        failure,
        key_variable: settings.shown_key_variable(),
    }
}

/// A key that has any letter.
fn filled(key: Option<&str>) -> Option<&str> {
    key.map(str::trim).filter(|key| !key.is_empty())
}

impl WebSearchRequest<'_> {
    fn key(&self) -> Option<&str> {
        filled(self.key)
    }

    /// The query without blanks, and with a limit that services take.
    fn plain_query(&self) -> WebQuery {
        let sites = self.query.sites.iter().map(|site| site.trim().to_owned());
        WebQuery {
            query: self.query.query.trim().to_owned(),
            limit: self.query.limit.min(LIMIT),
            sites: sites.filter(|site| !site.is_empty()).collect(),
            time_range: self.query.time_range,
        }
    }

    fn digest(&self) -> AnswerDigest {
        let WebQuery {
            query,
            limit,
            sites,
            time_range,
        } = self.plain_query();
        let range = time_range.map(super::TimeRange::name);
        let settings = self.settings.fingerprint();
        let all = json!([self.tenant, self.key, settings, query, limit, sites, range]);
        Sha256::digest(all.to_string()).into()
    }

    /// What services must not repeat to anybody: the key, also as addresses write it, and what else the request may hold of
    /// credentials.
    fn secrets(&self) -> Secrets {
        let http = &self.settings.http;
        let key = self.key().unwrap_or_default();
        let keys = [key.to_owned(), byte_serialize(key.as_bytes()).collect()];
        let headers = http.headers.iter();
        let headers = headers
            .filter(|(name, _)| !HARMLESS.contains(&name.to_ascii_lowercase().as_str()))
            .map(|(_, text)| text);
        let mut texts = Vec::new();
        http.query
            .values()
            .chain(&http.body)
            .for_each(|value| leaves(value, &mut texts));
        Secrets::of_service(keys.iter().chain(headers), &texts, &http.url)
    }
}

/// All texts of a value.
fn leaves(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, texts)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, texts)),
        _ => {}
    }
}
