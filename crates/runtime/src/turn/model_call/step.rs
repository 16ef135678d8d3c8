//! A model call as the stream and the trace show it.

use super::ModelCallFailure;
use crate::app::Connector;
use crate::call_metrics;
use crate::chat::{ChatContent, Role};
use crate::error::ErrorCode;
use crate::llm::{ModelAnswer, ModelCall, TokenUsage};
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
        let trace = ModelCallTrace::begin(&turn.agent_node(run), connector, call);
        let connector = connector.id.clone();
        let answers = &mut turn.output.answers;
        let index = answers.calls;
        answers.calls += 1;
        answers.connector = Some(connector.clone());
        let data = json!({"step": "llm", "index": index, "connector": connector});
        emit(turn, "step_start", data);
        Self {
            index,
            connector,
            started_at: turn.context.now(),
            trace,
        }
    }

    /// The first piece of the answer is there.
    pub fn answered(&mut self) {
        let millis = self.trace.began.elapsed().as_secs_f64() * 1_000.0;
        self.trace.facts.first_chunk_ms = Number::from_f64(millis);
    }

    /// Where it is traced.
    pub fn trace(&self) -> &ModelCallTrace {
        &self.trace
    }

    pub fn end(self, turn: &Turn, answer: &ModelAnswer, failure: Option<&ModelCallFailure>) {
        let code = failure.map(|failure| &failure.error().code);
        self.trace.note(answer, code);
        let node = &self.trace.node;
        match failure {
            None => node.complete(Some(answer.message().to_json())),
            Some(failure) => node.fail(&failure.error().message),
        }
        let data = json!({
            "step": "llm", "index": self.index, "connector": self.connector,
            "duration_ms": turn.context.now() - self.started_at,
            "finish_reason": answer.finish_reason, "usage": answer.usage,
        });
        emit(turn, "step_end", data);
    }
}

impl ModelCallTrace {
    fn begin(parent: &TraceNode, connector: &Connector, call: &ModelCall) -> Self {
        let options = json!(call.options);
        let options = options.as_object().into_iter().flatten();
        let numbers = options.filter(|(_, value)| value.is_number());
        let facts = ModelFacts {
            provider: connector.kind.clone(),
            model: connector.model().to_owned(),
            options: numbers
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Map<_, _>>(),
            ..ModelFacts::default()
        };
        let node = NodeOptions::new("llm", connector.id.as_str());
        let node = node.with_input(traced(call));
        Self {
            node: parent.add(node.with_facts(StepFacts::Model(facts.clone()))),
            facts,
            began: Instant::now(),
        }
    }

    /// What the request says of it, where its host may know.
    pub fn outgoing(&self) -> Option<OutgoingTrace> {
        self.node.outgoing()
    }

    /// Notes what came of it, and the code of its failure.
    pub fn note(&self, answer: &ModelAnswer, failure: Option<&ErrorCode>) {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        self.node.set_facts(StepFacts::Model(ModelFacts {
            response_id: some(&answer.id),
            response_model: some(&answer.model),
            finish_reason: some(&answer.finish_reason),
            usage: Some(answer.usage.clone()).filter(|usage| *usage != TokenUsage::default()),
            error_code: failure.map(|code| call_metrics::label(code).to_owned()),
            ..self.facts.clone()
        }));
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
