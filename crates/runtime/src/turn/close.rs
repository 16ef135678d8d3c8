//! The end of a turn: what was said becomes history, the stream gets its last entry, and the conversation is free again, all in
//! one commit.

use super::Turn;
use super::model::Spoken;
use super::next::Response;
use crate::error::{Code, Error, Result};
use crate::event::{AfterSend, BeforeSaveHistory, BeforeStructuredOutput, ConversationEnded};
use crate::frame::{Shown, Status as Ended};
use crate::live::Stop;
use crate::llm::Usage;
use crate::runtime::Status;
use crate::trace;
use ambit_storage::batch::{Batch, Write};
use ambit_storage::clock::to_millis;
use ambit_storage::json::Json;
use ambit_storage::op::Op;
use ambit_storage::storage::{Message, Role, ToolCall};
use futures::FutureExt;
use serde_json::{Value, json};

/// How a turn ended.
struct Ending {
    status: Status,
    error: Option<Error>,
    response: Option<Response>,
}

/// Fails where the turn is left to be taken up later.
pub(super) async fn close(mut turn: Turn, end: Result<Result<Response>, Stop>) -> Result<()> {
    let ending = match end {
        // Whoever has the conversation now closes the turn.
        Err(Stop::Lost | Stop::Left) => {
            turn.leave().await;
            return Ok(());
        }
        Err(Stop::Cancelled | Stop::Restart) => Ending {
            status: Status::Cancelled,
            error: None,
            response: None,
        },
        Ok(Ok(response)) => Ending {
            status: Status::Completed,
            error: None,
            response: Some(response),
        },
        Ok(Err(error)) => Ending {
            status: Status::Error,
            error: Some(error),
            response: None,
        },
    };
    turn.end(ending).await
}

impl Turn {
    async fn end(&mut self, mut ending: Ending) -> Result<()> {
        self.live.set_closing(true).await;
        let why = match ending.status {
            Status::Cancelled => "cancelled",
            _ => "no result: the turn ended before the call did",
        };
        let closed = self.close_calls(why).await;
        match ending.status {
            Status::Completed => self.outbox.close_all(Ended::Completed, true),
            _ => self.outbox.close_all(Ended::Partial, false),
        }
        let staged = match closed {
            Ok(()) => self.stage_all().await,
            failed => failed,
        };
        if let Err(error) = staged {
            self.session.context().discard();
            ending = Ending {
                status: Status::Error,
                error: Some(error),
                response: None,
            };
        }
        let veto = ending
            .error
            .as_ref()
            .filter(|error| error.code == Code::Vetoed);
        if let Some(veto) = veto {
            self.mark(&veto.message).await;
        }
        self.say_end(&ending);
        if let Err(error) = self.last_commit(&ending).await {
            tracing::error!(turn.id = self.ids.request_id, %error, "a turn could not be closed; it will be taken up again");
            self.leave().await;
            return Err(error);
        }
        self.reach("turn.closed");
        if let Err(error) = self.keep_late().await {
            tracing::warn!(turn.id = self.ids.request_id, %error, "what came in at the turn's end is not in its history");
        }
        let status = match (&ending.status, &ending.error) {
            (_, Some(error)) if error.code == Code::Vetoed => "vetoed",
            (Status::Completed | Status::Running, _) => "completed",
            (Status::Error, _) => "failed",
            (Status::Cancelled, _) => "cancelled",
        };
        let message = ending.error.as_ref().map(|error| error.message.clone());
        self.announce(ConversationEnded {
            about: self.about(),
            status,
            message,
        })
        .await;
        self.let_go().await;
        Ok(())
    }

    /// Stages everything shown that is not in the history yet, after listeners have seen it.
    async fn stage_all(&mut self) -> Result<()> {
        let messages = self.stage_shown(true).await?;
        if !self.is_watched() {
            return Ok(());
        }
        self.persist().await?;
        let ids: Vec<String> = messages
            .iter()
            .filter_map(|it| it["id"].as_str())
            .map(str::to_owned)
            .collect();
        let asked = self
            .ask(BeforeSaveHistory {
                about: self.about(),
                messages,
            })
            .await;
        if asked.is_err() {
            for id in ids {
                self.session.history().remove_message(&id).await?;
            }
            self.persist().await?;
        }
        asked.map(drop)
    }

    /// Stages a note for models behind what a vetoed turn leaves: its finished calls stay.
    async fn mark(&self, reason: &str) {
        if self.request.skip.history {
            return;
        }
        let mut note = Message::assistant(format!("[no answer: {reason}]"));
        note.extras.insert("synthetic".to_owned(), true.into());
        let note = self.signed(note, &self.request.agent);
        if let Err(error) = self.session.history().add_message(note).await {
            self.warn(&format!(
                "the turn's end is not marked in the history: {error}"
            ));
        }
    }

