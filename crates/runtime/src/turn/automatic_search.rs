//! The search before an agent's model call: what is needed is searched for, put in order and shown to the model. Whatever goes
//! wrong with it, the turn goes on without.

mod decision;
mod injected;
mod progress;
mod ranking;
mod settled;
mod step;
mod steps;

use super::Turn;
use super::agent_run::AgentRun;
use super::converse::Transcript;
use super::create::ModelCallPlan;
use super::model_call::ModelCallInput;
use super::model_input;
use crate::app::{Connector, EffectiveSearch};
use crate::error::Result;
use crate::search::searcher::SearchNode;
use crate::search::{AutomaticSearch, ItemSource, SearchItem, SearchResult, Searcher};
use crate::trace::{LogLevel, Trace, TraceNode};
use crate::uses::UsesTarget;
use decision::{AllowedSearch, SearchDecision, SearchQuestion};
use futures::FutureExt;
use injected::InjectedSearch;
use progress::{SearchProgress, SearchStage};
use serde_json::{Map, Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use step::SearchStepAsker;
use tokio::time::Instant;

/// One search before a model's call.
struct AgentSearch<'a> {
    asker: SearchStepAsker<'a>,
    plan: &'a ModelCallPlan,
    effective: &'a EffectiveSearch,
    searcher: Searcher,
    allowed: AllowedSearch,
    question: SearchQuestion,
    progress: SearchProgress,
}

/// What came of all steps.
struct SearchFindings {
    query: String,
    /// One for each type, as far as they do not tell of items.
    results: Vec<SearchResult>,
    /// All items, the best first.
    items: Vec<SearchItem>,
}

impl Turn {
    /// Searches for the agent, unless that is off, and tells its model what was found. A search that an earlier attempt has made
    /// is not made again.
    pub(super) async fn search_before_model(
        &mut self,
        input: &ModelCallInput<'_>,
        connectors: &[Arc<Connector>],
        transcript: &mut Transcript,
    ) {
        let (run, plan) = (input.run, input.plan);
        let known = self.journal.replay.searched(run.index).cloned();
        if known.is_none() && !has_search_settings(run, plan) {
            return;
        }
        let effective = self.effective_search(run);
        let found = match known {
            Some(known) => Some(known),
            None => {
                let messages = &transcript.messages[transcript.instructions..];
                let question = SearchQuestion::of(messages);
                let searched = self.search_now(run, plan, &effective, question);
                let searched = AssertUnwindSafe(searched.boxed()).catch_unwind().await;
                searched.unwrap_or_else(|_| {
                    self.output.warn("search: a defect of Ambit ended it");
                    None
                })
            }
        };
        let Some(found) = found.filter(|found| !found.types.is_empty()) else {
            return;
        };
        let injected = InjectedSearch {
            settings: &effective.settings,
            found: &found,
            room: model_input::room_for_references(self, input, connectors, transcript),
        };
        self.inject(run, &injected, transcript);
        transcript.search = Some(Box::new(found));
    }

    /// The settings of an agent's searches: what a client says is no part of them.
    fn effective_search(&self, run: &AgentRun) -> EffectiveSearch {
        let levels = self.search_context(run).levels;
        let levels: Vec<&Map<String, Value>> = levels.iter().collect();
        EffectiveSearch::of(&self.context.loaded.app, &run.agent, &levels)
    }

    /// Whether a client has said how the agent is called.
    fn is_clients(&self, run: &AgentRun) -> bool {
        run.index == 0 && !self.context.is_nested()
    }

    async fn search_now(
        &mut self,
        run: &AgentRun,
        plan: &ModelCallPlan,
        effective: &EffectiveSearch,
        question: Option<SearchQuestion>,
    ) -> Option<AutomaticSearch> {
        let question = question.filter(|_| !run.skip.search)?;
        let allowed = self.allowed_search(run, plan, effective)?;
        let started = Instant::now();
        let traced = self.search_node(run, &question, &allowed);
        let node = traced.node().clone();
        for fault in &effective.faults {
            node.warn(format!("search: {fault}"));
        }
        if question.is_cut {
            node.warn("search: the query is cut to 4000 characters");
        }
        let options = &effective.settings.options;
        let searcher = match self.searcher(run, effective, &node) {
            Ok(searcher) => searcher,
            Err(error) => {
                node.fail(&error.message);
                return None;
            }
        };
        let mut search = AgentSearch {
            asker: SearchStepAsker {
                turn: self,
                run,
                node: &node,
                deadline: started + options.timeout,
            },
            plan,
            effective,
            searcher,
            allowed,
            question,
            progress: self.search_progress(run, options.progress),
        };
        let done = AssertUnwindSafe(search.run()).catch_unwind().await;
        let mut progress = search.progress;
        let (found, stage) = match done {
            Ok(Some(findings)) => {
                let found = self.number(findings);
                let stage = stage_of(&found);
                (found, stage)
            }
            Ok(None) => (AutomaticSearch::default(), SearchStage::Skipped),
            Err(_) => {
                node.warn("search: a defect of Ambit ended it");
                (AutomaticSearch::default(), SearchStage::Failed)
            }
        };
        progress.finish(stage);
        end_node(&traced, &found, started.elapsed());
        self.settle_search(run, &found).await;
        Some(found)
    }

