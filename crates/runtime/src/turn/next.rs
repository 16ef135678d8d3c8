//! The end of an agent's run: `Next` sees what came of it and decides what is handed on.

use super::Turn;
use super::agent_run::{AgentRun, AgentRunOutcome};
use super::converse::{StageFailure, Transcript};
use super::recent_messages;
use crate::chat::ChatMessage;
use crate::error::Result;
use crate::event::BeforeStructuredOutput;
use crate::hook::{CreateResult, NextOutcome, NextResult};
use crate::journal::{ToolCallReport, TurnIds};
use crate::llm::ModelCompletion;
use crate::search::AutomaticSearch;
use serde_json::{Map, Value, json};

/// What a turn answers.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnResponse {
    /// What `Next` returned as data.
    pub next: Value,
    /// What `Create` returned.
    pub create: Option<CreateResult>,
    /// The model's answer.
    pub completion: Option<ModelCompletion>,
    pub tools: Vec<ToolCallReport>,
    /// What hooks add for the client.
    pub metadata: Map<String, Value>,
    /// The agent that answered.
    pub assistant_id: String,
}

impl TurnResponse {
    /// As scripts and clients see it.
    pub fn to_json(&self, ids: &TurnIds) -> Value {
        json!({
            "request_id": ids.request_id,
            "context_id": ids.context_id,
            "trace_id": ids.request_id,
            "chat_id": ids.chat_id,
            "assistant_id": self.assistant_id,
            "create": self.create.as_ref().map(CreateResult::shown),
            "next": self.next,
            "completion": self.completion.as_ref().map(ModelCompletion::to_json),
            "tools": self.tools,
            "metadata": self.metadata,
        })
    }
}

impl Turn {
    /// Calls `Next` and does what it decides. Without one, the answer or the failure stands.
    pub(super) async fn next(
        &mut self,
        run: &AgentRun,
        mut transcript: Transcript,
        failure: Option<StageFailure>,
    ) -> Result<AgentRunOutcome> {
        self.context.live.set_closing(true).await;
        let mut response = TurnResponse {
            create: self.journal.replay.created(run.index).flatten().cloned(),
            completion: transcript.completion.take(),
            tools: self.output.answers.tool_results.clone(),
            assistant_id: run.agent.id.clone(),
            ..TurnResponse::default()
        };
        if failure
            .as_ref()
            .is_some_and(|failed| failed.stage != "tool")
        {
            response.completion = None;
        }
        let decided = self.call_next(run, &response, &transcript, failure.as_ref());
        let decided = decided.await?;
        if let Some(failed) = failure {
            if !decided.as_ref().is_some_and(|next| next.outcome.recovers()) {
                return Err(failed.error);
            }
            tracing::warn!(
                stage = failed.stage,
                error.code = %failed.error.code,
                error.message = self.context.unlogged(&failed.error),
                "a hook turned a failure into an answer"
            );
            self.output.warn(&format!(
                "the turn goes on after a failure ({}): {}",
                failed.stage, failed.error
            ));
        }
        let Some(decided) = decided else {
            return Ok(AgentRunOutcome::Done(Box::new(response)));
        };
        for (name, value) in &decided.metadata {
            self.output.root.set_metadata(name, value.clone());
        }
        response.metadata.extend(decided.metadata);
        response.next = match decided.outcome {
            NextOutcome::Delegate(delegate) => return Ok(AgentRunOutcome::HandOver(delegate)),
            NextOutcome::Data(data) => data,
            NextOutcome::Object(object) => object,
        };
        Ok(AgentRunOutcome::Done(Box::new(response)))
    }

    /// What `Next` returns, if there is one.
    async fn call_next(
        &self,
        run: &AgentRun,
        response: &TurnResponse,
        transcript: &Transcript,
        failure: Option<&StageFailure>,
    ) -> Result<Option<NextResult>> {
        if !run.hooks.has("Next") {
            return Ok(None);
        }
        let limits = &run.hooks.limits().run;
        let given = recent_messages::for_hook(&transcript.messages, limits, &self.output);
        let payload = payload(response, &given, transcript, failure);
        let script = self.script_context(run, "Next")?;
        let options = run.hook_options(&self.context.settings.metadata);
        run.hooks.next(&script, payload, options).await
    }

    /// The response as listeners leave it, if the answer has a form of its own.
    pub(super) async fn restructure(&self, mut response: TurnResponse) -> Result<TurnResponse> {
        let context = &self.context;
        let is_structured = self.output.answers.is_structured;
        if !is_structured || !context.has_listener::<BeforeStructuredOutput>() {
            return Ok(response);
        }
        let Some(completion) = &mut response.completion else {
            return Ok(response);
        };
        let Some(text) = completion.text() else {
            return Ok(response);
        };
        let before = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let event = BeforeStructuredOutput {
            about: context.about(),
            response: before.clone(),
        };
        let after = context.ask(event).await?.response;
        if after != before {
            let text = match after {
                Value::String(text) => text,
                value => value.to_string(),
            };
            completion.content = text.into();
        }
        Ok(response)
    }
}

/// What `Next` is called with.
fn payload(
    response: &TurnResponse,
    messages: &[ChatMessage],
    transcript: &Transcript,
    failure: Option<&StageFailure>,
) -> Value {
    let search = transcript.search.as_deref();
    let searched = search.map(AutomaticSearch::tool_report);
    let called = response.tools.iter().map(|report| json!(report));
    let tools: Vec<Value> = searched.into_iter().chain(called).collect();
    let mut payload = json!({
        "messages": messages,
        "completion": response.completion.as_ref().map(ModelCompletion::to_json),
        "tools": tools,
        "error": failure.map(|failed| failed.error.message.as_str()),
        "search": search.map(AutomaticSearch::payload),
    });
    if let Some(failed) = failure {
        payload["error_code"] = failed.error.code.as_str().into();
        payload["error_stage"] = failed.stage.into();
    }
    payload
}
