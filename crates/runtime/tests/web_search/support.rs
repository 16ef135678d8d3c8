//! What all tests here need.

use ambit_runtime::config::Setting;
use ambit_runtime::web_search::{
    WebAnswer, WebQuery, WebSearchClient, WebSearchRequest, WebSearchSettings,
};
use serde_json::Value;

pub const KEY: &str = "tvly-canary-1234567890";

pub fn settings(json: Value) -> WebSearchSettings {
    WebSearchSettings::read(json).unwrap()
}

/// An object with the members of another one in place of its own.
pub fn merged(mut object: Value, more: Value) -> Value {
    let members = object.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    object
}

pub fn asking(query: &str) -> WebQuery {
    WebQuery {
        query: query.to_owned(),
        limit: 10,
        ..WebQuery::default()
    }
}

/// Searches once with the key; the error is its text.
pub async fn search(settings: &WebSearchSettings, query: &WebQuery) -> Result<WebAnswer, String> {
    let client = WebSearchClient::new().unwrap();
    search_with(&client, settings, query).await
}

pub async fn search_with(
    client: &WebSearchClient,
    settings: &WebSearchSettings,
    query: &WebQuery,
) -> Result<WebAnswer, String> {
    let request = WebSearchRequest {
        tenant: "acme",
        settings,
        key: Some(KEY),
        query,
    };
    client
        .search(&request)
        .await
        .map_err(|error| error.to_string())
}
