//! What comes in while a turn runs: messages for its next step, those that others append to the conversation, and reasons to
//! begin the step once more or to end the turn.

use super::conversation::chat_view;
use super::{Turn, TurnEnd};
use crate::chat::ChatMessage;
use crate::chat_message;
use crate::chats::{InterruptMessage, USER_INPUT};
use crate::error::{Error, ErrorCode, Result};
use crate::frame::MessageStatus;
use crate::inbox::ReceivedInterrupt;
use crate::journal::{JournalStep, RoundPosition};
use crate::llm::ModelAnswer;
use crate::turn_info::{TurnInterrupt, TurnStopReason};
use ambit_storage::storage::Message;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::time::sleep_until;

/// How far back is looked, as long as the message that was seen last is not found.
const LOOKS: [usize; 4] = [4, 32, 256, 8_192];

impl Turn {
    /// Waits for a reason to drop the work of the turn: it is told to stop, a forced interrupt comes in, its lease is lost, or
    /// its time is over.
    pub(super) fn must_end(&self) -> impl Future<Output = TurnEnd> + use<> {
        let live = self.context.live.clone();
        let lease = self.conversation.session.context().lease();
        let position = self.conversation.inbox_position;
        let deadline = self.context.deadline;
        async move {
            let deadline_passed = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                reason = live.stopped(lease.as_ref()) => TurnEnd::Stopped(reason),
                reason = live.inbox.forced(position) => TurnEnd::Stopped(reason),
                () = deadline_passed => TurnEnd::Failed(timeout_error()),
            }
        }
    }

    /// After a forced interrupt: what the model has said so far stays, and counts for the next call with the new messages.
    /// Fails where the turn cannot go on.
    pub(super) async fn restart(&mut self) -> Result<()> {
        self.journal.usage.wait_for_calls().await;
        self.journal.searches.references.drop_new();
        if let Some(calls) = &mut self.journal.nested_calls
            && calls.is_used()
        {
            *calls = Arc::new(calls.for_restart().await?);
        }
        let outbox = &self.output.outbox;
        let open = outbox.open_messages();
        self.close_calls("cancelled").await?;
        let outbox = &self.output.outbox;
        outbox.close_all(MessageStatus::Partial, false);
        let messages = open.iter().filter_map(|id| outbox.message(id));
        let partial = messages.filter(|shown| shown.kind == "text");
        let partial = partial.filter_map(|shown| {
            let text = shown.props.get("content")?.as_str()?;
            Some(ChatMessage::assistant(text))
        });
        let before: Vec<ChatMessage> = partial.collect();
        let position = self.journal.position;
        self.store_answers_of(position.run).await?;
        let added = self.received().await?;
        let position = match self.journal.replay.answered(position) {
            Some(_) => position.next(),
            None => position,
        };
        self.add(added, position, before).await
    }

    /// Takes in messages for the next round; `done` is the answer of this one if it asks for nothing more. True where there
    /// were any.
    pub(super) async fn take_added(&mut self, done: Option<&ModelAnswer>) -> Result<bool> {
        let position = self.journal.position;
        let added = self.received().await?;
        if added.is_empty() {
            return Ok(self.journal.replay.has_added(position.next()));
        }
        self.store_answers_of(position.run).await?;
        if let (Some(answer), None) = (done, self.journal.replay.answered(position)) {
            self.journal.note(JournalStep::Answered {
                run: position.run,
                round: position.round,
                answer: Box::new(answer.clone()),
                unstored: None,
            })?;
        }
        self.add(added, position.next(), Vec::new()).await?;
        Ok(true)
    }

    /// Stages what came in too late to be answered: it stays in the conversation. Clients are told while their stream is open.
    pub(super) async fn stage_late_messages(&mut self, is_told: bool) -> Result<()> {
        for received in self.received().await? {
            if let Err(error) = self.take_in(&received, is_told).await {
                tracing::warn!(request.id = self.context.id(), %error, "what came in at the turn's end is not in its history");
            }
        }
        Ok(())
    }

    /// The same behind the end of the stream, where the last commit was refused for what came in. False where nothing had.
    pub(super) async fn stage_last_messages(&mut self) -> Result<bool> {
        let before = self.conversation.inbox_position;
        self.stage_late_messages(false).await?;
        Ok(self.conversation.inbox_position != before)
    }

    /// What has come in since the last call.
    async fn received(&mut self) -> Result<Vec<ReceivedInterrupt>> {
        if self.context.is_nested() {
            return Ok(Vec::new());
        }
        let mut failures = 0;
        let (received, read) = loop {
            let inbox = &self.context.live.inbox;
            match inbox.read(self.conversation.inbox_position).await {
                Ok(read) => break read,
                Err(error) => self.wait_before_retry(error, &mut failures).await?,
            }
        };
        self.conversation.inbox_position = read;
        Ok(received)
    }

    /// Makes new messages part of the history and of the call of a round, behind what was said before them.
    async fn add(
        &mut self,
        added: Vec<ReceivedInterrupt>,
        before: RoundPosition,
        said: Vec<ChatMessage>,
    ) -> Result<()> {
        let mut stops = added.iter().filter_map(|it| it.interrupt.stops());
        let is_cancelled = stops.any(|reason| reason == TurnStopReason::Cancelled);
        let mut messages = said;
        for received in added {
            messages.extend(self.take_in(&received, true).await?);
            let metadata = received.interrupt.metadata;
            self.context.settings.metadata.extend(metadata);
        }
        self.record(JournalStep::Added {
            run: before.run,
            round: before.round,
            messages,
            ids: Vec::new(),
            inbox: self.conversation.inbox_position.last,
        })
        .await?;
        if is_cancelled {
            // Whoever waits for a reason to end from here on does not find it in the inbox any more. Before, what came with it
            // would be dropped half taken in.
            self.context.live.stop(TurnStopReason::Cancelled);
        }
        Ok(())
    }

    /// Stages the messages of an interrupt, of which clients are told. Returns what hooks and models get of them.
    async fn take_in(
        &self,
        received: &ReceivedInterrupt,
        is_told: bool,
    ) -> Result<Vec<ChatMessage>> {
        let stored = self.stored_messages(received)?;
        let interrupt = &received.interrupt;
        if is_told {
            self.emit_interrupt(interrupt, &stored);
        }
        let mut messages = Vec::with_capacity(stored.len());
        for (sent, stored) in interrupt.messages.iter().zip(stored) {
            messages.extend(self.append_sent(sent.clone(), stored).await?);
        }
        Ok(messages)
    }

    /// The messages of an interrupt as the history has them. Their ids are those that clients are told.
    fn stored_messages(&self, received: &ReceivedInterrupt) -> Result<Vec<Message>> {
        let messages = received.interrupt.messages.iter().enumerate();
        let stored = messages.map(|(at, chat)| {
            let mut stored = chat_message::from_chat(&format!("messages[{at}]"), chat)?;
            stored.id = match at {
                0 => received.id.clone(),
                at => format!("{}-{at}", received.id),
            };
            stored.turn_id = Some(self.context.ids.request_id.clone());
            stored.extras.insert("type".to_owned(), USER_INPUT.into());
            Ok(stored)
        });
        stored.collect()
    }

    fn emit_interrupt(&self, interrupt: &TurnInterrupt, stored: &[Message]) {
        let kind = match interrupt.is_forced {
            true => "force",
            false => "graceful",
        };
        let told: Vec<InterruptMessage> = stored.iter().map(InterruptMessage::of).collect();
        let mut data = json!({"type": kind, "message_count": told.len()});
        if !told.is_empty() {
            data["messages"] = json!(told);
        }
        self.output.outbox.emit("interrupt", data);
    }
}

