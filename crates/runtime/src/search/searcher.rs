//! Runs one search for somebody. It never fails: what went wrong is in the result.

use super::{ItemSource, SearchContext, SearchKind, SearchRequest, SearchResult, SearchTarget};
use crate::access::Authorized;
use crate::app::{App, SearchSettings};
use crate::error::Error;
use crate::model::TableModels;
use crate::trace::{NodeOptions, SearchFacts, StepFacts, TraceNode};
use crate::uses::UsesAsker;
use ambit_storage::clock::to_millis;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::{Instant, timeout};

/// Searches for one agent, as its caller.
pub struct Searcher {
    /// The app.
    pub app: Arc<App>,
    /// Its models.
    pub models: Arc<TableModels>,
    /// Who may see what is found.
    pub authorized: Authorized,
    /// The agent.
    pub agent: String,
    /// The settings that count.
    pub settings: SearchSettings,
    /// What its searches are made with.
    pub context: SearchContext,
    /// Who is asked for steps that agents and tools do.
    pub asker: Arc<dyn UsesAsker>,
    /// The node of the search, below which its parts are traced.
    pub node: TraceNode,
}

impl Searcher {
    /// The node of a search below others.
    pub fn search_node(parents: &[TraceNode], query: &str, kinds: &[&str]) -> SearchNode {
        let options = NodeOptions {
            icon: "search".to_owned(),
            ..NodeOptions::new("search", "search")
        };
        let known = json!({"query": query, "types": kinds});
        let options = options.with_input(known.clone()).with_metadata(known);
        SearchNode(TraceNode::join(parents, options))
    }

    /// Runs a search, within the time that one may take. Its items have no ids yet. Dropping the future ends it.
    pub async fn run(&self, request: &SearchRequest, source: ItemSource) -> SearchResult {
        let started = Instant::now();
        let kind = request.target.kind();
        let mut result = SearchResult {
            kind,
            query: request.query.clone(),
            source,
            ..SearchResult::default()
        };
        let step = NodeOptions::new("step", kind.name());
        let step = step.with_input(json!({"query": request.query}));
        let step = step.with_facts(StepFacts::Search(self.facts(request)));
        let step = SearchNode(self.node.add(step));
        let time = self.settings.options.timeout;
        let searched = timeout(time, self.search(request, &mut result)).await;
        match searched {
            Ok(Ok(())) => {}
            Ok(Err(why)) => result.fail(why),
            Err(_) => result.fail(format!("timed out after {} s", time.as_secs_f64())),
        }
        self.mark(&mut result);
        if let Some(rerank) = request.rerank {
            let items = std::mem::take(&mut result.items);
            let top_n = rerank.top_n.unwrap_or(self.settings.rerank.top_n);
            let left = time.saturating_sub(started.elapsed());
            let ranked = self.rerank_within(left, &request.query, items, top_n);
            result.set_items(ranked.await);
        }
        result.duration_ms = to_millis(started.elapsed()).unsigned_abs();
        step.end(&result);
        result
    }

    /// What traces tell of a search.
    fn facts(&self, request: &SearchRequest) -> SearchFacts {
        let settings = &self.settings;
        let sources = match &request.target {
            SearchTarget::Web(_) => {
                let asked = self.context.uses("web");
                vec![asked.unwrap_or(&settings.web.provider).to_owned()]
            }
            SearchTarget::Kb(target) => {
                let named = target.collections.as_ref();
                named.unwrap_or(&settings.kb.collections).clone()
            }
            SearchTarget::Db(target) => {
                let named = target.models.as_ref();
                named.unwrap_or(&settings.db.models).clone()
            }
        };
        SearchFacts {
            sources,
            limit: request.limit,
        }
    }

    async fn search(
        &self,
        request: &SearchRequest,
        result: &mut SearchResult,
    ) -> Result<(), String> {
        match &request.target {
            SearchTarget::Web(target) => self.search_web(request, target, result).await,
            SearchTarget::Kb(target) => self.search_kb(request, target, result).await,
            SearchTarget::Db(target) => self.search_db(request, target, result).await,
        }
    }

    /// A failure as whoever has searched is told it. What has caused it is for the log.
    pub(super) fn told(&self, error: Error) -> String {
        if let Some(cause) = &error.cause {
            tracing::warn!(
                agent.id = self.agent,
                error.code = error.code.as_str(),
                error.cause = cause.to_string(),
                "a search failed"
            );
        }
        error.message
    }

    /// Says of the items where they were found and who looked for them. What a person gave stays that.
    fn mark(&self, result: &mut SearchResult) {
        for item in &mut result.items {
            item.kind = result.kind;
            if item.source != ItemSource::User {
                item.source = result.source;
            }
            item.weight = self.weight(item.source);
        }
    }

    /// How much an item counts, by who looked for it.
    pub fn weight(&self, source: ItemSource) -> f64 {
        let weights = &self.settings.weights;
        match source {
            ItemSource::User => weights.user,
            ItemSource::Hook => weights.hook,
            ItemSource::Auto => weights.auto,
        }
    }
}

/// What can be searched with these settings, where the web is searched by whom `uses.web` names.
pub fn configured_kinds(settings: &SearchSettings, uses_web: Option<&str>) -> Vec<SearchKind> {
    let is_configured = |kind: &SearchKind| match kind {
        SearchKind::Web => match uses_web {
            Some(value) => value != "disabled",
            None => !settings.web.provider.is_empty(),
        },
        SearchKind::Kb => !settings.kb.collections.is_empty(),
        SearchKind::Db => !settings.db.models.is_empty(),
    };
    SearchKind::ALL.into_iter().filter(is_configured).collect()
}

/// A search, or a part of one, in the trace. One that is dropped was cancelled.
pub struct SearchNode(TraceNode);

impl SearchNode {
    /// A part of a search.
    pub fn begin(parent: &TraceNode, name: &str, input: Value) -> Self {
        Self(parent.add(NodeOptions::new("step", name).with_input(input)))
    }

    /// Ends it with what came of a search: items are named, and neither their contents nor rows are shown.
    pub fn end(&self, result: &SearchResult) {
        result.notes.iter().for_each(|note| self.0.warn(note));
        if let Some(why) = &result.error {
            return self.0.fail(why);
        }
        let items = result.items.iter();
        let items = items.map(|item| json!({"title": item.title, "url": item.url}));
        let items: Vec<Value> = items.collect();
        self.0.set_metadata("results", result.total.into());
        self.complete(
            json!({"count": result.total, "duration_ms": result.duration_ms, "items": items}),
        );
    }

    /// The node itself.
    pub fn node(&self) -> &TraceNode {
        &self.0
    }

    /// Ends it as it should end.
    pub fn complete(&self, output: Value) {
        self.0.complete(Some(output));
    }

    /// Says that something is not as it should be.
    pub fn warn(&self, text: &str) {
        self.0.warn(text);
    }

    /// Says that it failed.
    pub fn fail(&self, why: &str) {
        self.0.fail(why);
    }
}

impl Drop for SearchNode {
    fn drop(&mut self) {
        if self.0.is_running() {
            self.0.cancel();
        }
    }
}
