//! Answers that the app's files hold: for tests, and for demonstrations without a network.

use super::item::ItemPaths;
use super::settings::{ItemFields, ScriptedSearch};
use super::{
    WebAnswer, WebProviderContext, WebQuery, WebSearchEntry, WebSearchFailure, WebSearchProvider,
};
use async_trait::async_trait;
use regex::Regex;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The row of the table.
pub const ROW: WebSearchEntry = WebSearchEntry {
    name: "scripted",
    key_variable: None,
    open,
};

struct ScriptedSearchProvider {
    results: Vec<ScriptedSearch>,
    timeout: Duration,
}

fn open(context: &WebProviderContext<'_>) -> Result<Box<dyn WebSearchProvider>, WebSearchFailure> {
    Ok(Box::new(ScriptedSearchProvider {
        results: context.settings.results.clone(),
        timeout: context.settings.timeout,
    }))
}

#[async_trait]
impl WebSearchProvider for ScriptedSearchProvider {
    async fn search(&self, query: &WebQuery) -> Result<WebAnswer, WebSearchFailure> {
        let Some(result) = self.matching(&query.query)? else {
            return Ok(WebAnswer::default());
        };
        let waited = timeout(self.timeout, sleep(result.delay)).await;
        waited.map_err(|_| WebSearchFailure::TimedOut)?;
        if !result.error.is_empty() {
            return Err(WebSearchFailure::Scripted(result.error.clone()));
        }
        let items = Value::from(result.items.clone());
        Ok(WebAnswer {
            items: ItemPaths::from(&ItemFields::default()).read(&items, query.limit)?,
            notes: Vec::new(),
        })
    }
}

impl ScriptedSearchProvider {
    /// The first answer whose pattern fits.
    fn matching(&self, query: &str) -> Result<Option<&ScriptedSearch>, WebSearchFailure> {
        for (at, result) in self.results.iter().enumerate() {
            let pattern = Regex::new(&result.pattern).map_err(|_| {
                let what = format!("\"web.results[{at}].match\" is no regular expression");
                WebSearchFailure::InvalidSetting(what)
            })?;
            if pattern.is_match(query) {
                return Ok(Some(result));
            }
        }
        Ok(None)
    }
}
