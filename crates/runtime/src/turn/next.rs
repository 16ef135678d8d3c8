//! The end of an agent's part: `Next` sees what came of it and decides what is handed on.

use super::Turn;
use super::leg::{Handover, Leg};
use super::model::Heard;
use crate::error::Result;
use crate::hook::{Created, Outcome};
use crate::journal::{Step, Unstored};
use serde_json::{Map, Value, json};

/// What a turn answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Response {
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

impl Response {
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
pub(super) async fn next(turn: &mut Turn, leg: &Leg, heard: Heard) -> Result<Handover> {
    turn.live.set_closing(true).await;
    let mut response = Response {
        create: turn
            .replay
            .created(leg.at)
            .flatten()
            .map_or(Value::Null, Created::shown),
        completion: heard.completion.unwrap_or_default(),
        tools: turn.said.tools.clone(),
        assistant_id: leg.agent.id.clone(),
        ..Response::default()
    };
    let failure = heard.failure;
    if failure.is_none() && leg.hooks.has("Next") {
        turn.note_answer()?;
    }
    if failure
        .as_ref()
        .is_some_and(|failed| failed.stage != "tool")
    {
        response.completion = Value::Null;
    }
    let mut payload = json!({
        "messages": heard.messages,
        "completion": response.completion,
        "tools": response.tools,
        "error": failure.as_ref().map(|failed| failed.error.message.as_str()),
        "search": null,
    });
    if let Some(failed) = &failure {
        payload["error_code"] = failed.error.code.as_str().into();
        payload["error_stage"] = failed.stage.into();
    }
    let scope = turn.scope(leg)?;
    let options = leg.call.options(&turn.settings.metadata);
    let decided = leg.hooks.next(&scope, payload, options).await?;
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
        turn.trace.root().set_metadata(name, value.clone());
    }
    let Some(decided) = decided else {
        return Ok(Handover::Done(Box::new(response)));
    };
    response.metadata.extend(decided.metadata);
    response.next = match decided.outcome {
        Outcome::Delegate(delegate) => return Ok(Handover::To(delegate)),
        Outcome::Data(data) => data,
        Outcome::Object(object) => object,
    };
    Ok(Handover::Done(Box::new(response)))
}

impl Turn {
    /// Notes the answer that `Next` is about to see: the model is not asked once more if `Next` does not live to its end.
    fn note_answer(&mut self) -> Result<()> {
        let (leg, round) = self.at;
        let spoken = self.said.answers.last();
        let Some(spoken) = spoken.filter(|it| it.at == self.at) else {
            return Ok(());
        };
        let is_noted = self.replay.answered(leg, round).is_some();
        // What was not shown could not be told from what is stored; calls are open until the answer is.
        if is_noted || spoken.shown.is_empty() || !spoken.answer.tool_calls.is_empty() {
            return Ok(());
        }
        let step = Step::Answered {
            leg,
            round,
            answer: Box::new(spoken.answer.clone()),
            unstored: Some(Unstored {
                agent: spoken.agent.clone(),
                shown: spoken.shown.clone(),
            }),
        };
        self.note(step)
    }
}
