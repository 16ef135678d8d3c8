//! What the searches of one agent in a turn are made with, and what they share with all others of the turn.

use super::TurnReferences;
use super::web::WebFindings;
use crate::error::Result;
use crate::llm::{TokenUsage, embedding};
use crate::lock::lock;
use crate::web_search::WebSearchClient;
use ambit_knowledge::{EmbeddingTokens, KnowledgeBase};
use ambit_storage::storage::UsageRecord;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use tokio::sync::OnceCell;

/// What the searches of one agent are made with.
#[derive(Clone)]
pub struct SearchContext {
    /// Settings that count before those of app and package, the later ones last.
    pub levels: Vec<Map<String, Value>>,
    /// Who does which step.
    pub uses: BTreeMap<String, String>,
    /// What speaks to services that search the web.
    pub web: Arc<WebSearchClient>,
    /// Collections of knowledge, where they are open.
    pub knowledge: Option<KnowledgeBase>,
    /// What all searches of the turn share.
    pub turn: Arc<TurnSearches>,
    /// Counts what a search has used beside what agents and models do for it.
    pub book: UsageBooking,
}

/// Counts what was used to whoever pays.
pub type UsageBooking = Arc<dyn Fn(TokenUsage, UsageRecord) + Send + Sync>;

/// Counts what vectors have used, if whoever made them says so.
pub fn book_embedding(book: &UsageBooking, used: &EmbeddingTokens) {
    if used.tokens == 0 {
        return;
    }
    let usage = TokenUsage::of(i64::try_from(used.tokens).unwrap_or(i64::MAX), 0);
    let record = embedding::usage_record(&used.connector, &used.model, &usage);
    book(usage, record);
}

/// What all searches of a turn share.
#[derive(Default)]
pub struct TurnSearches {
    /// What they found.
    pub references: TurnReferences,
    /// What the web was asked, and answered.
    asked: Mutex<HashMap<String, Arc<OnceCell<WebFindings>>>>,
}

impl SearchContext {
    /// Of an app without settings and knowledge, for a turn of its own.
    pub fn bare() -> Result<Self> {
        Ok(Self {
            levels: Vec::new(),
            uses: BTreeMap::new(),
            web: Arc::new(WebSearchClient::new()?),
            knowledge: None,
            turn: Arc::default(),
            book: Arc::new(|_, _| {}),
        })
    }

    /// Who does a step, if that is said.
    pub fn uses(&self, step: &str) -> Option<&str> {
        let value = self.uses.get(step).map(|value| value.trim());
        value.filter(|value| !value.is_empty())
    }
}

impl TurnSearches {
    /// Those of a turn that is taken up again, with the references in its journal.
    pub fn resume(references: TurnReferences) -> Self {
        Self {
            references,
            ..Self::default()
        }
    }

    /// The answer to a question that is the same for the same key: who asks it again waits for the first answer. What has
    /// failed is asked again.
    pub(super) async fn ask_once(
        &self,
        key: String,
        ask: impl Future<Output = Result<WebFindings, String>>,
    ) -> Result<WebFindings, String> {
        let cell = Arc::clone(lock(&self.asked).entry(key).or_default());
        cell.get_or_try_init(|| ask).await.cloned()
    }
}