/// Messages that others append to the conversation while a turn has it.
impl Turn {
    /// Takes in what others have appended since the last look, for this round.
    pub(super) async fn take_appended(&mut self) -> Result<Vec<ChatMessage>> {
        if self.context.request.skip.history {
            return Ok(Vec::new());
        }
        let appended = self.appended().await?;
        if appended.is_empty() {
            return Ok(Vec::new());
        }
        let ids = appended.iter().map(|message| message.id.clone()).collect();
        let messages = chat_view(&appended);
        let position = self.journal.position;
        self.record(JournalStep::Added {
            run: position.run,
            round: position.round,
            messages: messages.clone(),
            ids,
            inbox: self.conversation.inbox_position.last,
        })
        .await?;
        Ok(messages)
    }

    async fn appended(&mut self) -> Result<Vec<Message>> {
        let taken = self.journal.replay.appended_ids();
        let taken: HashSet<String> = taken.map(str::to_owned).collect();
        for look in LOOKS {
            let mut stored = self.history_tail(look).await?;
            let is_whole = stored.len() < look;
            let last_seen = self.conversation.last_seen_message.as_ref();
            let seen = stored
                .iter()
                .rposition(|message| Some(&message.id) == last_seen);
            let from = match seen {
                Some(at) => at + 1,
                None if is_whole && last_seen.is_none() => 0,
                None if is_whole => stored.len(),
                None => continue,
            };
            let last = stored.last().map(|message| message.id.clone());
            let mut new = stored.split_off(from);
            let own = Some(self.context.id());
            new.retain(|message| message.turn_id.as_deref() != own && !taken.contains(&message.id));
            let conversation = &mut self.conversation;
            conversation.last_seen_message = last.or(conversation.last_seen_message.take());
            return Ok(new);
        }
        Ok(Vec::new())
    }

    /// The end of the history as it is stored now.
    async fn history_tail(&self, size: usize) -> Result<Vec<Message>> {
        let mut failures = 0;
        loop {
            match self.conversation.session.history().tail(size).await {
                Ok(stored) => return Ok(stored),
                Err(error) => self.wait_before_retry(error.into(), &mut failures).await?,
            }
        }
    }
}

fn timeout_error() -> Error {
    let message =
        "the turn took longer than the limit \"turn\" allows; ambit.limits in app.yao sets it";
    Error::new(ErrorCode::Timeout, message)
}
