//! What is kept of a search: a note in the turn's journal, and the references for whoever may read the conversation.

use crate::error::Result;
use crate::journal::JournalStep;
use crate::search::stored::StoredReferences;
use crate::search::{self, AutomaticSearch};
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use ambit_storage::batch::BatchWrite;
use ambit_storage::clock::to_millis;
use ambit_storage::json::Json;
use ambit_storage::operation::Operation;

impl Turn {
    /// Stages what the turn's searches have found for whoever may read the conversation. It goes with it.
    fn stage_references(&self) {
        match self.references_write() {
            Ok(Some(write)) => {
                self.output.stream.stage_write(write.clone());
                let context = self.conversation.session.context();
                context.stage_with_history([write]);
            }
            Ok(None) => {}
            Err(error) => self
                .output
                .warn(&format!("search: its references are not stored: {error}")),
        }
    }

    /// What is stored of the turn's references; those of a call from inside a turn count for that call alone.
    pub(in crate::turn) fn references_write(&self) -> Result<Option<BatchWrite>> {
        let items = self.journal.searches.references.all();
        if items.is_empty() || self.context.is_nested() {
            return Ok(None);
        }
        let stored = StoredReferences::of(&items, self.journal.replay.last_search());
        Ok(Some(BatchWrite::Apply {
            key: self.context.keys.references(),
            op: Operation::Set(Json::of(&stored)?.into()),
            life: Some(to_millis(self.context.retention().known())),
        }))
    }

    /// Tells whoever follows the turn of what was found, together with the note that keeps it from being searched for again.
    pub(super) async fn settle_search(&mut self, run: &AgentRun, found: &AutomaticSearch) {
        let step = JournalStep::Searched {
            run: run.index,
            search: Box::new(found.clone()),
        };
        search::announce(&self.agent_outbox(run), &found.items());
        let noted = self.journal.note(step);
        self.stage_references();
        // A turn that goes on from the note tells nobody again.
        let told = self.output.stream.flush().await;
        // What is searched for again may be found and paid for again.
        let persisted = self.persist().await;
        if let Err(error) = noted.and(told).and(persisted) {
            let warning = format!("search: it is not kept: {error}");
            self.output.warn(&warning);
        }
        self.context.reach_fault_point("turn.searched");
    }
}
