//! The end of a turn: what was said becomes history, the stream gets its last entry, and the conversation is free again, all in
//! one commit.

use super::Turn;
use super::next::TurnResponse;
use crate::error::{Error, ErrorCode, Result};
use crate::event::{AfterSend, BeforeStructuredOutput, ConversationEnded};
use crate::frame::MessageStatus as Ended;
use crate::live_turn::TurnStopReason;
use crate::runtime::{TurnInfo, TurnStatus};
use crate::trace;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::to_millis;
use ambit_storage::json::Json;
use ambit_storage::operation::Operation;
use futures::FutureExt;
use serde_json::{Value, json};

/// How a turn ended.
struct TurnEnding {
    status: TurnStatus,
    error: Option<Error>,
    response: Option<TurnResponse>,
}

/// Fails where the turn is left to be taken up later.
pub(super) async fn close(
    mut turn: Turn,
    end: Result<Result<TurnResponse>, TurnStopReason>,
) -> Result<()> {
    let ending = match end {
        // Whoever has the conversation now closes the turn.
        Err(stop @ (TurnStopReason::LeaseLost | TurnStopReason::NodeClosing)) => {
            if stop == TurnStopReason::NodeClosing {
                turn.persist_ended_calls().await;
            }
            turn.abandon().await;
            return Ok(());
        }
        Err(TurnStopReason::Cancelled | TurnStopReason::Restart) => TurnEnding {
            status: TurnStatus::Cancelled,
            error: None,
            response: None,
        },
        Ok(Ok(response)) => TurnEnding {
            status: TurnStatus::Completed,
            error: None,
            response: Some(response),
        },
        Ok(Err(error)) => TurnEnding {
            status: TurnStatus::Error,
            error: Some(error),
            response: None,
        },
    };
    turn.end(ending).await
}

impl Turn {
    async fn end(&mut self, ending: TurnEnding) -> Result<()> {
        self.live_turn.set_closing(true).await;
        self.usage.wait_for_calls().await;
        let ending = self.stage_ending(ending).await;
        let veto = ending
            .error
            .as_ref()
            .filter(|error| error.code == ErrorCode::Vetoed);
        if let Some(veto) = veto {
            self.stage_veto_note(&veto.message).await;
        }
        self.emit_end(&ending);
        if let Err(error) = self.last_commit(&ending).await {
            tracing::error!(turn.id = self.ids.request_id, %error, "a turn could not be closed; it will be taken up again");
            self.abandon().await;
            return Err(error);
        }
        self.reach_fault_point("turn.closed");
        if let Err(error) = self.append_late_messages().await {
            tracing::warn!(turn.id = self.ids.request_id, %error, "what came in at the turn's end is not in its history");
        }
        let status = match (&ending.status, &ending.error) {
            (_, Some(error)) if error.code == ErrorCode::Vetoed => "vetoed",
            (TurnStatus::Completed | TurnStatus::Running, _) => "completed",
            (TurnStatus::Error, _) => "failed",
            (TurnStatus::Cancelled, _) => "cancelled",
        };
        let message = ending.error.as_ref().map(|error| error.message.clone());
        self.announce(ConversationEnded {
            about: self.about(),
            status,
            message,
        })
        .await;
        if let Some(response) = &ending.response {
            self.entitle(response);
        }
        self.release_conversation().await;
        Ok(())
    }

    /// Ends what is open, and stages what was said. A turn whose history is refused has failed.
    async fn stage_ending(&mut self, mut ending: TurnEnding) -> TurnEnding {
        let closed = match ending.status {
            // What is open now is the client's to answer.
            TurnStatus::Completed => Ok(()),
            TurnStatus::Cancelled => self.close_calls("cancelled").await,
            _ => {
                self.close_calls("no result: the turn ended before the call did")
                    .await
            }
        };
        match ending.status {
            TurnStatus::Completed => self.outbox.close_all(Ended::Completed, true),
            _ => self.outbox.close_all(Ended::Partial, false),
        }
        let staged = match closed {
            Ok(()) => self.stage_all().await,
            failed => failed,
        };
        if let Err(error) = staged {
            // What was used counts all the same.
            self.session.history().discard();
            ending = TurnEnding {
                status: TurnStatus::Error,
                error: Some(error),
                response: None,
            };
        }
        if let Err(error) = self.stage_late_messages().await {
            self.warn(&format!(
                "what came in at the turn's end is not in its history: {error}"
            ));
        }
        ending
    }

