//! What the models of a turn have said, and how it becomes history with all else that was shown: each shown message that is not
//! stored yet is an entry of its own, and so is each answer with all that was shown of it.

mod history_entry;

pub(super) use history_entry::{call_messages, message_ids};

use super::Turn;
use super::open::LONGEST_TURN;
use super::output::TurnOutput;
use crate::chat::{BlockKind, BlockSource, ChatMessage};
use crate::error::Result;
use crate::event::BeforeSaveHistory;
use crate::frame::MessageStatus;
use crate::journal::ToolCallReport;
use crate::llm::ModelAnswer;
use ambit_storage::storage::Message;
use history_entry::{amended_entry, answer_entry, message_entry, signed};
use std::collections::HashSet;

/// How far back is looked for what was stored before the turn.
const LOOKS: [usize; 3] = [32, 256, LONGEST_TURN];

/// What the models of a turn have said.
#[derive(Default)]
pub(super) struct TurnAnswers {
    /// The connector that was called last.
    pub connector: Option<String>,
    /// Which call that was, unless it was an earlier process's.
    pub call_id: Option<String>,
    /// Why the last answer ended.
    pub finish_reason: String,
    /// How many calls were made.
    pub calls: usize,
    /// `payload.tools`.
    pub tool_results: Vec<ToolCallReport>,
    /// The last answer has a form of its own.
    pub is_structured: bool,
    /// The messages in which tool calls were shown.
    pub call_messages: Vec<CallMessage>,
    /// Answers that are not in the history yet.
    pub unstored: Vec<AnswerRecord>,
    /// The shown messages that the history has already, or is to leave out.
    pub stored: HashSet<String>,
    /// Stored answers of which listeners have not been told.
    pub unannounced: Vec<Message>,
}

/// An answer and how it was shown.
pub(super) struct AnswerRecord {
    pub answer: ModelAnswer,
    /// The agent whose answer it is.
    pub agent: String,
    /// The messages, in order; the first is where the answer stands.
    pub shown: Vec<String>,
}

/// In which message a tool call was shown.
pub(super) struct CallMessage {
    pub call_id: String,
    pub message_id: String,
}

impl TurnAnswers {
    /// The answer of the last call as a message.
    pub fn message(&self, answer: &ModelAnswer) -> ChatMessage {
        let source = BlockSource {
            call_id: self.call_id.clone(),
            ..BlockSource::default()
        };
        answer.message().with_source(BlockKind::Answer, source)
    }

    /// The message in which a tool call was shown.
    pub fn call_message(&self, call_id: &str) -> Option<&str> {
        let mut messages = self.call_messages.iter().rev();
        let found = messages.find(|message| message.call_id == call_id)?;
        Some(&found.message_id)
    }
}

impl TurnOutput {
    /// Keeps an answer for the history, as far as it came.
    pub fn keep_answer(&mut self, mut record: AnswerRecord, status: MessageStatus) {
        let is_whole = status == MessageStatus::Completed;
        let answer = &mut record.answer;
        if is_whole {
            let is_call = |id: &&String| self.is_shown_as(id, "tool_call");
            let shown = record.shown.iter().filter(is_call);
            let calls = answer.tool_calls.iter().zip(shown);
            let calls: Vec<CallMessage> = calls
                .map(|(call, message)| CallMessage {
                    call_id: call.id.clone(),
                    message_id: message.clone(),
                })
                .collect();
            self.answers.call_messages.extend(calls);
        } else {
            // Nobody runs what a broken answer asks for.
            answer.tool_calls.clear();
        }
        let has_content = !(answer.text.is_empty()
            && answer.reasoning.is_empty()
            && answer.tool_calls.is_empty());
        if has_content || (is_whole && *answer != ModelAnswer::default()) {
            self.answers.unstored.push(record);
        }
    }

    /// What was said and is not stored yet stays out of the history.
    pub fn omit_unstored(&mut self) {
        let shown = self.outbox.messages();
        let shown = shown.into_iter().map(|message| message.message_id);
        self.answers.stored.extend(shown);
        self.answers.unstored.clear();
    }
}