    /// What may be searched for an agent, if it is searched for at all.
    fn allowed_search(
        &self,
        run: &AgentRun,
        plan: &ModelCallPlan,
        effective: &EffectiveSearch,
    ) -> Option<AllowedSearch> {
        let created = self.journal.replay.created(run.index).flatten();
        let references = self.journal.searches.references.all();
        let by_hooks = references
            .iter()
            .filter(|item| item.source == ItemSource::Hook);
        let decision = SearchDecision {
            agent: &run.agent,
            call: &plan.call,
            created: created.and_then(|created| created.call.search.as_ref()),
            called: run.call.search.as_ref().filter(|_| !self.is_clients(run)),
            client: run.call.search.as_ref().filter(|_| self.is_clients(run)),
            metadata: &self.context.settings.metadata,
            settings: &effective.settings,
            hook_references: by_hooks.count(),
        };
        for unknown in decision.unknown_types() {
            let rule = "none of web, kb and db";
            self.output
                .warn(&format!("search: type \"{unknown}\" is {rule}"));
        }
        let allowed = decision.take()?;
        let named = plan.call.uses("search").unwrap_or("builtin");
        match UsesTarget::read(&self.context.loaded.app, named) {
            Ok(_) => Some(allowed),
            Err(why) => {
                self.output
                    .warn(&format!("no automatic search: uses.search: {why}"));
                None
            }
        }
    }

    fn search_node(
        &self,
        run: &AgentRun,
        question: &SearchQuestion,
        allowed: &AllowedSearch,
    ) -> SearchNode {
        let types: Vec<&str> = allowed.types.iter().map(|kind| kind.name()).collect();
        let parents = [self.agent_node(run)];
        Searcher::search_node(&parents, &question.query, &types)
    }

    /// What searches as the agent's caller. What agents and tools see of results is in no trace.
    fn searcher(
        &self,
        run: &AgentRun,
        effective: &EffectiveSearch,
        node: &TraceNode,
    ) -> Result<Searcher> {
        let untraced = Trace::off(self.context.id()).root();
        let client = self.uses_client(run, "search", untraced)?;
        Ok(Searcher {
            app: self.context.loaded.app.clone(),
            models: self.context.loaded.processes.models.clone(),
            authorized: self.context.request.authorized.clone(),
            agent: run.agent.id.clone(),
            settings: effective.settings.clone(),
            context: self.search_context(run),
            asker: Arc::new(client),
            node: node.clone(),
        })
    }

    fn search_progress(&self, run: &AgentRun, is_shown: bool) -> SearchProgress {
        SearchProgress {
            app: self.context.loaded.app.clone(),
            agent: run.agent.clone(),
            locale: self.context.settings.locale.clone(),
            outbox: self.agent_outbox(run),
            is_shown: is_shown && !run.skip.output,
            message: None,
        }
    }

    /// Makes references of what was found, in its order.
    fn number(&self, findings: SearchFindings) -> AutomaticSearch {
        let mut all = SearchResult::default();
        all.set_items(findings.items);
        self.journal.searches.references.add([&mut all]);
        for note in &all.notes {
            self.output.warn(&format!("search: {note}"));
        }
        let mut results = findings.results;
        if let Some(why) = &all.error {
            results
                .iter_mut()
                .for_each(|result| result.fail(why.as_str()));
        }
        AutomaticSearch::of(findings.query, results, &all.items)
    }
}

/// Whether the agent or the call says anything about search. Else there is nothing to decide, and nothing to warn of.
fn has_search_settings(run: &AgentRun, plan: &ModelCallPlan) -> bool {
    let call = &plan.call;
    run.agent.package.search.is_some() || call.search.is_some() || call.uses("search").is_some()
}

fn stage_of(found: &AutomaticSearch) -> SearchStage {
    let count = found.items().len();
    let mut results = found.results.iter();
    let has_failed = results.len() > 0 && results.all(|result| result.error.is_some());
    match (count, has_failed) {
        (0, true) => SearchStage::Failed,
        (0, false) => SearchStage::Nothing,
        _ => SearchStage::Found(count),
    }
}

fn end_node(node: &SearchNode, found: &AutomaticSearch, took: Duration) {
    let items = found.items();
    let named = items
        .iter()
        .map(|item| json!({"id": item.citation_id, "title": item.title, "url": item.url}));
    let named: Vec<Value> = named.collect();
    if !named.is_empty() {
        node.node().log(LogLevel::Info, "references", named.into());
    }
    for result in &found.results {
        if let Some(why) = &result.error {
            let name = result.kind.name();
            node.node()
                .warn(format!("the search of {name} failed: {why}"));
        }
    }
    let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    node.complete(json!({"count": items.len(), "duration_ms": took}));
}
