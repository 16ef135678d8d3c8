//! The end of a turn: what was said becomes history, the stream gets its last entry, and the conversation is free again, all in
//! one commit. Where listeners can tell, the history is stored before.

mod abandon;
mod failure;
mod hits;
mod telemetry;
mod title;
mod vetoed;

pub(crate) use hits::store_hits;
pub(crate) use title::CONCURRENT_TITLES;

use super::next::TurnResponse;
use super::{Turn, TurnEnd};
use crate::chats::{self, LastTurn};
use crate::error::{Error, ErrorCode, Result};
use crate::event::ConversationEnded;
use crate::frame::MessageStatus;
use crate::log_words;
use crate::retention::{self, EndedTurn};
use crate::runtime_core::stopping;
use crate::trace::TraceStatus;
use crate::turn_info::{TurnInfo, TurnStatus, TurnStopReason, TurnTotals};
use crate::turn_location;
use ambit_storage::batch::BatchWrite;
use ambit_storage::clock::to_millis;
use ambit_storage::json::Json;
use ambit_storage::operation::Operation;
use serde_json::{Value, json};

/// How a turn ended.
struct TurnEnding {
    status: TurnStatus,
    error: Option<Error>,
    response: Option<TurnResponse>,
}

impl TurnEnding {
    fn failed(error: Error) -> Self {
        Self {
            status: TurnStatus::Error,
            error: Some(error),
            response: None,
        }
    }

    /// Why a listener has vetoed the turn, if one has.
    fn veto(&self) -> Option<&str> {
        let error = self.error.as_ref();
        let veto = error.filter(|error| error.code == ErrorCode::Vetoed)?;
        Some(&veto.message)
    }
}

impl Turn {
    /// Closes the turn, or leaves it to whoever has the conversation next. Fails where it is to be taken up later.
    pub(super) async fn close(mut self, end: TurnEnd) -> Result<()> {
        let ending = match end {
            TurnEnd::Stopped(TurnStopReason::LeaseLost | TurnStopReason::NodeClosing)
                if !self.context.request.is_stored() =>
            {
                TurnEnding::failed(stopping())
            }
            TurnEnd::Stopped(
                reason @ (TurnStopReason::LeaseLost | TurnStopReason::NodeClosing),
            ) => {
                if reason == TurnStopReason::NodeClosing {
                    self.persist_ended_calls().await;
                }
                self.abandon().await;
                return Ok(());
            }
            TurnEnd::Stopped(TurnStopReason::Cancelled | TurnStopReason::Restart) => TurnEnding {
                status: TurnStatus::Cancelled,
                error: None,
                response: None,
            },
            TurnEnd::Answered(response) => TurnEnding {
                status: TurnStatus::Completed,
                error: None,
                response: Some(*response),
            },
            TurnEnd::Failed(error) => TurnEnding::failed(error),
        };
        self.end(ending).await
    }

    async fn end(&mut self, ending: TurnEnding) -> Result<()> {
        self.context.live.set_closing(true).await;
        self.journal.usage.wait_for_calls().await;
        let ending = self.stage_ending(ending).await;
        if let Some(reason) = ending.veto() {
            self.stage_veto_note(reason).await;
        }
        if let Err(error) = self.save_usage_apart().await {
            let why = log_words::failure(&error);
            tracing::error!(
                request.id = self.context.id(),
                error.message = why,
                "what a turn has used is not booked"
            );
        }
        if let Err(error) = self.last_commit(&ending).await {
            tracing::error!(request.id = self.context.id(), %error, "a turn could not be closed; it will be taken up again");
            self.abandon().await;
            return Err(error);
        }
        self.hand_over_trace().await;
        self.context.count_end(ending.status);
        self.context.reach_fault_point("turn.closed");
        let status = match ending.status {
            _ if ending.veto().is_some() => "vetoed",
            TurnStatus::Completed | TurnStatus::Running => "completed",
            TurnStatus::Error => "failed",
            TurnStatus::Cancelled => "cancelled",
        };
        let event = ConversationEnded {
            about: self.context.about(),
            status,
            message: ending.error.map(|error| error.message),
        };
        self.context.announce(event).await;
        if let Some(response) = &ending.response {
            self.start_title(response);
        }
        self.start_counting_hits();
        self.release().await;
        Ok(())
    }

