//! Serper, which asks Google.

use super::endpoint::{WebEndpoint, WebRequest};
use super::item::ItemPaths;
use super::settings::TimeRange;
use super::{
    WebAnswer, WebProviderContext, WebQuery, WebSearchEntry, WebSearchFailure, WebSearchProvider,
};
use async_trait::async_trait;
use serde_json::json;

/// The row of the table.
pub const ROW: WebSearchEntry = WebSearchEntry {
    name: "serper",
    key_variable: Some("SERPER_API_KEY"),
    open,
};

/// Where the parts of a result stand, at SerpAPI too.
pub const PATHS: ItemPaths<'static> = ItemPaths {
    title: "title",
    url: "link",
    content: "snippet",
    score: "",
    date: "date",
};

struct SerperProvider {
    endpoint: WebEndpoint,
    key: String,
}

/// How old results of Google's may be, in its words.
pub fn query_date_range(range: TimeRange) -> &'static str {
    match range {
        TimeRange::Hour => "qdr:h",
        TimeRange::Day => "qdr:d",
        TimeRange::Week => "qdr:w",
        TimeRange::Month => "qdr:m",
        TimeRange::Year => "qdr:y",
    }
}

fn open(context: &WebProviderContext<'_>) -> Result<Box<dyn WebSearchProvider>, WebSearchFailure> {
    Ok(Box::new(SerperProvider {
        endpoint: WebEndpoint::of(context, "https://google.serper.dev/search")?,
        key: context.required_key()?.to_owned(),
    }))
}

#[async_trait]
impl WebSearchProvider for SerperProvider {
    async fn search(&self, query: &WebQuery) -> Result<WebAnswer, WebSearchFailure> {
        let mut body = json!({
            "q": query.with_sites(),
            "num": query.limit,
            "autocorrect": true,
        });
        if let Some(range) = query.time_range {
            body["tbs"] = json!(query_date_range(range));
        }
        let request = WebRequest {
            headers: vec![("x-api-key".to_owned(), self.key.clone())],
            body: Some(body),
            ..WebRequest::default()
        };
        let answer = self.endpoint.post(request).await?;
        let mut items: Vec<_> = PATHS
            .answer_box(answer.get("answerBox"))
            .into_iter()
            .collect();
        match answer.get("organic") {
            Some(list) => items.extend(PATHS.read(list, query.limit)?),
            // A search that has only a box, or nothing, still says what was searched.
            None if answer.get("searchParameters").is_some() => {}
            None => return Err(WebSearchFailure::Unreadable),
        }
        let notes = Vec::new();
        Ok(WebAnswer { items, notes })
    }
}
