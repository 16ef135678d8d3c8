//! Calls of models that make summaries while a conversation is made shorter: they are calls of the turn that needs it.

use super::manifest::ManifestTarget;
use super::step::{model_facts, node_options};
use crate::app::Connector;
use crate::chat::{LayeredValue, LayeredValues, OptionLayer};
use crate::error::Result;
use crate::llm::EncodedCall;
use crate::lock::lock;
use crate::manifest::{self, ModelCallEnd, ModelCallManifest};
use crate::summariser::{SummaryAnswer, SummaryObserver};
use crate::trace::{ModelFacts, StepFacts, TraceNode};
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use crate::turn::usage::TurnUsage;
use ambit_storage::clock::{Clock, Millis};
use ambit_storage::truncation::TruncationStrategy;
use serde_json::{Map, json};
use std::sync::{Arc, Mutex};

/// Notes these calls in the trace of a turn.
struct SummaryCalls {
    usage: Arc<TurnUsage>,
    /// The node of the agent.
    node: TraceNode,
    /// What the manifests of all of them say.
    common: ModelCallManifest,
    clock: Clock,
    most: usize,
    running: Mutex<Option<RunningSummary>>,
}

/// The call that is under way.
struct RunningSummary {
    call_id: String,
    connector: Connector,
    node: TraceNode,
    facts: ModelFacts,
    began: Millis,
}

/// What makes the conversation shorter for a run of an agent, whose calls are noted; `None` where nothing is traced, or the agent does
/// not say how.
pub(in crate::turn) fn observed_truncation(
    turn: &Turn,
    run: &AgentRun,
) -> Result<Option<Arc<dyn TruncationStrategy>>> {
    let node = turn.agent_node(run);
    if !node.trace().is_on() {
        return Ok(None);
    }
    let connector = run.agent.package.connector.as_str();
    let connector = LayeredValue::new(OptionLayer::Package, connector.into());
    let options = turn.context.core.stores.options();
    let calls = SummaryCalls {
        usage: turn.journal.usage.clone(),
        node,
        common: ModelCallManifest {
            request_id: turn.context.id().to_owned(),
            trace_id: turn.output.trace.id().to_owned(),
            agent: run.agent.id.clone(),
            thread_id: turn.output.author.thread.clone(),
            settings: LayeredValues::from_iter([("connector".to_owned(), connector)]),
            ..ModelCallManifest::default()
        },
        clock: options.clock.clone(),
        most: options.limits.value,
        running: Mutex::default(),
    };
    let loaded = &turn.context.loaded;
    loaded.observed_truncation(&run.agent.id, Arc::new(calls))
}

impl SummaryObserver for SummaryCalls {
    fn begin(&self, connector: &Connector, encoded: &EncodedCall<'_>) {
        let number = self.usage.begin_call();
        let call_id = manifest::call_id(&self.common.request_id, number);
        let facts = model_facts(connector);
        let node = node_options(connector, &call_id);
        let node = node.with_input(json!({"call_id": call_id}));
        let node = node.with_facts(StepFacts::Model(facts.clone()));
        let node = self.node.add(node);
        let began = self.clock.now();
        let said = Map::from(encoded.call.options.clone()).into_iter();
        let said = said.map(|(name, value)| (name, LayeredValue::new(OptionLayer::Call, value)));
        let manifest = ModelCallManifest {
            call_id: call_id.clone(),
            node_id: node.id(),
            index: number,
            at: began,
            options: said.collect(),
            ..self.common.clone()
        };
        let target = ManifestTarget {
            request_id: &self.common.request_id,
            connector,
            trace: node.trace(),
            usage: &self.usage,
            most: self.most,
            has_listener: false,
            offered: None,
        };
        target.note(manifest, encoded);
        *lock(&self.running) = Some(RunningSummary {
            call_id,
            connector: connector.clone(),
            node,
            facts,
            began,
        });
    }

    fn end(&self, summary: &SummaryAnswer) {
        let Some(call) = lock(&self.running).take() else {
            return;
        };
        let answer = &summary.answer;
        let failure = summary.failure.as_ref().map(ToString::to_string);
        let cost = self.usage.cost(answer, &call.connector);
        let attempts = manifest::attempts(call.began, &summary.retries, failure.clone());
        let end = ModelCallEnd {
            duration_ms: Some(self.clock.now() - call.began),
            ..ModelCallEnd::of(answer, cost, attempts)
        };
        let usage = end.usage.clone();
        let RunningSummary { node, facts, .. } = call;
        node.set_facts(StepFacts::Model(ModelFacts { usage, ..facts }));
        node.end_call(&call.call_id, end);
        match failure {
            None => node.complete(None),
            Some(why) => node.fail(&why),
        }
    }
}
