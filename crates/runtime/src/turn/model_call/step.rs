//! A model call as the stream and the trace show it.

use super::ModelCallFailure;
use crate::app::Connector;
use crate::chat::{ChatContent, Role};
use crate::llm::{ModelAnswer, ModelCall};
use crate::search::injection::without_contents;
use crate::trace::TraceNode;
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use serde_json::{Value, json};
use std::borrow::Cow;

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
        let node = turn.node(run, "llm", &connector, traced(call));
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
