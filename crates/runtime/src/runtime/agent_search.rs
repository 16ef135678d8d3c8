//! Searches outside of turns, with the settings of an agent or of the app.

use super::Runtime;
use crate::access::Authorized;
use crate::app::{AppAgent, EffectiveSearch};
use crate::error::{Error, Result};
use crate::knowledge::StepAsker;
use crate::request::CallOptions;
use crate::search::searcher::configured_kinds;
use crate::search::{
    ItemSource, SearchContext, SearchItem, SearchKind, SearchRequest, SearchResult, Searcher,
};
use crate::trace::Trace;
use ambit_knowledge::KnowledgeItem;
use ambit_storage::ids;
use futures::future::{BoxFuture, join_all};
use std::sync::Arc;

/// What is searched for, and for whom.
#[derive(Clone, Debug)]
pub struct AgentSearchRequest {
    /// The agent whose settings count.
    pub agent: String,
    /// Who may see what is found.
    pub authorized: Authorized,
    /// What is looked for.
    pub query: String,
    /// What is searched; all that the agent is set up for where nothing is named.
    pub types: Vec<SearchKind>,
}

/// What a search of an agent has found.
#[derive(Clone, Debug, Default)]
pub struct AgentSearchAnswer {
    /// One result for each type.
    pub results: Vec<SearchResult>,
    /// All items, the best first.
    pub items: Vec<SearchItem>,
}

impl Runtime {
    /// Whether turns of an agent can search the web for this caller.
    pub fn searches_web(&self, who: &Authorized, agent: &Arc<AppAgent>) -> bool {
        let (searcher, _) = self.searcher(agent, who);
        let kinds = configured_kinds(&searcher.settings, searcher.context.uses("web"));
        kinds.contains(&SearchKind::Web)
    }

    /// Searches as an agent's turn would, without a turn: no model is asked, and nothing is kept.
    pub fn search<'a>(
        &'a self,
        asked: &'a AgentSearchRequest,
    ) -> BoxFuture<'a, Result<AgentSearchAnswer>> {
        Box::pin(async move {
            let agent = self.0.loaded().app.agent(&asked.agent)?;
            let (searcher, is_reranked) = self.searcher(&agent, &asked.authorized);
            let mut kinds = asked.types.clone();
            if kinds.is_empty() {
                kinds = configured_kinds(&searcher.settings, searcher.context.uses("web"));
            }
            if kinds.is_empty() {
                let rule = "is set up to search nothing: its package.yao needs search, kb or db, or name what to search";
                let message = format!("agent \"{}\" {rule}", asked.agent);
                return Err(Error::invalid("types", message));
            }
            let requests: Vec<SearchRequest> = kinds
                .iter()
                .map(|kind| SearchRequest::plain(*kind, &asked.query))
                .collect();
            let running = requests.iter();
            let running = running.map(|request| searcher.run(request, ItemSource::User));
            let results = join_all(running).await;
            let items = results.iter().flat_map(|result| result.items.clone());
            let mut items: Vec<SearchItem> = items.collect();
            if is_reranked {
                let top_n = searcher.settings.rerank.top_n;
                items = searcher.rerank(&asked.query, items, top_n).await;
            }
            Ok(AgentSearchAnswer { results, items })
        })
    }

    /// Puts what was found in collections in order once more, as the app's own settings say, and leaves the first.
    pub fn rerank<'a>(
        &'a self,
        who: &'a Authorized,
        query: &'a str,
        found: Vec<KnowledgeItem>,
        top_n: Option<usize>,
    ) -> BoxFuture<'a, Vec<KnowledgeItem>> {
        Box::pin(async move {
            let (searcher, _) = self.searcher(&AppAgent::default(), who);
            let top_n = top_n.unwrap_or(searcher.settings.rerank.top_n);
            let items = found.iter().map(|item| SearchItem {
                kind: SearchKind::Kb,
                source: ItemSource::User,
                weight: 1.0,
                ..SearchItem::from(item.clone())
            });
            let ranked = searcher.rerank(query, items.collect(), top_n).await;
            let original = |item: &SearchItem| {
                let fields = item.knowledge.as_ref()?;
                let mut all = found.iter();
                let is_it = |it: &&KnowledgeItem| {
                    it.collection == fields.collection && it.chunk_id == fields.chunk_id
                };
                all.find(is_it).cloned()
            };
            ranked.iter().filter_map(original).collect()
        })
    }

    /// What searches with an agent's settings, and whether these say how items are put in order.
    fn searcher(&self, agent: &AppAgent, who: &Authorized) -> (Searcher, bool) {
        let core = &self.0;
        let loaded = core.loaded();
        let effective = EffectiveSearch::of(&loaded.app, agent, &[]);
        let uses = |uses| CallOptions {
            uses,
            ..CallOptions::default()
        };
        let of_app = uses(loaded.app.defaults.uses.clone());
        let merged = of_app.merge(uses(agent.package.uses.clone()));
        let is_reranked = effective.is_reranked || merged.uses("rerank").is_some();
        let context = SearchContext {
            levels: Vec::new(),
            uses: merged.uses,
            web: core.web.clone(),
            knowledge: core.knowledge.get().cloned(),
            turn: Arc::default(),
            book: Arc::new(|_, _| {}),
        };
        let searcher = Searcher {
            app: loaded.app.clone(),
            models: loaded.processes.models.clone(),
            authorized: who.clone(),
            agent: agent.id.clone(),
            settings: effective.settings,
            context,
            asker: Arc::new(StepAsker::acting_for(core, who)),
            node: Trace::off(&ids::unguessable()).root(),
        };
        (searcher, is_reranked)
    }
}
