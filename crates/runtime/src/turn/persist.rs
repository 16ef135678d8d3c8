//! Making steps durable: what a turn builds on is stored before it goes on, and is never forgotten.

use super::Turn;
use super::nested_turn::NestedCallStep;
use crate::error::{Error, ErrorCode, Result};
use crate::event::{AfterSend, BeforeSaveHistory};
use crate::journal::{self, JournalStep};
use ambit_storage::clock::backoff;
use ambit_storage::event::{
    ChatHistorySaving, ContextSaving, MessageAdded, MessageAdding, UsageRecorded,
};
use std::time::Duration;

/// How often a store that cannot be reached is asked again.
const TRIES: u32 = 6;
/// The longest pause between tries.
const LONGEST: Duration = Duration::from_secs(2);
/// The pause before the second try.
const PAUSE: Duration = Duration::from_millis(50);

impl Turn {
    /// Makes a step durable before the turn goes on. Steps that the journal has already are passed over.
    pub(super) async fn record(&mut self, step: JournalStep) -> Result<()> {
        self.note(step)?;
        self.persist().await
    }

    /// Notes a step that becomes durable with the next one, or with what is shown next: without it, it would be done once more.
    pub(super) fn note(&mut self, step: JournalStep) -> Result<()> {
        if let Some(fork) = &self.parent {
            fork.keep(NestedCallStep::Step(Box::new(step.clone())))?;
            self.replay.add(step);
            return Ok(());
        }
        let write = journal::write(&self.names.journal(), self.replay.count(), &step)?;
        if !step.claims_history() {
            // Whichever comes first: a step of one number is written once.
            self.log.stage_write(write.clone());
        }
        self.session.context().stage_with_history([write]);
        self.replay.add(step);
        Ok(())
    }

    /// Writes what is staged, and tells of what was said.
    pub(super) async fn persist(&mut self) -> Result<()> {
        if let Some(fork) = &self.parent {
            // What is staged is kept by the turn around it.
            let mut failures = 0;
            while let Err(error) = fork.flush(&self.usage).await {
                self.wait_before_retry(error, &mut failures).await?;
            }
            return Ok(());
        }
        self.save(false).await?;
        for message in std::mem::take(&mut self.answers.sent) {
            let about = self.about();
            self.announce(AfterSend { about, message }).await;
        }
        Ok(())
    }

    /// Makes all that is staged durable, and gives the conversation back with it if the turn ends. A store that fails for a
    /// moment is waited for; what could not be written stays staged and goes along with the next write.
    pub(super) async fn save(&self, is_end: bool) -> Result<()> {
        let context = self.session.context();
        let mut tries = 0;
        loop {
            tries += 1;
            // Behind this, something may be staged while the rest is saved.
            let staged = self.log.last_staged();
            let (_, noted) = self.usage.notes();
            let saved = match is_end {
                true => context.save_and_end_turn().await,
                false => context.save().await,
            };
            match saved {
                Ok(_) => {
                    self.log.clear_staged(staged);
                    self.usage.noted(noted);
                    return Ok(());
                }
                Err(error) if !may_pass(&error) => return Err(error.into()),
                Err(error) if tries >= TRIES && !(is_end && self.may_retry(&error)) => {
                    return Err(error.into());
                }
                Err(_) => {
                    tokio::time::sleep(backoff(PAUSE, LONGEST, tries)).await;
                    // After a read that failed nothing is written until one succeeds; if this one fails, so does the next try.
                    let _ = context.history().count().await;
                }
            }
        }
    }

    /// After a read that failed: waits a while where the store is away, and the read may be tried again.
    pub(super) async fn wait_before_retry(&self, error: Error, failures: &mut u32) -> Result<()> {
        if error.code != ErrorCode::Unavailable || !self.holds_conversation() {
            return Err(error);
        }
        *failures += 1;
        tokio::time::sleep(backoff(PAUSE, LONGEST, *failures)).await;
        Ok(())
    }

    /// Writes the record of a call before the answer, if anybody can tell the order.
    pub(super) async fn persist_usage(&mut self) -> Result<()> {
        if self.has_listener::<UsageRecorded>() {
            self.persist().await?;
        }
        Ok(())
    }

    /// Whether anybody can tell that the last answer is stored before the turn is closed.
    pub(super) fn is_watched(&self) -> bool {
        self.has_listener::<AfterSend>()
            || self.has_listener::<BeforeSaveHistory>()
            || self.has_listener::<ContextSaving>()
            || self.has_listener::<ChatHistorySaving>()
            || self.has_listener::<MessageAdding>()
            || self.has_listener::<MessageAdded>()
    }
}

/// True where the same write may succeed later.
fn may_pass(error: &ambit_storage::Error) -> bool {
    use ambit_storage::Error as Stored;
    matches!(
        error,
        Stored::Unavailable { .. }
            | Stored::Partial { .. }
            | Stored::Conflict { .. }
            | Stored::Busy { .. }
    )
}