    /// Ends what is open, and stages what was said. A turn whose history is refused has failed.
    async fn stage_ending(&mut self, mut ending: TurnEnding) -> TurnEnding {
        let is_completed = ending.status == TurnStatus::Completed;
        let closed = match ending.status {
            // What is open now is the client's to answer.
            TurnStatus::Completed => Ok(()),
            TurnStatus::Cancelled => self.close_calls("cancelled").await,
            _ => {
                self.close_calls("no result: the turn ended before the call did")
                    .await
            }
        };
        let status = match is_completed {
            true => MessageStatus::Completed,
            false => MessageStatus::Partial,
        };
        self.output.outbox.close_all(status, is_completed);
        let staged = match closed {
            Ok(()) => self.stage_all().await,
            failed => failed,
        };
        if let Err(error) = staged {
            // What was used counts all the same.
            self.conversation.session.history().discard();
            ending = TurnEnding::failed(error);
        }
        if self.context.live.inbox.has_any()
            && let Err(error) = self.stage_late_messages(true).await
        {
            self.output.warn(&format!(
                "what came in at the turn's end is not in its history: {error}"
            ));
        }
        ending
    }

    /// The last entries of the stream.
    fn emit_end(&self, ending: &TurnEnding) {
        if let Some(error) = &ending.error {
            self.show_failure(error);
        }
        let outbox = &self.output.outbox;
        outbox.emit("stream_end", self.end_event(ending));
        for warning in outbox.take_warnings() {
            self.output.warn(&warning);
        }
        let status = match ending.status {
            TurnStatus::Completed | TurnStatus::Running => TraceStatus::Completed,
            TurnStatus::Error => TraceStatus::Failed,
            TurnStatus::Cancelled => TraceStatus::Cancelled,
        };
        self.finish_trace(status, ending.error.as_ref());
    }

    /// The last entry of the stream.
    fn end_event(&self, ending: &TurnEnding) -> Value {
        let ids = &self.context.ids;
        let response = ending.response.as_ref();
        let mut data = json!({
            "request_id": ids.request_id,
            "context_id": ids.context_id,
            "trace_id": ids.request_id,
            "chat_id": ids.chat_id,
            "timestamp": self.context.now(),
            "duration_ms": self.context.now() - self.context.started_at,
            "status": ending.status,
            "usage": self.journal.usage.tokens(),
            "usage_by_model": self.journal.usage.by_model(),
            "finish_reason": self.output.answers.finish_reason,
            "metadata": response.map(|response| &response.metadata),
            "next": response.map_or(&Value::Null, |response| &response.next),
        });
        if let Some(error) = &ending.error {
            data["error"] = error.message.clone().into();
            data["code"] = error.code.as_str().into();
        }
        data
    }
}

/// The last commit.
impl Turn {
    /// Commits history, usage, what is known of the turn, the end of its stream and the release of the conversation.
    async fn last_commit(&mut self, ending: &TurnEnding) -> Result<()> {
        // Behind the last entry the trace is stored with what was used, or not at all.
        let hold = self.output.stream.hold().await;
        self.emit_end(ending);
        let ended_at = self.context.now();
        let mut info = self.final_info(ending, ended_at);
        let known = fitting(&mut info, self.context.core.stores.options().limits.value)?;
        let mut writes = vec![
            BatchWrite::Apply {
                key: self.context.keys.info(),
                op: Operation::Set(known.into()),
                life: Some(to_millis(self.context.retention().known())),
            },
            BatchWrite::Apply {
                key: self.context.open_note(&self.conversation).key(),
                op: Operation::Del,
                life: None,
            },
            self.last_turn_note()?,
        ];
        writes.extend(self.references_write()?);
        writes.extend(self.retention_writes(ended_at).await?);
        let mut stream = hold.take();
        let mut trace = self.output.trace_log.take_waiting().await;
        writes.append(&mut stream.writes);
        writes.append(&mut trace.writes);
        self.conversation.stage(writes.clone());
        self.context.reach_fault_point("turn.before_close");
        match self.save(true).await {
            Err(error) if error.code == ErrorCode::Vetoed => {
                self.commit_past_listeners(writes).await?;
            }
            saved => saved?,
        }
        // Nobody is told before that it has ended, nor later than by its stream.
        *self.context.live.info() = info;
        stream.stored();
        trace.stored();
        self.announce_sent().await;
        Ok(())
    }

