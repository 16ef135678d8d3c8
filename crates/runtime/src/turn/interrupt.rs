//! What comes in while a turn runs: messages for its next step, or a reason to begin the step anew.

use super::Turn;
use crate::chat_message;
use crate::error::Result;
use crate::frame::MessageStatus;
use crate::journal::JournalStep;
use crate::live_turn::TurnStopReason;
use crate::llm::ModelAnswer;
use crate::runtime::TurnInterrupt;
use ambit_storage::batch::BatchWrite;
use serde_json::{Value, json};
use std::sync::Arc;

impl Turn {
    /// Takes in messages for the round behind this one, whose answer `done` is if it asks for nothing more. True where there
    /// were any.
    pub(super) async fn take_added(&mut self, done: Option<&ModelAnswer>) -> Result<bool> {
        let (leg, round) = self.position;
        let added = self.received().await?;
        if added.is_empty() {
            return Ok(self.replay.has_added(leg, round + 1));
        }
        self.store_answers_of(leg).await?;
        if let (Some(answer), None) = (done, self.replay.answered(leg, round)) {
            let step = JournalStep::Answered {
                leg,
                round,
                answer: Box::new(answer.clone()),
                unstored: None,
            };
            self.note(step)?;
        }
        self.add(added, (leg, round + 1), Vec::new()).await?;
        Ok(true)
    }

    /// After a forced interrupt: what the model has said so far stays, and counts for the next call with the new messages.
    pub(super) async fn restart(&mut self) -> Result<Option<TurnStopReason>> {
        self.live_turn.clear_stop();
        self.usage.wait_for_calls().await;
        if let Some(calls) = &mut self.calls
            && calls.is_used()
        {
            *calls = Arc::new(calls.for_restart().await?);
        }
        let (leg, round) = self.position;
        let open = self.outbox.open_messages();
        self.close_calls("cancelled").await?;
        self.outbox.close_all(MessageStatus::Partial, false);
        let partial = open
            .iter()
            .filter_map(|id| self.outbox.message(id))
            .filter(|shown| shown.kind == "text");
        let partial = partial.filter_map(|shown| {
            Some(json!({"role": "assistant", "content": shown.props.get("content")?}))
        });
        let before: Vec<Value> = partial.collect();
        self.store_answers_of(leg).await?;
        let added = self.received().await?;
        let is_cancelled = added
            .iter()
            .any(|interrupt| interrupt.stops() == Some(TurnStopReason::Cancelled));
        let round = match self.replay.answered(leg, round) {
            Some(_) => round + 1,
            None => round,
        };
        self.add(added, (leg, round), before).await?;
        Ok(is_cancelled.then_some(TurnStopReason::Cancelled))
    }

    /// What came in too late to be answered stays in the conversation.
    pub(super) async fn stage_late_messages(&mut self) -> Result<()> {
        for interrupt in self.received().await? {
            self.tell_of(&interrupt);
            self.take(&interrupt).await?;
        }
        Ok(())
    }

    /// The same for what came in while the turn was being closed; nothing can come in any more.
    pub(super) async fn append_late_messages(&mut self) -> Result<()> {
        for interrupt in self.received().await? {
            self.take(&interrupt).await?;
        }
        if self.inbox > 0 {
            let log = self.names.inbox();
            self.session
                .context()
                .stage_with_history([BatchWrite::Drop { log }]);
            self.session.context().save().await?;
        }
        Ok(())
    }

    /// What has come in since the last call.
    async fn received(&mut self) -> Result<Vec<TurnInterrupt>> {
        if self.parent.is_some() {
            return Ok(Vec::new());
        }
        let mut failures = 0;
        let (received, last) = loop {
            match self.live_turn.inbox.read(self.inbox).await {
                Ok(read) => break read,
                Err(error) => self.wait_before_retry(error, &mut failures).await?,
            }
        };
        self.inbox = last;
        Ok(received)
    }

    /// Makes new messages part of the history and of the next call, behind what was said before them.
    async fn add(
        &mut self,
        added: Vec<TurnInterrupt>,
        (leg, round): (usize, usize),
        before: Vec<Value>,
    ) -> Result<()> {
        let mut messages = before;
        for interrupt in added {
            self.tell_of(&interrupt);
            self.take(&interrupt).await?;
            self.settings.metadata.extend(interrupt.metadata);
            messages.extend(interrupt.messages);
        }
        self.record(JournalStep::Added {
            leg,
            round,
            messages,
            ids: Vec::new(),
            inbox: self.inbox,
        })
        .await
    }

    /// Stages the messages for the history.
    async fn take(&self, interrupt: &TurnInterrupt) -> Result<()> {
        if self.request.skip.history {
            return Ok(());
        }
        for (at, chat) in interrupt.messages.iter().enumerate() {
            let mut stored = chat_message::from_chat(&format!("messages[{at}]"), chat)?;
            stored.turn_id = Some(self.ids.request_id.clone());
            stored.extras.insert("type".to_owned(), "user_input".into());
            self.session.history().add_message(stored).await?;
        }
        Ok(())
    }

    fn tell_of(&self, interrupt: &TurnInterrupt) {
        let kind = if interrupt.is_forced {
            "force"
        } else {
            "graceful"
        };
        let data = json!({"type": kind, "message_count": interrupt.messages.len()});
        self.outbox.emit("interrupt", data);
    }
}
