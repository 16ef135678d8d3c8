//! The journal of a turn: each step is durable, with its effect, before the next one builds on it, and what it has is not done
//! again after a crash.

mod replay;

use replay::JournalReplay;

use super::Turn;
use super::nested_turn::{NestedCallJournal, NestedCallRecord, NestedCallStep};
use super::tool_round::RunningToolCalls;
use super::usage::TurnUsage;
use crate::error::{Error, ErrorCode, Result, StorageError};
use crate::event::AfterSend;
use crate::journal::{self, JournalEntry, JournalStep, RoundPosition};
use crate::search::{TurnReferences, TurnSearches};
use crate::stream::StreamWriter;
use ambit_storage::address::LogKey;
use ambit_storage::clock::backoff;
use ambit_storage::event::UsageRecorded;
use ambit_storage::{LiveAgent, SaveReport};
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// How often a store that cannot be reached is tried.
const TRIES: u32 = 6;
/// The longest pause between tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The pause before the second try; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// What a turn has done, and what is under way.
pub(super) struct TurnJournal {
    /// The steps, those of an earlier attempt included.
    pub replay: JournalReplay,
    /// The round that is under way.
    pub position: RoundPosition,
    /// The tool calls of this round.
    pub tool_calls: RunningToolCalls,
    /// What models have used, those called from inside the turn included.
    pub usage: Arc<TurnUsage>,
    /// What agents called from inside the turn have done, if that is kept.
    pub nested_calls: Option<Arc<NestedCallJournal>>,
    /// What its searches share, and have found.
    pub searches: Arc<TurnSearches>,
    log: StepLog,
}

/// Where steps are kept.
pub(super) enum StepLog {
    /// The log of the turn: a step becomes durable with whatever of the turn is stored next.
    Turn {
        key: LogKey,
        session: LiveAgent,
        stream: StreamWriter,
    },
    /// The record of a call, which the turn around it keeps.
    NestedCall(NestedCallRecord),
    /// Steps are not kept.
    None,
}

impl TurnJournal {
    /// Of a turn that has done nothing yet.
    pub fn new(
        log: StepLog,
        usage: Arc<TurnUsage>,
        nested_calls: Option<Arc<NestedCallJournal>>,
    ) -> Self {
        Self {
            replay: JournalReplay::default(),
            position: RoundPosition::default(),
            tool_calls: RunningToolCalls::default(),
            usage,
            nested_calls,
            searches: Arc::default(),
            log,
        }
    }

    /// Notes a step that becomes durable with the next one, or with what is shown next. A step that is lost before that is done
    /// once more.
    ///
    /// What was found since the step before is stored with it.
    pub fn note(&mut self, step: JournalStep) -> Result<()> {
        let entry = JournalEntry {
            references: self.searches.references.take_new(),
            step,
        };
        match &self.log {
            StepLog::Turn {
                key,
                session,
                stream,
            } => {
                let write = journal::write(key, self.replay.count(), &entry)?;
                if !entry.step.claims_history() {
                    // Staged in both, it goes along with whichever is stored first: a step of one number is written once.
                    stream.stage_write(write.clone());
                }
                session.context().stage_with_history([write]);
            }
            StepLog::NestedCall(record) => {
                record.note(NestedCallStep::Step(Box::new(entry.clone())))?;
            }
            StepLog::None => {}
        }
        self.replay.add(entry.step);
        Ok(())
    }

    /// Goes on behind what an earlier attempt has done.
    pub fn resume(&mut self, entries: impl IntoIterator<Item = JournalEntry>) {
        let mut found = Vec::new();
        for JournalEntry { step, references } in entries {
            self.replay.add(step);
            found.extend(references);
        }
        let references = TurnReferences::resume(found);
        self.searches = Arc::new(TurnSearches::resume(references));
    }

    /// Makes durable what a call from inside a turn has done.
    pub async fn flush_call(&self) -> Result<()> {
        match self.call_record() {
            Some(record) => record.flush(&self.usage).await,
            None => Ok(()),
        }
    }

    /// The record of the call that the turn is, if it is kept.
    pub fn call_record(&self) -> Option<&NestedCallRecord> {
        match &self.log {
            StepLog::NestedCall(record) => Some(record),
            _ => None,
        }
    }
}

impl Turn {
    /// Makes a step durable before the turn goes on.
    pub(super) async fn record(&mut self, step: JournalStep) -> Result<()> {
        self.journal.note(step)?;
        self.persist().await
    }

