//! A call of an agent or a model that is under way.

use super::chunk_listener::ChunkListener;
use super::journal::{NestedCallRecord, NestedCallStep};
use super::script_model_call::ScriptModelCall;
use crate::ctx::ChunkCallback;
use crate::error::Result;
use crate::frame::{MessageStatus, text_of};
use crate::journal::JournalEntry;
use crate::llm::ModelCompletion;
use crate::outbox::AgentOutbox;
use crate::trace::TraceNode;
use crate::turn::Turn;
use crate::turn::next::TurnResponse;
use serde_json::Value;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A call under way. Dropped, it ends as far as it got.
pub(super) struct NestedTurn {
    pub turn: Turn,
    pub work: NestedWork,
    pub output: NestedOutput,
    /// What came of it in an earlier attempt.
    pub ended: Option<NestedAnswer>,
    pub node: TraceNode,
    pub is_over: bool,
    /// Dropped last.
    pub _running: TaskTrackerToken,
}

/// What is done.
pub(super) enum NestedWork {
    Agent,
    Model(Box<ScriptModelCall>),
}

/// What a call gives to the script that made it.
#[derive(Clone, Default)]
pub(super) struct NestedAnswer {
    pub response: Value,
    /// The same in words.
    pub content: String,
}

/// Where a call is shown.
#[derive(Clone)]
pub(super) struct NestedOutput {
    pub outbox: AgentOutbox,
    /// How many messages were there before.
    before: usize,
}

impl NestedWork {
    async fn run(&self, turn: &mut Turn) -> Result<NestedAnswer> {
        match self {
            Self::Agent => {
                let response = turn.run_agents().await?;
                Ok(NestedAnswer {
                    content: content(&response),
                    response: response.to_json(&turn.context.ids),
                })
            }
            Self::Model(call) => {
                let answer = turn.call_model(&call.run, &call.plan).await?;
                let tokens = turn.journal.usage.tokens();
                Ok(NestedAnswer {
                    response: turn.output.completion(&answer, &tokens).to_json(),
                    content: answer.text,
                })
            }
        }
    }
}

fn content(response: &TurnResponse) -> String {
    match &response.next {
        Value::Null => {
            let completion = response.completion.as_ref();
            let text = completion.and_then(ModelCompletion::text);
            text.unwrap_or_default().to_owned()
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl NestedTurn {
    pub async fn run(mut self) -> Result<NestedAnswer> {
        let ended = match self.ended.take() {
            Some(ended) => Ok(ended),
            None => {
                let ended = self.work.run(&mut self.turn).await;
                if let Ok(ended) = &ended {
                    self.turn.keep_answer(ended).await;
                }
                ended
            }
        };
        match &ended {
            Ok(answer) => self.node.complete(Some(answer.content.as_str().into())),
            Err(error) => self.node.fail(&error.message),
        }
        self.finish(match ended {
            Ok(_) => MessageStatus::Completed,
            Err(_) => MessageStatus::Partial,
        });
        ended
    }

    fn finish(&mut self, status: MessageStatus) {
        self.is_over = true;
        if matches!(self.work, NestedWork::Agent) {
            self.output.outbox.end_thread(status);
        }
    }
}

impl Drop for NestedTurn {
    fn drop(&mut self) {
        if !self.is_over {
            // Behind a defect nothing more is tried: a second one would end the process.
            if !std::thread::panicking() {
                self.turn.interrupt_call();
            }
            self.node.cancel();
            self.finish(MessageStatus::Partial);
        }
        let journal = &self.turn.journal;
        if let Some(record) = journal.call_record() {
            record.drop_pending(&journal.usage);
        }
    }
}

impl Turn {
    /// Goes on behind what a call has done in an earlier attempt. Returns its end, if it had come to that.
    pub(super) fn resume_call(&mut self) -> Option<NestedAnswer> {
        let record = self.journal.call_record();
        let before = record.map(NestedCallRecord::before).unwrap_or_default();
        let (mut steps, mut ended) = (Vec::new(), None);
        for done in before {
            match done {
                NestedCallStep::Step(step) => steps.push(JournalEntry::clone(step)),
                NestedCallStep::Ended { response, content } => {
                    ended = Some(NestedAnswer {
                        response: response.clone(),
                        content: content.clone(),
                    });
                }
                NestedCallStep::Unknown(_) => {}
            }
        }
        self.journal.resume(steps);
        ended
    }

    /// Breaks off a call that is dropped: what has ended by then is not done again where the turn is restarted. Nothing can be
    /// waited for here, so that listeners do not hear of what had ended unseen.
    fn interrupt_call(&mut self) {
        let calls = &mut self.journal.tool_calls;
        calls.stop();
        let settling = calls.settling.take();
        let unannounced = std::mem::take(&mut calls.ended);
        for ended in settling.as_deref().into_iter().chain(&unannounced) {
            if self.journal.replay.settled(ended.run.position).is_none()
                && let Err(error) = self.journal.note(ended.step())
            {
                let name = ended.name();
                self.output
                    .warn(&format!("the result of {name} is not kept: {error}"));
            }
            self.output.show_call_end(ended);
        }
    }

    /// Keeps the end of a call. Where that fails, a hook that runs again has the last of it done once more.
    async fn keep_answer(&mut self, answer: &NestedAnswer) {
        let Some(record) = self.journal.call_record() else {
            return;
        };
        let noted = record.note(NestedCallStep::Ended {
            response: answer.response.clone(),
            content: answer.content.clone(),
        });
        // Where the end is not kept, what comes before it is.
        if let Err(error) = noted.and(record.flush(&self.journal.usage).await) {
            self.output
                .warn(&format!("the end of a call is not kept: {error}"));
        }
    }
}

impl NestedOutput {
    pub fn new(outbox: AgentOutbox) -> Self {
        let before = outbox.outbox().messages().len();
        Self { outbox, before }
    }

    /// Gives the script each frame of the call as it comes.
    pub fn listen(&self, on_chunk: ChunkCallback) -> Result<ChunkListener> {
        let log = self.outbox.outbox().log();
        let thread = self.outbox.author().thread.clone();
        ChunkListener::new(log, thread, on_chunk)
    }

    /// The texts that were shown.
    pub fn text(&self) -> String {
        let thread = &self.outbox.author().thread;
        let mut messages = self.outbox.outbox().messages();
        messages.drain(..self.before.min(messages.len()));
        messages.retain(|message| message.thread_id == *thread);
        text_of(&messages)
    }
}
