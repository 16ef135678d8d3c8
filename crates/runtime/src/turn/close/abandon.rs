//! Turns that are left to be taken up later: what they have is kept, and nobody is told anything.

use crate::turn::Turn;

impl Turn {
    /// Makes durable what had ended, so that whoever goes on does not do it again, and what was used.
    pub(super) async fn persist_ended_calls(&mut self) {
        self.journal.usage.wait_for_calls().await;
        let has_any = self.settle_interrupted_calls().await;
        let (used, _) = self.journal.usage.notes();
        let mut persisted = match &self.journal.nested_calls {
            Some(calls) => calls.persist_dropped().await,
            None => Ok(()),
        };
        if persisted.is_ok() && (has_any || !used.is_empty()) {
            persisted = self.persist().await;
        }
        if let Err(error) = persisted {
            tracing::warn!(request.id = self.context.id(), %error, "results of tools are not kept; whoever goes on with the turn calls them again");
        }
    }

    /// Ends here without a word: another node, or a later start, goes on from the journal, and need not wait for that.
    pub(super) async fn abandon(&mut self) {
        let context = self.conversation.session.context();
        context.discard();
        if !self.conversation.is_held_by_next
            && let Err(error) = context.end_turn().await
        {
            tracing::warn!(request.id = self.context.id(), %error, "a conversation was not given back; its lease will expire");
        }
        if !self.context.request.is_stored() {
            // Whoever reads its stream waits for no other node.
            let _ = context.ambit().close().await;
        }
        self.release().await;
    }
}