    /// Writes what is staged, and announces the answers in it. What is staged by a call from inside a turn is stored with that
    /// turn.
    pub(super) fn persist<'a>(&'a mut self) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if self.context.is_nested() {
                let mut failures = 0;
                while let Err(error) = self.journal.flush_call().await {
                    self.wait_before_retry(error, &mut failures).await?;
                }
                return Ok(());
            }
            self.save(false).await?;
            self.announce_sent().await;
            Ok(())
        })
    }

    /// Tells listeners of the answers that are stored now.
    pub(super) async fn announce_sent(&mut self) {
        for message in std::mem::take(&mut self.output.answers.unannounced) {
            let about = self.context.about();
            self.context.announce(AfterSend { about, message }).await;
        }
    }

    /// Makes all that is staged durable, at the end with what ends with the turn. A store that fails for a moment is waited for;
    /// what could not be written stays staged and goes along with the next write.
    pub(super) async fn save(&mut self, is_end: bool) -> Result<()> {
        let is_held = self.conversation.session.context().lease().is_some();
        let mut tries = 0;
        loop {
            tries += 1;
            let context = self.conversation.session.context();
            // Where the conversation is given back already, another store than its own has failed.
            let is_given_back = is_held && context.lease().is_none();
            // The stream may have stored already what was staged with it and with the history. Before the end that is written all
            // the same: a save of nothing would not notice that the conversation is gone.
            let stored = self.output.stream.take_stored();
            if is_end {
                context.unstage_with_history(&stored);
            }
            // While the rest is saved, more may be staged behind this.
            let staged = self.output.stream.last_staged();
            let last_note = self.journal.usage.last_note();
            let saved = match is_end && !is_given_back {
                true => self.save_end().await,
                false => context.save().await,
            };
            let Err(error) = saved else {
                self.output.stream.clear_staged(staged);
                self.journal.usage.clear_notes(last_note);
                return Ok(());
            };
            let is_conflict = matches!(error, StorageError::Conflict { .. });
            if is_end && is_conflict && self.stage_last_messages().await? {
                continue;
            }
            let is_away = matches!(error, StorageError::Unavailable { .. });
            let is_waited_for = tries < TRIES || (is_end && is_away && self.waits_for_store());
            if !may_pass(&error) || !is_waited_for {
                return Err(error.into());
            }
            tokio::time::sleep(pause(tries)).await;
            // After a read that failed nothing is written until one succeeds; if this one fails, so does the next try.
            let context = self.conversation.session.context();
            let _ = context.history().count().await;
        }
    }

    /// Saves with the end of the inbox, and gives the conversation back unless the next turn has it already.
    async fn save_end(&self) -> ambit_storage::Result<SaveReport> {
        let inbox = &self.context.live.inbox;
        let end = inbox.end(self.conversation.inbox_position);
        let context = self.conversation.session.context();
        match self.conversation.is_held_by_next {
            true => context.save_with(end).await,
            false => context.save_and_end_turn(end).await,
        }
    }

    /// Saves what is booked apart from a conversation that is stored nowhere. A store that fails for a moment is waited for.
    pub(super) async fn save_usage_apart(&self) -> Result<()> {
        let Some(context) = self.journal.usage.apart() else {
            return Ok(());
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match context.save().await {
                Ok(_) => return Ok(()),
                Err(error) if tries < TRIES && may_pass(&error) => {
                    tokio::time::sleep(pause(tries)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// After a read that failed: waits a while where the store is away, and the read may be tried again.
    pub(super) async fn wait_before_retry(&self, error: Error, failures: &mut u32) -> Result<()> {
        if error.code != ErrorCode::Unavailable || !self.waits_for_store() {
            return Err(error);
        }
        *failures += 1;
        tokio::time::sleep(pause(*failures)).await;
        Ok(())
    }

    /// Whether a store that is away is waited for: while the conversation is held and the node is not being closed, nobody else
    /// knows what came of the turn. Where the next turn waits for it, it is not.
    fn waits_for_store(&self) -> bool {
        let conversation = &self.conversation;
        let is_own = conversation.is_held() && !conversation.is_held_by_next;
        is_own && !self.context.live.is_left()
    }

    /// Writes the record of a model call before the answer, if a listener can tell the order.
    pub(super) async fn persist_usage(&mut self) -> Result<()> {
        if self.context.has_listener::<UsageRecorded>() {
            self.persist().await?;
        }
        Ok(())
    }
}

/// The pause behind so many tries that failed.
fn pause(failures: u32) -> Duration {
    backoff(FIRST_PAUSE, LONGEST_PAUSE, failures)
}

/// True where the same write may succeed later. What a listener of the program answers passes only where it says so.
fn may_pass(error: &StorageError) -> bool {
    if let StorageError::Unavailable { source, .. } = error
        && let Some(own) = source.as_ref().and_then(|it| it.downcast_ref::<Error>())
    {
        return own.code == ErrorCode::Unavailable;
    }
    matches!(
        error,
        StorageError::Unavailable { .. }
            | StorageError::Partial { .. }
            | StorageError::Conflict { .. }
            | StorageError::Busy { .. }
    )
}
