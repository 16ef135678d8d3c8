//! What comes in while a turn runs: messages for its next step, or a reason to begin the step anew.

use super::Turn;
use crate::error::Result;
use crate::frame::Status;
use crate::journal::Step;
use crate::live::Stop;
use crate::message;
use crate::runtime::Interrupt;
use ambit_storage::driver::Range;
use serde_json::{Value, json};

/// Entries of the inbox read at once: more than anybody sends during one step.
const MOST: usize = 256;

impl Turn {
    /// Takes in messages for this round. True where there were any.
    pub(super) async fn take_added(&mut self, leg: usize, round: usize) -> Result<bool> {
        let added = self.added().await?;
        if added.is_empty() {
            return Ok(false);
        }
        self.store_answers().await?;
        self.add(added, (leg, round), Vec::new()).await?;
        Ok(true)
    }

    /// After a forced interrupt: what the model has said so far stays, and counts for the next call with the new messages.
    pub(super) async fn begin_anew(&mut self) -> Result<()> {
        let open = self.outbox.open_messages();
        self.outbox.close_all(Status::Partial, false);
        let partial = open
            .iter()
            .filter_map(|id| self.outbox.message(id))
            .filter(|shown| shown.kind == "text");
        let partial = partial.filter_map(|shown| {
            Some(json!({"role": "assistant", "content": shown.props.get("content")?}))
        });
        let before: Vec<Value> = partial.collect();
        self.store_answers().await?;
        let added = self.added().await?;
        self.add(added, self.at, before).await?;
        self.live.go_on();
        Ok(())
    }

    /// What a reason to stop means: a wish of another node may have come with messages.
    pub(super) async fn meaning_of(&mut self, stop: Stop) -> Stop {
        if stop != Stop::Cancelled {
            return stop;
        }
        let sent = self.received().await.unwrap_or_default();
        let is_restart = sent
            .iter()
            .any(|interrupt| interrupt.is_forced && !interrupt.messages.is_empty());
        for interrupt in sent {
            self.live.add(interrupt);
        }
        if is_restart {
            Stop::Restart
        } else {
            Stop::Cancelled
        }
    }

    /// Everything that has come in since the last call, from here and from other nodes.
    async fn added(&mut self) -> Result<Vec<Interrupt>> {
        let mut added = self.live.take_added();
        added.extend(self.received().await?);
        Ok(added)
    }

    /// What other nodes have sent.
    async fn received(&mut self) -> Result<Vec<Interrupt>> {
        let (_, driver) = self.session.context().place();
        let page = driver
            .read(&self.names.inbox(), Range::from(self.inbox + 1, MOST))
            .await?;
        let mut received = Vec::new();
        for entry in page.entries {
            self.inbox = entry.seq;
            received.push(entry.body.to()?);
        }
        Ok(received)
    }

    /// Makes new messages part of the history and of the next call, behind what was said before them.
    async fn add(
        &mut self,
        added: Vec<Interrupt>,
        (leg, round): (usize, usize),
        before: Vec<Value>,
    ) -> Result<()> {
        let mut messages = before;
        for interrupt in added {
            self.tell_of(&interrupt);
            self.settings.metadata.extend(interrupt.metadata);
            for (at, chat) in interrupt.messages.into_iter().enumerate() {
                let mut stored = message::from_chat(&format!("messages[{at}]"), &chat)?;
                stored.turn_id = Some(self.ids.request_id.clone());
                stored.extras.insert("type".to_owned(), "user_input".into());
                if !self.request.skip.history {
                    self.session.history().add_message(stored).await?;
                }
                messages.push(chat);
            }
        }
        self.record(Step::Added {
            leg,
            round,
            messages,
            ids: Vec::new(),
        })
        .await
    }

    fn tell_of(&self, interrupt: &Interrupt) {
        let kind = if interrupt.is_forced {
            "force"
        } else {
            "graceful"
        };
        let data = json!({"type": kind, "message_count": interrupt.messages.len()});
        self.outbox.emit("interrupt", data);
    }
}
