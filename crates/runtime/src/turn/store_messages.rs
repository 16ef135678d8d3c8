//! What was said becomes history: each shown message that is not stored yet is an entry of its own, and so is each answer of
//! a model with all that was shown of it.

use super::Turn;
use super::turn_answers::AnswerRecord;
use crate::error::Result;
use crate::event::BeforeSaveHistory;
use crate::frame::OutputMessage;
use crate::llm::TokenUsage;
use ambit_storage::storage::{Message, Role, ToolCall};
use serde_json::{Value, json};

impl Turn {
    /// Stages everything shown that is not in the history yet, after listeners have seen it.
    pub(super) async fn stage_all(&mut self) -> Result<()> {
        self.amend_stored().await?;
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
    pub(super) async fn stage_veto_note(&self, reason: &str) {
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
        self.answers
            .stored
            .extend(shown.into_iter().map(|message| message.message_id));
        self.answers.answers.clear();
    }

    /// Makes what has been said so far part of the history, for a step that builds on it.
    pub(super) async fn store_answers(&mut self) -> Result<()> {
        self.stage_shown(false).await.map(drop)
    }

    /// The same for what this agent has said, which may leave it out.
    pub(super) async fn store_answers_of(&mut self, leg: usize) -> Result<()> {
        if self.skip_of(leg).history {
            self.leave_unstored();
            return Ok(());
        }
        self.store_answers().await
    }

    /// Stages shown messages in the order in which they began; those still open only if `all`.
    async fn stage_shown(&mut self, all: bool) -> Result<Vec<Value>> {
        if self.request.skip.history {
            return Ok(Vec::new());
        }
        let shown = self.outbox.messages();
        let mut answers = std::mem::take(&mut self.answers.answers);
        let mut staged = Vec::new();
        for message in shown
            .iter()
            .filter(|message| all || message.status.is_some())
        {
            if !self.answers.stored.insert(message.message_id.clone()) {
                continue;
            }
            let answer = answers
                .iter()
                .position(|spoken| spoken.shown.contains(&message.message_id));
            let entry = match answer {
                Some(at) => {
                    let spoken = answers.remove(at);
                    self.answers.stored.extend(spoken.shown.iter().cloned());
                    self.answer_entry(&spoken, &shown)
                }
                None => self.shown_entry(message),
            };
            let stored = json!(self.session.history().add_message(entry).await?);
            if answer.is_some() {
                self.answers.sent.push(stored.clone());
            }
            staged.push(stored);
        }
        // Answers of which nothing was shown.
        for spoken in answers {
            let entry = self.answer_entry(&spoken, &shown);
            let stored = json!(self.session.history().add_message(entry).await?);
            self.answers.sent.push(stored.clone());
            staged.push(stored);
        }
        Ok(staged)
    }

    /// Makes messages that were changed after a tool round had stored them what they are now. What becomes of a call is told
    /// by its result.
    async fn amend_stored(&self) -> Result<()> {
        let mut amended = self.outbox.messages();
        amended.retain(|shown| {
            shown.amended
                && shown.kind != "tool_call"
                && self.answers.stored.contains(&shown.message_id)
        });
        if amended.is_empty() || self.request.skip.history {
            return Ok(());
        }
        let now = |id: Option<&Value>| {
            let id = id.and_then(Value::as_str)?;
            amended.iter().find(|shown| shown.message_id == id)
        };
        let change = |stored: &Message| {
            let mut changed = stored.clone();
            if let Some(shown) = now(stored.extras.get("message_id")) {
                changed = self.shown_entry(shown);
                changed.id.clone_from(&stored.id);
                changed.created_at = stored.created_at;
            }
            let views = changed
                .extras
                .get_mut("shown")
                .and_then(Value::as_array_mut);
            for view in views.into_iter().flatten() {
                if let Some(shown) = now(view.get("message_id")) {
                    let mut fields = place(shown);
                    fields.insert("type".to_owned(), shown.kind.clone().into());
                    fields.insert("props".to_owned(), shown.props.clone().into());
                    *view = fields.into();
                }
            }
            (changed != *stored).then_some(changed)
        };
        self.session
            .history()
            .amend(&self.ids.request_id, change)
            .await?;
        Ok(())
    }

    /// A message that a hook or tool has sent.
    fn shown_entry(&self, shown: &OutputMessage) -> Message {
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
    fn answer_entry(&self, spoken: &AnswerRecord, shown: &[OutputMessage]) -> Message {
        let answer = &spoken.answer;
        let mut entry = Message::assistant(answer.text.clone());
        if answer.text.is_empty() {
            entry.parts.clear();
        }
        let calls = answer.tool_calls.iter();
        entry.tool_calls = calls
            .map(|call| ToolCall::new(&call.id, &call.name, call.arguments.clone()))
            .collect();
        entry.usage = Some(json!(answer.usage)).filter(|_| answer.usage != TokenUsage::default());
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
        let of_answer: Vec<&OutputMessage> = shown
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
}

/// Where a message was shown.
fn place(shown: &OutputMessage) -> serde_json::Map<String, Value> {
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