    /// What is known of the turn from now on.
    fn final_info(&self, ending: &TurnEnding, ended_at: i64) -> TurnInfo {
        let mut info = self.context.live.info_now();
        info.status = ending.status;
        info.ended_at = Some(ended_at);
        let is_development = self.context.core.is_development;
        let error = ending.error.as_ref();
        info.error = error.map(|error| error.to_public(is_development));
        let response = ending.response.as_ref();
        info.response = response.map(|response| response.to_json(&self.context.ids));
        info.last_event = self.output.stream.written();
        info.totals = self.totals();
        info
    }

    fn totals(&self) -> TurnTotals {
        let used = self.journal.usage.totals();
        let first = used.first_token_at;
        TurnTotals {
            ttft_ms: first.map(|at| (at - self.context.started_at).max(0)),
            calls: Some(used.calls),
            tools: Some(self.output.answers.tool_results.len() as u64),
            usage: Some(used.usage),
            cost: used.cost,
            finish_reason: self.output.answers.finish_reason.clone(),
        }
    }

    /// What the list of chats shows of this turn.
    fn last_turn_note(&self) -> Result<BatchWrite> {
        let last = LastTurn {
            assistant_id: self.context.request.agent.clone(),
            connector: self.output.answers.connector.clone(),
            mode: self.context.request.call.mode.clone(),
            at: self.context.now(),
        };
        chats::note(&self.conversation.space(), &last)
    }

    /// The writes that drop what ends with the turn, and the notes by which the rest of its logs is dropped later.
    async fn retention_writes(&self, ended_at: i64) -> Result<Vec<BatchWrite>> {
        let context = &self.context;
        let log = context.keys.journal();
        let mut writes = vec![BatchWrite::Drop { log }];
        let nested_calls = self.journal.nested_calls.as_ref();
        if nested_calls.is_some_and(|calls| calls.is_used()) {
            let log = context.keys.calls();
            writes.push(BatchWrite::Drop { log });
        }
        writes.extend(self.unsent_note(ended_at).await?);
        let periods = context.retention();
        let Some(row) = self.conversation.row_id().await? else {
            let note = context.request_note(&self.conversation, Some(periods.known()))?;
            writes.push(note);
            return Ok(writes);
        };
        let (tenant, id) = (context.request.authorized.tenant(), context.id());
        writes.push(turn_location::note_of(&row, tenant, id, periods.known())?);
        let ended = EndedTurn {
            tenant,
            row,
            request_id: id,
            at: ended_at,
            is_traced: self.output.trace.is_on(),
        };
        writes.extend(retention::note(&ended, periods)?);
        Ok(writes)
    }
}

impl Turn {
    /// Forgets the turn on this node.
    async fn release(&mut self) {
        let context = &self.context;
        context.core.turns.remove(context.id(), &context.live);
        if let Err(error) = self.conversation.memory.end().await {
            tracing::warn!(request.id = context.id(), %error, "a request's memory was not cleared");
        }
        context.live.end();
    }
}

/// A part of what is known of a turn that may be left out.
struct TurnInfoReduction {
    what: &'static str,
    apply: fn(&mut TurnInfo),
}

/// What is left out of a turn's end that is too large: first what the tools gave, which the history has too.
const REDUCTIONS: [TurnInfoReduction; 2] = [
    TurnInfoReduction {
        what: "what the tools gave",
        apply: |info| {
            if let Some(Value::Object(response)) = &mut info.response {
                response.remove("tools");
            }
        },
    },
    TurnInfoReduction {
        what: "the response",
        apply: |info| info.response = None,
    },
];

/// Without what a store would not take at once.
fn fitting(info: &mut TurnInfo, most: usize) -> Result<Json> {
    for reduction in REDUCTIONS {
        let json = Json::of(info)?;
        if json.as_str().len() <= most {
            return Ok(json);
        }
        let what = reduction.what;
        tracing::warn!(
            request.id = info.request_id,
            "{what} is too large to be kept"
        );
        (reduction.apply)(info);
    }
    Ok(Json::of(info)?)
}