    /// Lets listeners see an answer that has a form of its own.
    pub(super) async fn announce_structured_output(
        &self,
        response: &mut TurnResponse,
    ) -> Result<()> {
        if !self.answers.is_structured || !self.has_listener::<BeforeStructuredOutput>() {
            return Ok(());
        }
        let Some(text) = response.completion.get("content").and_then(Value::as_str) else {
            return Ok(());
        };
        let before = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let event = BeforeStructuredOutput {
            about: self.about(),
            response: before.clone(),
        };
        let after = self.ask(event).await?.response;
        if after != before {
            let text = match after {
                Value::String(text) => text,
                value => value.to_string(),
            };
            response.completion["content"] = text.into();
        }
        Ok(())
    }

    /// The last entries of the stream.
    fn emit_end(&mut self, ending: &TurnEnding) {
        if let Some(error) = &ending.error {
            if error.cause.is_some() {
                tracing::error!(turn.id = self.ids.request_id, error.code = %error.code, "a turn has failed: {error}");
            }
            let props = [
                ("message", error.message.clone()),
                ("code", error.code.to_string()),
            ];
            let props = props
                .into_iter()
                .map(|(name, text)| (name.to_owned(), text.into()));
            let speaker = self.outbox.for_author(Default::default());
            if let Err(error) = speaker.show("error", props.collect()) {
                tracing::warn!(turn.id = self.ids.request_id, %error, "a failure could not be shown");
            }
        }
        let response = ending.response.as_ref();
        let mut data = json!({
            "request_id": self.ids.request_id,
            "context_id": self.ids.context_id,
            "trace_id": self.ids.request_id,
            "chat_id": self.ids.chat_id,
            "timestamp": self.now(),
            "duration_ms": self.now() - self.started_at,
            "status": ending.status,
            "usage": self.usage(),
            "finish_reason": self.answers.finish_reason,
            "metadata": response.map(|response| &response.metadata),
            "next": response.map_or(&Value::Null, |response| &response.next),
        });
        if let Some(error) = &ending.error {
            data["error"] = error.message.clone().into();
            data["code"] = error.code.as_str().into();
        }
        self.outbox.emit("stream_end", data);
        for warning in self.outbox.take_warnings() {
            self.warn(&warning);
        }
        let status = match ending.status {
            TurnStatus::Completed | TurnStatus::Running => trace::TraceStatus::Completed,
            TurnStatus::Error => trace::TraceStatus::Failed,
            TurnStatus::Cancelled => trace::TraceStatus::Cancelled,
        };
        self.trace.finish(
            status,
            ending.error.as_ref().map(|error| error.message.as_str()),
        );
    }

    /// History, usage, what is known of the turn, the end of its stream and the release of the conversation.
    async fn last_commit(&mut self, ending: &TurnEnding) -> Result<()> {
        let ended_at = self.now();
        let known = self.final_info(ending, ended_at)?;
        let mut writes = vec![
            BatchWrite::Apply {
                key: self.names.info(),
                op: Operation::Set(known.into()),
                life: Some(to_millis(self.terms().known())),
            },
            BatchWrite::Apply {
                key: self.open_note().key(),
                op: Operation::Del,
                life: None,
            },
        ];
        writes.push(self.chat_note()?);
        writes.extend(self.retention_writes(ended_at).await?);
        let mut told = self.log.take_waiting().await;
        let mut traced = self.trace_log.take_waiting().await;
        writes.append(&mut told.writes);
        writes.append(&mut traced.writes);
        self.session.context().stage_with_history(writes.clone());
        self.reach_fault_point("turn.before_close");
        match self.save(!self.keeps_conversation).await {
            Err(error) if error.code == ErrorCode::Vetoed => {
                self.commit_past_listeners(writes).await?
            }
            saved => saved?,
        }
        told.stored();
        traced.stored();
        for message in std::mem::take(&mut self.answers.sent) {
            let about = self.about();
            self.announce(AfterSend { about, message }).await;
        }
        Ok(())
    }

