//! A model call as the stream and the trace show it.

use super::{ModelCallFailure, ModelCallResult};
use crate::app::{Connector, TelemetryContent};
use crate::call_metrics;
use crate::chat::{ChatContent, Role};
use crate::error::ErrorCode;
use crate::llm::retry::FailedTry;
use crate::llm::{ModelAnswer, ModelCall, TokenUsage};
use crate::manifest::{ModelCallEnd, attempts, call_id};
use crate::net::OutgoingTrace;
use crate::search::injection::without_contents;
use crate::trace::{ModelFacts, NodeOptions, StepFacts, TraceNode};
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use serde_json::{Map, Number, Value, json};
use std::borrow::Cow;
use tokio::time::Instant;

/// A step that has begun.
pub(super) struct ModelCallStep {
    index: usize,
    number: u64,
    call_id: String,
    connector: String,
    started_at: i64,
    trace: ModelCallTrace,
}

/// Where a call is traced, and what is known of it.
#[derive(Clone)]
pub(in crate::turn) struct ModelCallTrace {
    node: TraceNode,
    facts: ModelFacts,
    began: Instant,
}

impl ModelCallStep {
    pub fn begin(turn: &mut Turn, run: &AgentRun, connector: &Connector, call: &ModelCall) -> Self {
        let number = turn.journal.usage.begin_call();
        let call_id = call_id(turn.context.id(), number);
        let node = turn.agent_node(run);
        // Spans that say what was said are made of the trace alone.
        let input = match turn.context.loaded.app.settings.telemetry.content {
            TelemetryContent::Full => traced(call),
            TelemetryContent::None => json!({"call_id": call_id}),
        };
        let options = node_options(connector, &call_id).with_input(input);
        let trace = ModelCallTrace::begin(&node, connector, call, options);
        let connector = connector.id.clone();
        let answers = &mut turn.output.answers;
        let index = answers.calls;
        answers.calls += 1;
        answers.connector = Some(connector.clone());
        answers.call_id = Some(call_id.clone());
        let data =
            json!({"step": "llm", "index": index, "connector": connector, "call_id": call_id});
        emit(turn, "step_start", data);
        Self {
            index,
            number,
            call_id,
            connector,
            started_at: turn.context.now(),
            trace,
        }
    }

    /// The first piece of the answer is there.
    pub fn answered(&mut self, turn: &Turn) {
        if !turn.context.is_nested() {
            let at = turn.context.now();
            turn.journal.usage.note_first_token(at);
        }
        let millis = self.trace.began.elapsed().as_secs_f64() * 1_000.0;
        self.trace.facts.first_chunk_ms = Number::from_f64(millis);
    }

    /// The id of the call.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The call's number in its turn, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The node that traces it.
    pub fn node(&self) -> &TraceNode {
        &self.trace.node
    }

    /// Where it is traced.
    pub fn trace(&self) -> &ModelCallTrace {
        &self.trace
    }

    /// When its first try began.
    pub fn began(&self) -> Instant {
        self.trace.began
    }

    /// Ends it, and notes what came of it after these tries.
    pub fn end(self, turn: &Turn, result: &ModelCallResult, failed: &[FailedTry]) {
        let (answer, failure) = (&result.answer, result.failure.as_ref());
        let code = failure.map(|failure| &failure.error().code);
        self.trace.note_end(result, code, failed.len() + 1);
        let node = &self.trace.node;
        let end = self.call_end(turn, result, failed);
        let usage = &turn.journal.usage;
        if node.trace().is_on()
            && let Err(error) = usage.note_call_end(self.number, &self.call_id, &end)
        {
            tracing::warn!(request.id = turn.context.id(), %error, "what came of a call of a model is not kept");
        }
        node.end_call(&self.call_id, end);
        match failure {
            None => node.complete(Some(answer.message().to_json())),
            Some(failure) => node.fail(&failure.error().message),
        }
        let mut data = json!({
            "step": "llm", "index": self.index, "connector": self.connector, "call_id": self.call_id,
            "duration_ms": turn.context.now() - self.started_at,
            "finish_reason": answer.finish_reason, "usage": answer.usage,
        });
        if failure.is_some_and(ModelCallFailure::is_retried) {
            data["retried"] = true.into();
        }
        emit(turn, "step_end", data);
    }

