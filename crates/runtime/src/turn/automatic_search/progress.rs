//! What people see of a search while it runs: one message that says how far it is.

use crate::app::{App, AppAgent};
use crate::frame::MessageStatus;
use crate::outbox::AgentOutbox;
use serde_json::{Value, json};
use std::sync::Arc;

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchStage {
    Intent,
    Keyword,
    Search,
    Found(usize),
    Nothing,
    Skipped,
    Failed,
}

impl SearchStage {
    /// The key of its translations, and its text where there is none.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Intent => ["ambit.search.intent", "Analyzing query…"],
            Self::Keyword => ["ambit.search.keyword", "Extracting keywords…"],
            Self::Search => ["ambit.search.search", "Searching…"],
            Self::Found(_) => ["ambit.search.found", "Found {n} references"],
            Self::Nothing => ["ambit.search.none", "No results found"],
            Self::Skipped => ["ambit.search.skipped", "No search needed"],
            Self::Failed => ["ambit.search.failed", "Search failed"],
        }
    }

    fn text(self, app: &App, agent: &AppAgent, locale: &str) -> String {
        let [key, usual] = self.words();
        let translations = app.words(agent, locale);
        let text = translations.find(key).unwrap_or(usual);
        match self {
            Self::Found(count) => text.replace("{n}", &count.to_string()),
            _ => text.to_owned(),
        }
    }
}

/// The message. Dropped before the search has ended, it ends as far as it got. What cannot be shown stops no search.
pub(super) struct SearchProgress {
    pub app: Arc<App>,
    pub agent: Arc<AppAgent>,
    pub locale: String,
    pub outbox: AgentOutbox,
    /// Whether the app wants it to be seen.
    pub is_shown: bool,
    pub message: Option<String>,
}

impl SearchProgress {
    /// Shows the next stage.
    pub fn enter(&mut self, stage: SearchStage) {
        let text = stage.text(&self.app, &self.agent, &self.locale);
        self.put(&json!({ "message": text }));
    }

    /// Shows how the search has ended.
    pub fn finish(&mut self, stage: SearchStage) {
        let text = stage.text(&self.app, &self.agent, &self.locale);
        self.put(&json!({"message": text, "done": true}));
        if let Some(id) = self.message.take() {
            self.outbox.finish(&id, MessageStatus::Completed);
        }
    }

    fn put(&mut self, props: &Value) {
        if !self.is_shown {
            return;
        }
        let message = json!({"type": "loading", "props": props});
        let shown = match &self.message {
            Some(id) => self.outbox.replace(&[id.as_str().into(), message]),
            None => self.outbox.send_stream(&[message]),
        };
        match shown {
            Ok(id) => self.message = id.as_str().map(str::to_owned),
            Err(_) => self.is_shown = false,
        }
    }
}

impl Drop for SearchProgress {
    fn drop(&mut self) {
        if let Some(id) = self.message.take() {
            self.outbox.finish(&id, MessageStatus::Partial);
        }
    }
}