impl Turn {
    /// Stages everything shown that is not in the history yet, after listeners have seen it.
    pub(super) async fn stage_all(&mut self) -> Result<()> {
        self.amend_stored().await?;
        let staged = self.stage_shown(true).await?;
        if !self.context.has_history_listener() {
            return Ok(());
        }
        self.persist().await?;
        if !self.context.has_listener::<BeforeSaveHistory>() {
            return Ok(());
        }
        let event = BeforeSaveHistory {
            about: self.context.about(),
            messages: self.own_messages().await?,
        };
        let verdict = self.context.ask(event).await;
        if verdict.is_err() {
            for message in staged {
                let history = self.conversation.session.history();
                history.remove_message(&message.id).await?;
            }
            self.persist().await?;
        }
        verdict.map(drop)
    }

    /// The messages of the turn, as the history has them.
    async fn own_messages(&self) -> Result<Vec<Message>> {
        if self.context.request.skip.history {
            return Ok(Vec::new());
        }
        let is_own = |message: &Message| message.turn_id.as_deref() == Some(self.context.id());
        // Those that others append meanwhile stand between those of the turn.
        let before = self.conversation.history.iter();
        let before = before.take_while(|message| !is_own(message)).last();
        let history = self.conversation.session.history();
        let mut messages = Vec::new();
        for look in LOOKS {
            messages = history.tail(look).await?;
            let is_before = |message: &Message| before.is_some_and(|it| it.id == message.id);
            if messages.len() < look || messages.iter().any(is_before) {
                break;
            }
        }
        messages.retain(is_own);
        Ok(messages)
    }

    /// Stages a note for models behind what a vetoed turn leaves: its finished calls stay.
    pub(super) async fn stage_veto_note(&self, reason: &str) {
        let mut note = Message::assistant(format!("[no answer: {reason}]"));
        note.extras.insert("synthetic".to_owned(), true.into());
        let note = signed(note, self.context.id(), &self.context.request.agent);
        if let Err(error) = self.conversation.append(note).await {
            self.output.warn(&format!(
                "the turn's end is not marked in the history: {error}"
            ));
        }
    }

    /// Makes what has been said so far part of the history, for a step that builds on it.
    pub(super) async fn store_answers(&mut self) -> Result<()> {
        self.stage_shown(false).await.map(drop)
    }

    /// The same for what the agent of a run has said, which may leave it out.
    pub(super) async fn store_answers_of(&mut self, run: usize) -> Result<()> {
        if self.skip_options(run).history {
            self.output.omit_unstored();
            return Ok(());
        }
        self.store_answers().await
    }

    /// Stages shown messages in the order in which they began; those still open only if `all`.
    async fn stage_shown(&mut self, all: bool) -> Result<Vec<Message>> {
        if self.context.request.skip.history {
            return Ok(Vec::new());
        }
        let turn_id = self.context.ids.request_id.as_str();
        let history = self.conversation.session.history();
        let shown = self.output.outbox.messages();
        let answers = &mut self.output.answers;
        let mut unstored = std::mem::take(&mut answers.unstored);
        let mut staged = Vec::new();
        for message in shown
            .iter()
            .filter(|message| all || message.status.is_some())
        {
            if !answers.stored.insert(message.message_id.clone()) {
                continue;
            }
            let answer = unstored
                .iter()
                .position(|record| record.shown.contains(&message.message_id));
            let entry = match answer {
                Some(at) => {
                    let record = unstored.remove(at);
                    answers.stored.extend(record.shown.iter().cloned());
                    answer_entry(&record, &shown, turn_id)
                }
                None => message_entry(message, turn_id),
            };
            let stored = history.add_message(entry).await?;
            if answer.is_some() {
                answers.unannounced.push(stored.clone());
            }
            staged.push(stored);
        }
        // Answers of which nothing was shown.
        for record in unstored {
            let entry = answer_entry(&record, &shown, turn_id);
            let stored = history.add_message(entry).await?;
            answers.unannounced.push(stored.clone());
            staged.push(stored);
        }
        Ok(staged)
    }

    /// Makes messages that were changed after a tool round had stored them what they are now. What becomes of a call is told
    /// by its result.
    async fn amend_stored(&self) -> Result<()> {
        let mut amended = self.output.outbox.messages();
        amended.retain(|shown| {
            shown.amended
                && shown.kind != "tool_call"
                && self.output.answers.stored.contains(&shown.message_id)
        });
        if amended.is_empty() || self.context.request.skip.history {
            return Ok(());
        }
        let turn_id = self.context.id();
        let change = |stored: &Message| amended_entry(stored, &amended, turn_id);
        let history = self.conversation.session.history();
        history.amend(turn_id, change).await?;
        Ok(())
    }
}