    /// What came of the call, as its manifest says it.
    fn call_end(
        &self,
        turn: &Turn,
        result: &ModelCallResult,
        failed: &[FailedTry],
    ) -> ModelCallEnd {
        let last = result.failure.as_ref();
        let last = last.map(|failure| failure.error().message.clone());
        let attempts = attempts(self.started_at, failed, last);
        ModelCallEnd {
            ttft_ms: self.trace.ttft_ms(),
            duration_ms: Some(turn.context.now() - self.started_at),
            ..ModelCallEnd::of(&result.answer, result.cost.clone(), attempts)
        }
    }
}

impl ModelCallTrace {
    fn begin(
        parent: &TraceNode,
        connector: &Connector,
        call: &ModelCall,
        node: NodeOptions,
    ) -> Self {
        let options = json!(call.options);
        let options = options.as_object().into_iter().flatten();
        let numbers = options.filter(|(_, value)| value.is_number());
        let facts = ModelFacts {
            options: numbers
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Map<_, _>>(),
            ..model_facts(connector)
        };
        Self {
            node: parent.add(node.with_facts(StepFacts::Model(facts.clone()))),
            facts,
            began: Instant::now(),
        }
    }

    /// From the call to the first piece of its answer.
    fn ttft_ms(&self) -> Option<i64> {
        let millis = self.facts.first_chunk_ms.as_ref()?.as_f64()?;
        Some(millis.round() as i64)
    }

    /// What the request says of it, where its host may know.
    pub fn outgoing(&self) -> Option<OutgoingTrace> {
        self.node.outgoing()
    }

    /// Notes what came of it, and the code of its failure.
    pub fn note(&self, answer: &ModelAnswer, failure: Option<&ErrorCode>) {
        self.node.set_facts(self.ended(answer, failure));
    }

    /// The same, with what clients of the trace see of it.
    fn note_end(&self, result: &ModelCallResult, failure: Option<&ErrorCode>, attempts: usize) {
        let answer = &result.answer;
        let facts = self.ended(answer, failure);
        let cost = result.cost.as_ref();
        let metadata = json!({
            "model": Some(&answer.model).filter(|model| !model.is_empty()).unwrap_or(&self.facts.model),
            "ttft_ms": self.ttft_ms(),
            "usage": answer.usage,
            "cost": cost.map(|cost| Map::from_iter([(cost.currency.clone(), cost.micros.into())])),
            "finish_reason": answer.finish_reason,
            "attempts": attempts,
        });
        self.node.set_facts_with(facts, metadata);
    }

    fn ended(&self, answer: &ModelAnswer, failure: Option<&ErrorCode>) -> StepFacts {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        StepFacts::Model(ModelFacts {
            response_id: some(&answer.id),
            response_model: some(&answer.model),
            finish_reason: some(&answer.finish_reason),
            usage: Some(answer.usage.clone()).filter(|usage| *usage != TokenUsage::default()),
            error_code: failure.map(|code| call_metrics::label(code).to_owned()),
            ..self.facts.clone()
        })
    }
}

/// The node of a call, without what goes in.
pub(super) fn node_options(connector: &Connector, call_id: &str) -> NodeOptions {
    let metadata = json!({"call_id": call_id, "model": connector.model()});
    NodeOptions::new("llm", connector.id.as_str()).with_metadata(metadata)
}

/// What is known of a call by its connector.
pub(super) fn model_facts(connector: &Connector) -> ModelFacts {
    ModelFacts {
        provider: connector.kind.clone(),
        model: connector.model().to_owned(),
        ..ModelFacts::default()
    }
}

/// Tells of a step; one of an agent in a thread of its own names that.
fn emit(turn: &Turn, name: &str, mut data: Value) {
    let output = &turn.output;
    if let Some(thread) = &output.author.thread {
        data["thread_id"] = thread.as_str().into();
    }
    output.outbox.emit(name, data);
}

/// The call as its trace keeps it: what references say is not copied there.
fn traced(call: &ModelCall) -> Value {
    let mut traced = Cow::Borrowed(call);
    for (at, message) in call.messages.iter().enumerate() {
        if let (Role::System, ChatContent::Text(text)) = (&message.role, &message.content)
            && let Some(kept) = without_contents(text)
        {
            traced.to_mut().messages[at].content = ChatContent::Text(kept);
        }
    }
    json!(traced)
}
