//! The end of an agent's part: `Next` sees what came of it and decides what is handed on.

use super::Turn;
use super::leg::{Handover, Leg};
use super::model::Heard;
use super::plan::Plan;
use crate::error::Result;
use crate::hook::Nexted;
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

pub(super) async fn next(turn: &mut Turn, leg: &Leg, _plan: &Plan, heard: Heard) -> Result<Handover> {
    let mut response = Response {
        create: turn.replay.created(leg.at).cloned().unwrap_or_default(),
        completion: heard.completion.clone().unwrap_or_default(),
        tools: turn.said.tools.clone(),
        assistant_id: leg.agent.id.clone(),
        ..Response::default()
    };
    turn.live.begin_next();
    let failure = heard.failure;
    let mut payload = json!({
        "messages": heard.messages,
        "completion": if failure.is_some() { Value::Null } else { response.completion.clone() },
        "tools": response.tools,
        "error": failure.as_ref().map(|failed| failed.error.message.as_str()),
        "search": null,
    });
    if let Some(failed) = &failure {
        payload["error_code"] = failed.error.code.as_str().into();
        payload["error_stage"] = failed.stage.into();
    }
    let scope = turn.scope(leg);
    let node = turn.trace.hook("Next", &leg.agent.id);
    let options = leg.call.options(&turn.settings.metadata);
    let returned = leg.hooks.next(&scope, payload, options).await;
    turn.trace.settle(node, &returned);
    let decided = match returned? {
        None => Nexted::default(),
        Some(returned) => Nexted::read(&returned)?,
    };
    response.metadata.extend(decided.metadata.clone());
    let recovers = decided.delegate.is_some() || decided.has_data();
    if let Some(failed) = failure {
        if !recovers {
            return Err(failed.error);
        }
        turn.trace.warn(&format!("the turn goes on after {}: {}", failed.stage, failed.error));
    }
    if let Some(delegate) = decided.delegate {
        return Ok(Handover::To(delegate));
    }
    response.next = decided.next();
    Ok(Handover::Done(Box::new(response)))
}