    /// What is not stored yet of what was said stays out of the history.
    pub(super) fn leave_unstored(&mut self) {
        let shown = self.outbox.messages();
        self.said
            .stored
            .extend(shown.into_iter().map(|message| message.message_id));
        self.said.answers.clear();
    }

    /// Makes what has been said so far part of the history, for a step that builds on it.
    pub(super) async fn store_answers(&mut self) -> Result<()> {
        self.stage_shown(false).await.map(drop)
    }

    /// Stages shown messages in the order in which they began; those still open only if `all`.
    async fn stage_shown(&mut self, all: bool) -> Result<Vec<Value>> {
        if self.request.skip.history {
            return Ok(Vec::new());
        }
        let shown = self.outbox.messages();
        let mut answers = std::mem::take(&mut self.said.answers);
        let mut staged = Vec::new();
        for message in shown
            .iter()
            .filter(|message| all || message.status.is_some())
        {
            if !self.said.stored.insert(message.message_id.clone()) {
                continue;
            }
            let answer = answers
                .iter()
                .position(|spoken| spoken.shown.contains(&message.message_id));
            let entry = match answer {
                Some(at) => {
                    let spoken = answers.remove(at);
                    self.said.stored.extend(spoken.shown.iter().cloned());
                    self.answer_entry(&spoken, &shown)
                }
                None => self.shown_entry(message),
            };
            let stored = json!(self.session.history().add_message(entry).await?);
            if answer.is_some() {
                self.said.sent.push(stored.clone());
            }
            staged.push(stored);
        }
        // Answers of which nothing was shown.
        for spoken in answers {
            let entry = self.answer_entry(&spoken, &shown);
            let stored = json!(self.session.history().add_message(entry).await?);
            self.said.sent.push(stored.clone());
            staged.push(stored);
        }
        Ok(staged)
    }

    /// A message that a hook or tool has sent.
    fn shown_entry(&self, shown: &Shown) -> Message {
        let text = shown
            .props
            .get("content")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_text = shown.kind == "text" && shown.props.len() == 1;
        let mut entry = Message::assistant(text);
        if !is_text {
            entry.parts.clear();
            entry
                .extras
                .insert("props".to_owned(), shown.props.clone().into());
        }
        entry.metadata = shown.metadata.clone().map(Value::Object);
        entry
            .extras
            .insert("type".to_owned(), shown.kind.clone().into());
        entry.extras.extend(place(shown));
        self.signed(entry, &shown.assistant_id)
    }

    /// A model's answer, and how it was shown.
    fn answer_entry(&mut self, spoken: &Spoken, shown: &[Shown]) -> Message {
        let answer = &spoken.answer;
        let mut entry = Message::assistant(answer.text.clone());
        if answer.text.is_empty() {
            entry.parts.clear();
        }
        let calls = answer.tool_calls.iter();
        entry.tool_calls = calls
            .map(|call| ToolCall::new(&call.id, &call.name, call.arguments.clone()))
            .collect();
        entry.usage = Some(json!(answer.usage)).filter(|_| answer.usage != Usage::default());
        for (name, value) in [
            ("reasoning_content", json!(answer.reasoning)),
            ("refusal", json!(answer.refusal)),
        ] {
            if value.as_str().is_some_and(|text| !text.is_empty()) {
                entry.extras.insert(name.to_owned(), value);
            }
        }
        if !answer.reasoning_parts.is_empty() {
            entry.extras.insert(
                "reasoning_parts".to_owned(),
                answer.reasoning_parts.clone().into(),
            );
        }
        let of_answer: Vec<&Shown> = shown
            .iter()
            .filter(|message| spoken.shown.contains(&message.message_id))
            .collect();
        let mut call = 0;
        let mut views = Vec::new();
        for message in of_answer {
            let mut view = place(message);
            view.insert("type".to_owned(), message.kind.clone().into());
            let derived = match message.kind.as_str() {
                "text" => Some(&answer.text),
                "thinking" => Some(&answer.reasoning),
                _ => None,
            };
            if message.kind == "tool_call" {
                if let Some(asked) = answer.tool_calls.get(call) {
                    view.insert("call".to_owned(), asked.id.clone().into());
                    self.said
                        .calls_shown
                        .push((asked.id.clone(), message.message_id.clone()));
                }
                call += 1;
            } else if derived.is_none_or(|text| {
                message.props.get("content").and_then(Value::as_str) != Some(text)
            }) {
                view.insert("props".to_owned(), message.props.clone().into());
            }
            views.push(Value::Object(view));
        }
        if !views.is_empty() {
            entry.extras.insert("shown".to_owned(), views.into());
        }
        self.signed(entry, &spoken.agent)
    }

    fn signed(&self, mut entry: Message, agent: &str) -> Message {
        entry.role = Role::Assistant;
        entry.turn_id = Some(self.ids.request_id.clone());
        entry.extras.insert("assistant_id".to_owned(), agent.into());
        entry
    }

