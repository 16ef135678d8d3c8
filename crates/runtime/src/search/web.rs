//! Searching the web: by a provider, or by the agent or tool that `uses.web` names.

use super::request::WebTarget;
use super::{ItemSource, SearchItem, SearchKind, SearchRequest, SearchResult, Searcher, answers};
use crate::chat::ChatMessage;
use crate::uses::{UsesRequest, UsesTarget};
use crate::web_search::{
    TimeRange, WEB_SEARCH_PROVIDERS, WebItem, WebQuery, WebSearchRequest, WebSearchSettings,
};
use serde_json::{Map, Value, json};

/// What the web gave.
#[derive(Clone, Debug, Default)]
pub(super) struct WebFindings {
    items: Vec<SearchItem>,
    notes: Vec<String>,
}

/// Who searches the web.
enum WebSearcher {
    Provider(Box<WebSearchSettings>),
    Named(UsesTarget),
}

impl Searcher {
    pub(super) async fn search_web(
        &self,
        request: &SearchRequest,
        target: &WebTarget,
        result: &mut SearchResult,
    ) -> Result<(), String> {
        let searcher = self.web_searcher()?;
        let query = WebQuery {
            query: request.query.clone(),
            limit: request.limit.unwrap_or(self.settings.web.max_results),
            sites: target.sites.clone(),
            time_range: target.time_range,
        };
        let range = query.time_range.map(TimeRange::name);
        let key = json!([
            self.agent,
            self.context.uses("web"),
            self.settings.web.fingerprint(),
            query.query,
            query.limit,
            query.sites,
            range,
            self.settings.web.fetch,
            self.context.uses("fetch"),
        ]);
        let source = result.source;
        let asked = self.context.turn.ask_once(key.to_string(), async {
            let mut found = match &searcher {
                WebSearcher::Provider(settings) => self.ask_provider(settings, &query).await,
                WebSearcher::Named(named) => self.ask_named(named, &query, source).await,
            }?;
            found.items.truncate(query.limit);
            self.fetch_pages(&mut found.items, &mut found.notes).await;
            Ok(found)
        });
        let WebFindings { items, notes } = asked.await?;
        result.notes.extend(notes);
        result.set_items(items);
        Ok(())
    }

    fn web_searcher(&self) -> Result<WebSearcher, String> {
        let settings = &self.settings.web;
        let value = self.context.uses("web").unwrap_or("builtin");
        if WEB_SEARCH_PROVIDERS.iter().any(|row| row.name == value) {
            let named = settings.clone().of_provider(value);
            return Ok(WebSearcher::Provider(Box::new(named)));
        }
        match UsesTarget::read(&self.app, value) {
            Ok(UsesTarget::Disabled) => Err("uses.web is disabled".to_owned()),
            Ok(UsesTarget::Builtin) if settings.provider.is_empty() => {
                Err("no provider searches the web: set search.web.provider or uses.web".to_owned())
            }
            Ok(UsesTarget::Builtin) => Ok(WebSearcher::Provider(Box::new(settings.clone()))),
            Ok(named) => Ok(WebSearcher::Named(named)),
            Err(why) => Err(format!("uses.web: {why}")),
        }
    }

    async fn ask_provider(
        &self,
        settings: &WebSearchSettings,
        query: &WebQuery,
    ) -> Result<WebFindings, String> {
        let key = settings.key_variable();
        let request = WebSearchRequest {
            tenant: self.authorized.tenant(),
            settings,
            key: key.and_then(|name| self.app.variables.get(name)),
            query,
        };
        let answer = self.context.web.search(&request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        Ok(WebFindings {
            items: answer.items.into_iter().map(item_of_web).collect(),
            notes: answer.notes,
        })
    }

    async fn ask_named(
        &self,
        named: &UsesTarget,
        query: &WebQuery,
        source: ItemSource,
    ) -> Result<WebFindings, String> {
        let mut arguments = Map::new();
        arguments.insert("query".to_owned(), query.query.as_str().into());
        arguments.insert("limit".to_owned(), query.limit.into());
        if !query.sites.is_empty() {
            arguments.insert("sites".to_owned(), json!(query.sites));
        }
        if let Some(range) = query.time_range {
            arguments.insert("time_range".to_owned(), range.name().into());
        }
        let mut message = arguments.clone();
        message.insert("type".to_owned(), "web".into());
        message.insert("source".to_owned(), source.name().into());
        let wanted = UsesRequest {
            key: "web",
            messages: vec![ChatMessage::user(Value::from(message).to_string())],
            arguments: arguments.into(),
        };
        let answer = self.asker.ask(named, wanted).await;
        let answer = answer.map_err(|failure| format!("uses.web: {failure}"))?;
        let items = answers::items(&answer).map_err(|error| format!("uses.web: {error}"))?;
        Ok(WebFindings {
            items: items.into_iter().map(plain_item).collect(),
            notes: Vec::new(),
        })
    }
}

/// A page that somebody has found. Only who does the whole search may say that an item is something else, or a person's.
fn plain_item(item: SearchItem) -> SearchItem {
    SearchItem {
        kind: SearchKind::Web,
        source: ItemSource::default(),
        is_foreign: false,
        knowledge: None,
        record: None,
        ..item
    }
}

fn item_of_web(found: WebItem) -> SearchItem {
    let metadata = match json!(found.metadata) {
        Value::Object(metadata) => metadata,
        _ => Map::new(),
    };
    SearchItem {
        title: found.title,
        url: found.url,
        content: found.content,
        score: found.score,
        metadata,
        ..SearchItem::default()
    }
}
