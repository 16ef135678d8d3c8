//! The end of a turn whose history a listener stops from being saved.

use crate::error::{Result, StorageError};
use crate::log_words;
use crate::turn::Turn;
use ambit_storage::batch::BatchWrite;

impl Turn {
    /// A listener that stops the history from being saved does not stop the turn from ending, nor what it has used from being
    /// booked.
    pub(super) async fn commit_past_listeners(&mut self, writes: Vec<BatchWrite>) -> Result<()> {
        self.conversation.session.history().discard();
        loop {
            let context = self.conversation.session.context();
            if let Err(error) = context.save().await {
                let why = log_words::failure(&error.into());
                tracing::warn!(
                    request.id = self.context.id(),
                    error.message = why,
                    "what a turn has used, or what came in at its end, is not stored"
                );
            }
            context.discard();
            let inbox = &self.context.live.inbox;
            let mut batch = inbox.end(self.conversation.inbox_position);
            batch.writes.extend(writes.iter().cloned());
            let lease = context.lease();
            batch.checks.extend(lease.map(|lease| lease.check()));
            match self.conversation.driver().commit(batch).await {
                Err(StorageError::Conflict { .. }) if self.stage_last_messages().await? => {}
                committed => {
                    committed?;
                    break;
                }
            }
        }
        let context = self.conversation.session.context();
        if !self.conversation.is_held_by_next {
            context.end_turn().await?;
        }
        Ok(())
    }
}
