//! A model call as the stream and the trace show it.

use super::ModelCallFailure;
use crate::app::Connector;
use crate::llm::{ModelAnswer, ModelCall};
use crate::trace::TraceNode;
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use serde_json::json;

/// A step that has begun.
pub(super) struct ModelCallStep {
    index: usize,
    connector: String,
    started_at: i64,
    node: TraceNode,
}

impl ModelCallStep {
    pub fn begin(turn: &mut Turn, run: &AgentRun, connector: &Connector, call: &ModelCall) -> Self {
        let connector = connector.id.clone();
        let node = turn.node(run, "llm", &connector, json!(call));
        let answers = &mut turn.output.answers;
        let index = answers.calls;
        answers.calls += 1;
        answers.connector = Some(connector.clone());
        let data = json!({"step": "llm", "index": index, "connector": connector});
        turn.output.outbox.emit("step_start", data);
        Self {
            index,
            connector,
            started_at: turn.context.now(),
            node,
        }
    }

    pub fn end(self, turn: &Turn, answer: &ModelAnswer, failure: Option<&ModelCallFailure>) {
        match failure {
            None => self.node.complete(Some(answer.message().to_json())),
            Some(failure) => self.node.fail(&failure.error().message),
        }
        let data = json!({
            "step": "llm", "index": self.index, "connector": self.connector,
            "duration_ms": turn.context.now() - self.started_at,
            "finish_reason": answer.finish_reason, "usage": answer.usage,
        });
        turn.output.outbox.emit("step_end", data);
    }
}
