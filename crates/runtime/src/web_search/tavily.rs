//! Tavily.

use super::endpoint::{WebEndpoint, WebRequest};
use super::item::ItemPaths;
use super::query::cut_at_word;
use super::settings::TimeRange;
use super::{
    WebAnswer, WebProviderContext, WebQuery, WebSearchEntry, WebSearchFailure, WebSearchProvider,
};
use async_trait::async_trait;
use serde_json::json;

/// The row of the table.
pub const ROW: WebSearchEntry = WebSearchEntry {
    name: "tavily",
    key_variable: Some("TAVILY_API_KEY"),
    open,
};

/// Characters of a query.
const QUERY: usize = 400;
/// The most results that can be asked for.
const LIMIT: usize = 20;

const PATHS: ItemPaths<'static> = ItemPaths {
    title: "title",
    url: "url",
    content: "content",
    score: "score",
    date: "published_date",
};

struct TavilyProvider {
    endpoint: WebEndpoint,
    key: String,
}

fn open(context: &WebProviderContext<'_>) -> Result<Box<dyn WebSearchProvider>, WebSearchFailure> {
    Ok(Box::new(TavilyProvider {
        endpoint: WebEndpoint::of(context, "https://api.tavily.com/search")?,
        key: context.required_key()?.to_owned(),
    }))
}

#[async_trait]
impl WebSearchProvider for TavilyProvider {
    async fn search(&self, query: &WebQuery) -> Result<WebAnswer, WebSearchFailure> {
        let mut notes = Vec::new();
        let mut body = json!({
            "query": cut_at_word(&query.query, QUERY),
            "max_results": query.limit.min(LIMIT),
            "search_depth": "basic",
            "include_answer": false,
            "include_raw_content": false,
        });
        if !query.sites.is_empty() {
            body["include_domains"] = json!(query.sites);
        }
        if let Some(range) = query.time_range {
            let range = match range {
                TimeRange::Hour => {
                    notes.push("tavily: time_range \"hour\" is searched as \"day\"".to_owned());
                    TimeRange::Day
                }
                range => range,
            };
            body["time_range"] = json!(range.name());
        }
        let request = WebRequest {
            headers: vec![("authorization".to_owned(), format!("Bearer {}", self.key))],
            body: Some(body),
            ..WebRequest::default()
        };
        let answer = self.endpoint.post(request).await?;
        let results = answer.get("results").ok_or(WebSearchFailure::Unreadable)?;
        Ok(WebAnswer {
            items: PATHS.read(results, query.limit)?,
            notes,
        })
    }
}
