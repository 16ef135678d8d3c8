//! The end of an agent's part: `Next` sees what came of it and decides what is handed on.

use super::Turn;
use super::agent_run::{AgentRun, AgentRunOutcome};
use super::converse::{StageFailure, Transcript};
use crate::error::Result;
use crate::hook::{CreateResult, NextOutcome, NextResult};
use serde_json::{Map, Value, json};

/// What a turn answers.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnResponse {
    /// What `Next` returned as data.
    pub next: Value,
    /// What `Create` returned.
    pub create: Value,
    /// The model's answer.
    pub completion: Value,
    /// The tool calls.
    pub tools: Vec<Value>,
    /// What hooks want to be known.
    pub metadata: Map<String, Value>,
    /// Who answered.
    pub assistant_id: String,
}

impl TurnResponse {
    /// As scripts and clients see it.
    pub fn to_json(&self, turn: &Turn) -> Value {
        json!({
            "request_id": turn.ids.request_id,
            "context_id": turn.ids.context_id,
            "trace_id": turn.ids.request_id,
            "chat_id": turn.ids.chat_id,
            "assistant_id": self.assistant_id,
            "create": self.create,
            "next": self.next,
            "completion": self.completion,
            "tools": self.tools,
            "metadata": self.metadata,
        })
    }
}

/// Calls `Next` and does what it decides. Without one, the answer or the failure stands.
pub(super) async fn next(
    turn: &mut Turn,
    leg: &AgentRun,
    mut heard: Transcript,
) -> Result<AgentRunOutcome> {
    turn.live_turn.set_closing(true).await;
    let mut response = TurnResponse {
        create: turn
            .replay
            .created(leg.index)
            .flatten()
            .map_or(Value::Null, CreateResult::shown),
        completion: heard.completion.take().unwrap_or_default(),
        tools: turn.answers.tools.clone(),
        assistant_id: leg.agent.id.clone(),
        ..TurnResponse::default()
    };
    let failure = heard.failure.take();
    if failure
        .as_ref()
        .is_some_and(|failed| failed.stage != "tool")
    {
        response.completion = Value::Null;
    }
    let decided = decide(turn, leg, &response, (heard.messages, failure.as_ref())).await?;
    let recovers = decided
        .as_ref()
        .is_some_and(|decided| decided.outcome.recovers());
    if let Some(failed) = failure {
        if !recovers {
            return Err(failed.error);
        }
        turn.warn(&format!(
            "the turn goes on after a failure ({}): {}",
            failed.stage, failed.error
        ));
    }
    for (name, value) in decided.iter().flat_map(|decided| &decided.metadata) {
        turn.root().set_metadata(name, value.clone());
    }
    let Some(decided) = decided else {
        return Ok(AgentRunOutcome::Done(Box::new(response)));
    };
    response.metadata.extend(decided.metadata);
    response.next = match decided.outcome {
        NextOutcome::Delegate(delegate) => return Ok(AgentRunOutcome::To(delegate)),
        NextOutcome::Data(data) => data,
        NextOutcome::Object(object) => object,
    };
    Ok(AgentRunOutcome::Done(Box::new(response)))
}

/// What `Next` says to what came of the agent's part, if there is one.
async fn decide(
    turn: &Turn,
    leg: &AgentRun,
    response: &TurnResponse,
    (messages, failure): (Vec<Value>, Option<&StageFailure>),
) -> Result<Option<NextResult>> {
    if !leg.hooks.has("Next") {
        return Ok(None);
    }
    let mut payload = json!({
        "messages": null,
        "completion": response.completion,
        "tools": response.tools,
        "error": failure.map(|failed| failed.error.message.as_str()),
        "search": null,
    });
    payload["messages"] = Value::Array(messages);
    if let Some(failed) = failure {
        payload["error_code"] = failed.error.code.as_str().into();
        payload["error_stage"] = failed.stage.into();
    }
    let scope = turn.scope(leg, "Next")?;
    let options = leg.call.options(&turn.settings.metadata);
    leg.hooks.next(&scope, payload, options).await
}