    /// Lets listeners see an answer that has a form of its own.
    pub(super) async fn structured(&self, response: &mut Response) -> Result<()> {
        if !self.said.is_structured || !self.hears::<BeforeStructuredOutput>() {
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
    fn say_end(&mut self, ending: &Ending) {
        if let Some(error) = &ending.error {
            let props = [
                ("message", error.message.clone()),
                ("code", error.code.to_string()),
            ];
            let props = props
                .into_iter()
                .map(|(name, text)| (name.to_owned(), text.into()));
            let speaker = self.outbox.speaker(Default::default());
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
            "usage": self.said.usage,
            "finish_reason": self.said.finish_reason,
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
            Status::Completed | Status::Running => trace::Status::Completed,
            Status::Error => trace::Status::Failed,
            Status::Cancelled => trace::Status::Cancelled,
        };
        self.trace.finish(
            status,
            ending.error.as_ref().map(|error| error.message.as_str()),
        );
    }

    /// History, usage, what is known of the turn, the end of its stream and the release of the conversation.
    async fn last_commit(&mut self, ending: &Ending) -> Result<()> {
        let ended_at = self.now();
        let info = {
            let mut info = self.live.info();
            info.status = ending.status;
            info.ended_at = Some(ended_at);
            let is_development = self.core.is_development;
            let told = ending.error.as_ref();
            info.error = told.map(|error| told_of(error, is_development));
            info.response = ending
                .response
                .as_ref()
                .map(|response| response.to_json(self));
            info.last_event = self.log.written();
            info.clone()
        };
        let mut writes = vec![
            Write::Apply {
                key: self.names.info(),
                op: Op::Set(Json::of(&info)?.into()),
                life: Some(to_millis(self.terms().known())),
            },
            Write::Apply {
                key: self.open_note().key(),
                op: Op::Del,
                life: None,
            },
        ];
        writes.push(self.chat_note()?);
        writes.extend(self.leavings(ended_at).await?);
        let mut told = self.log.take_waiting().await;
        let mut traced = self.trace_log.take_waiting().await;
        writes.append(&mut told.writes);
        writes.append(&mut traced.writes);
        self.session.context().stage_beside(writes.clone());
        self.reach("turn.before_close");
        match self.save(!self.keeps_conversation).await {
            Err(error) if error.code == Code::Vetoed => self.commit_past_listeners(writes).await?,
            saved => saved?,
        }
        told.stored();
        traced.stored();
        for message in std::mem::take(&mut self.said.sent) {
            let about = self.about();
            self.announce(AfterSend { about, message }).await;
        }
        Ok(())
    }

    /// While the conversation is held and the node goes on, nobody else knows what came of the turn: a store that is away
    /// is waited for.
    pub(super) fn may_wait(&self, error: &ambit_storage::Error) -> bool {
        let lease = self.session.context().lease();
        let is_held = lease.is_some_and(|lease| lease.ended().now_or_never().is_none());
        let is_away = matches!(error, ambit_storage::Error::Unavailable { .. });
        is_away && is_held && !self.live.is_left()
    }

    /// A listener that stops the history from being saved does not stop the turn from ending.
    async fn commit_past_listeners(&self, writes: Vec<Write>) -> Result<()> {
        let context = self.session.context();
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

    /// Ends here without a word: another node, or a later start, goes on from the journal, and need not wait for that.
    async fn leave(&mut self) {
        let context = self.session.context();
        context.discard();
        if !self.keeps_conversation
            && let Err(error) = context.end_turn().await
        {
            tracing::warn!(turn.id = self.ids.request_id, %error, "a conversation was not given back; its lease will expire");
        }
        self.let_go().await;
    }

    async fn let_go(&mut self) {
        self.core.turns.remove(&self.ids.request_id);
        if let Err(error) = self.memory.end().await {
            tracing::warn!(turn.id = self.ids.request_id, %error, "a request's memory was not cleared");
        }
        self.live.end();
    }
}

/// Where a message was shown.
fn place(shown: &Shown) -> serde_json::Map<String, Value> {
    let fields = [
        ("message_id", Some(shown.message_id.clone())),
        ("block_id", shown.block_id.clone()),
        ("thread_id", shown.thread_id.clone()),
        (
            "status",
            shown.status.map(|status| status.as_str().to_owned()),
        ),
    ];
    let present = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    let mut place: serde_json::Map<String, Value> = present.collect();
    if shown.amended {
        place.insert("amended".to_owned(), true.into());
    }
    place
}

/// What whoever asked may know of a failure: `{message, code}`, the status that a script asked for, and in development where
/// in the scripts it was.
fn told_of(error: &Error, is_development: bool) -> Value {
    let mut told = json!({"message": error.message, "code": error.code.as_str()});
    if let Some(status) = error.status {
        told["status"] = status.into();
    }
    if is_development && !error.stack.is_empty() {
        told["stack"] = error.stack.clone().into();
    }
    told
}
