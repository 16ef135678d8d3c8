//! SerpAPI, which asks one of many engines.

use super::endpoint::{WebEndpoint, WebRequest};
use super::serper::{PATHS, query_date_range};
use super::{
    WebAnswer, WebProviderContext, WebQuery, WebSearchEntry, WebSearchFailure, WebSearchProvider,
};
use async_trait::async_trait;
use serde_json::Value;

/// The row of the table.
pub const ROW: WebSearchEntry = WebSearchEntry {
    name: "serpapi",
    key_variable: Some("SERPAPI_API_KEY"),
    open,
};

struct SerpApiProvider {
    endpoint: WebEndpoint,
    engine: String,
    key: String,
}

fn open(context: &WebProviderContext<'_>) -> Result<Box<dyn WebSearchProvider>, WebSearchFailure> {
    Ok(Box::new(SerpApiProvider {
        endpoint: WebEndpoint::of(context, "https://serpapi.com/search.json")?,
        engine: context.settings.engine.trim().to_owned(),
        key: context.required_key()?.to_owned(),
    }))
}

#[async_trait]
impl WebSearchProvider for SerpApiProvider {
    async fn search(&self, query: &WebQuery) -> Result<WebAnswer, WebSearchFailure> {
        let (words, count) = match self.engine.as_str() {
            "yandex" => ("text", "num"),
            "yahoo" => ("p", "num"),
            "bing" => ("q", "count"),
            "baidu" => ("q", "rn"),
            _ => ("q", "num"),
        };
        let mut notes = Vec::new();
        let mut parameters = vec![
            ("engine", self.engine.clone()),
            (words, query.with_sites()),
            (count, query.limit.to_string()),
            ("api_key", self.key.clone()),
        ];
        match query.time_range {
            Some(range) if self.engine == "google" => {
                parameters.push(("tbs", query_date_range(range).to_owned()));
            }
            Some(range) => notes.push(format!(
                "serpapi: engine \"{}\" knows no time_range, \"{}\" is left out",
                self.engine,
                range.name()
            )),
            None => {}
        }
        let parameters = parameters.into_iter();
        let request = WebRequest {
            query: parameters
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            ..WebRequest::default()
        };
        let answer = self.endpoint.get(request).await?;
        if answer.get("error").is_some_and(|error| !error.is_null()) {
            // A search without results says so as an error.
            return match is_success(&answer) {
                true => Ok(WebAnswer {
                    notes,
                    ..WebAnswer::default()
                }),
                false => Err(WebSearchFailure::ProviderError),
            };
        }
        let mut items: Vec<_> = PATHS
            .answer_box(answer.get("answer_box"))
            .into_iter()
            .collect();
        match answer.get("organic_results") {
            Some(list) => items.extend(PATHS.read(list, query.limit)?),
            None if is_success(&answer) => {}
            None => return Err(WebSearchFailure::Unreadable),
        }
        Ok(WebAnswer { items, notes })
    }
}

fn is_success(answer: &Value) -> bool {
    let status = answer.pointer("/search_metadata/status");
    status.is_some_and(|status| status == "Success")
}
