//! What becomes of the results of tool calls: they are stored, and shown where the call was.

use super::Turn;
use crate::error::Result;
use crate::journal::Step;
use crate::llm::answer::ToolCall;
use crate::outbox::Speaker;
use crate::request::Skip;
use crate::tool::Outcome;
use ambit_storage::storage::Message;
use serde_json::{Value, json};

impl Turn {
    /// Stages a result for the history.
    pub(super) async fn store_result(
        &self,
        skip: Skip,
        call: &ToolCall,
        outcome: &Outcome,
    ) -> Result<()> {
        if self.request.skip.history || skip.history {
            return Ok(());
        }
        let mut message = Message::result(call.id.clone(), outcome.text.clone());
        message.turn_id = Some(self.ids.request_id.clone());
        if let Some(result) = &mut message.tool_result {
            result.name = Some(call.name.clone());
            result.is_error = outcome.is_error;
        }
        self.session.history().add_message(message).await?;
        Ok(())
    }

    /// Gives each call that nobody will answer any more a result that says why, so that the history goes on being one that
    /// every provider accepts.
    pub(super) async fn close_calls(&mut self, why: &str) -> Result<()> {
        let answers: Vec<_> = self
            .replay
            .answers()
            .map(|(leg, round, answer)| (leg, round, answer.tool_calls.clone()))
            .collect();
        for (leg, round, calls) in answers {
            for (index, call) in calls.iter().enumerate() {
                if self.replay.settled(leg, round, index).is_none() {
                    self.close_call((leg, round, index), call, why).await?;
                }
            }
        }
        Ok(())
    }

    async fn close_call(
        &mut self,
        (leg, round, index): (usize, usize, usize),
        call: &ToolCall,
        why: &str,
    ) -> Result<()> {
        let outcome = failed(why.to_owned());
        self.store_result(self.skip_of(leg), call, &outcome).await?;
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        self.note(Step::Settled {
            leg,
            round,
            index,
            result: json!({"toolcall_id": call.id, "server": null, "tool": call.name, "arguments": arguments,
                "result": null, "error": why, "round": round}),
            text: why.to_owned(),
        })?;
        self.show_result(&self.outbox.speaker(Default::default()), call, &outcome);
        Ok(())
    }

    /// What the agent at this place of the chain leaves out, as far as the journal says.
    pub(super) fn skip_of(&self, leg: usize) -> Skip {
        let options = self.replay.delegated(leg).map(|delegate| &delegate.options);
        let skip = options.and_then(|options| options.get("skip"));
        skip.map_or(self.request.skip, |skip| self.request.skip.with(skip))
    }

    /// Amends the call's message with what came of it.
    pub(super) fn show_result(&self, speaker: &Speaker, call: &ToolCall, outcome: &Outcome) {
        let mut shown = self.said.calls_shown.iter().rev();
        let Some((_, message)) = shown.find(|(id, _)| *id == call.id) else {
            return;
        };
        let (status, name, value) = match outcome.is_error {
            true => ("error", "error", outcome.text.clone().into()),
            false => ("completed", "result", outcome.data.clone()),
        };
        let props = [
            ("status".to_owned(), status.into()),
            (name.to_owned(), value),
        ];
        if let Err(error) = speaker.update(message, props.into_iter().collect()) {
            self.warn(&format!(
                "the result of {} is not shown: {error}",
                call.name
            ));
        }
    }
}

/// A call that has failed, and why.
pub(super) fn failed(text: String) -> Outcome {
    Outcome {
        data: Value::Null,
        text,
        is_error: true,
        ..Outcome::default()
    }
}