    /// What is known of the turn from now on.
    fn final_info(&self, ending: &TurnEnding, ended_at: i64) -> Result<Json> {
        let mut info = self.live_turn.info();
        info.status = ending.status;
        info.ended_at = Some(ended_at);
        let is_development = self.core.is_development;
        let failed = ending.error.as_ref();
        info.error = failed.map(|error| error.told(is_development));
        let response = ending.response.as_ref();
        info.response = response.map(|response| response.to_json(self));
        info.last_event = self.log.written();
        fitting(&mut info, self.core.stores.options().limits.value)
    }

    /// While the conversation is held and the node goes on, nobody else knows what came of the turn: a store that is away
    /// is waited for.
    pub(super) fn may_retry(&self, error: &ambit_storage::Error) -> bool {
        matches!(error, ambit_storage::Error::Unavailable { .. }) && self.holds_conversation()
    }

    /// The conversation is held, and the node is not being closed.
    pub(super) fn holds_conversation(&self) -> bool {
        let lease = self.session.context().lease();
        let is_held = lease.is_some_and(|lease| lease.ended().now_or_never().is_none());
        is_held && !self.live_turn.is_left()
    }

    /// A listener that stops the history from being saved does not stop the turn from ending, nor what it has used from being
    /// booked.
    async fn commit_past_listeners(&self, writes: Vec<BatchWrite>) -> Result<()> {
        let context = self.session.context();
        self.session.history().discard();
        if let Err(error) = context.save().await {
            tracing::warn!(turn.id = self.ids.request_id, %error, "what a turn has used is not booked");
        }
        context.discard();
        let mut batch = Batch::of(writes);
        let lease = context.lease();
        batch.checks.extend(lease.map(|lease| lease.check()));
        context.place().1.commit(batch).await?;
        if !self.keeps_conversation {
            context.end_turn().await?;
        }
        Ok(())
    }

    /// Makes durable what had ended, so that whoever goes on does not do it again, and what was used.
    async fn persist_ended_calls(&mut self) {
        self.usage.wait_for_calls().await;
        let has_any = self.settle_broken_off().await;
        let (used, _) = self.usage.notes();
        let mut kept = match &self.calls {
            Some(calls) => calls.persist_dropped().await,
            None => Ok(()),
        };
        if kept.is_ok() && (has_any || !used.is_empty()) {
            kept = self.persist().await;
        }
        if let Err(error) = kept {
            tracing::warn!(turn.id = self.ids.request_id, %error, "results of tools are not kept; whoever goes on with the turn calls them again");
        }
    }

    /// Ends here without a word: another node, or a later start, goes on from the journal, and need not wait for that.
    async fn abandon(&mut self) {
        let context = self.session.context();
        context.discard();
        if !self.keeps_conversation
            && let Err(error) = context.end_turn().await
        {
            tracing::warn!(turn.id = self.ids.request_id, %error, "a conversation was not given back; its lease will expire");
        }
        self.release_conversation().await;
    }

    async fn release_conversation(&mut self) {
        self.core
            .turns
            .remove(&self.ids.request_id, &self.live_turn);
        if let Err(error) = self.memory.end().await {
            tracing::warn!(turn.id = self.ids.request_id, %error, "a request's memory was not cleared");
        }
        self.live_turn.end();
    }
}

/// What is cut, and how.
type TurnInfoReduction = (&'static str, fn(&mut TurnInfo));

/// What is left out of a turn's end that is too large: first what the tools gave, which the history has too.
const CUTS: [TurnInfoReduction; 2] = [
    ("what the tools gave", |info| {
        if let Some(Value::Object(response)) = &mut info.response {
            response.remove("tools");
        }
    }),
    ("the response", |info| info.response = None),
];

/// Without what a store would not take at once.
fn fitting(info: &mut TurnInfo, most: usize) -> Result<Json> {
    for (what, cut) in CUTS {
        let known = Json::of(info)?;
        if known.as_str().len() <= most {
            return Ok(known);
        }
        tracing::warn!(turn.id = info.request_id, "{what} is too large to be kept");
        cut(info);
    }
    Ok(Json::of(info)?)
}
