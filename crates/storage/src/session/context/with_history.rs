//! What is written beside a history, in the same commit.

use super::Context;
use crate::Result;
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::ids;
use crate::items::SharedCell;
use crate::report::SaveReport;

impl Context {
    /// Has these writes committed with the history at the next save, all or nothing.
    pub fn stage_with_history(&self, writes: impl IntoIterator<Item = BatchWrite>) {
        let history = self.history_cell();
        let id = ids::unguessable();
        let writes = writes.into_iter().map(|write| (id.clone(), write));
        history.staged().extra.extend(writes);
    }

    /// Takes back entries that were staged with the history and have been written elsewhere meanwhile.
    pub fn unstage_with_history(&self, written: &[BatchWrite]) {
        let history = self.history_cell();
        let mut staged = history.staged();
        let is_written = |write: &BatchWrite| {
            matches!(write, BatchWrite::Append { .. }) && written.contains(write)
        };
        staged.extra.retain(|(_, write)| !is_written(write));
    }

    /// Has the next save of the history refused as `Conflict` where this does not hold.
    pub fn check_with_history(&self, check: BatchCheck) {
        let history = self.history_cell();
        history.staged().checks.push((ids::unguessable(), check));
    }

    /// Writes all that is staged, and this with the history. Where the history could not be written, the latter is forgotten; the
    /// rest stays staged.
    pub async fn save_with(&self, last: Batch) -> Result<SaveReport> {
        let last = LastWrites::stage(&self.history_cell(), last);
        let saved = self.save().await;
        drop(last);
        saved
    }

    /// The same, and gives the conversation back with it.
    pub async fn save_and_end_turn(&self, mut last: Batch) -> Result<SaveReport> {
        if let Some(lease) = self.lease() {
            last.writes.extend(lease.end_of_turn());
        }
        let last = LastWrites::stage(&self.history_cell(), last);
        let saved = self.save().await;
        // Another store may have failed behind the history's.
        if saved.is_ok() || last.are_written() {
            self.session.state().lease = None;
        }
        saved
    }

    fn history_cell(&self) -> SharedCell {
        self.session.state().history.clone()
    }
}

/// What is staged for one save only.
struct LastWrites {
    history: SharedCell,
    id: String,
}

impl LastWrites {
    fn stage(history: &SharedCell, batch: Batch) -> Self {
        let id = ids::unguessable();
        let mut staged = history.staged();
        let checks = batch.checks.into_iter().map(|check| (id.clone(), check));
        staged.checks.extend(checks);
        let writes = batch.writes.into_iter().map(|write| (id.clone(), write));
        staged.extra.extend(writes);
        drop(staged);
        Self {
            history: history.clone(),
            id,
        }
    }

    /// Whether a save has written them: they are staged no more.
    fn are_written(&self) -> bool {
        let staged = self.history.staged();
        !staged.extra.iter().any(|(id, _)| *id == self.id)
    }
}

impl Drop for LastWrites {
    /// Also where whoever saves has left.
    fn drop(&mut self) {
        let mut staged = self.history.staged();
        staged.checks.retain(|(id, _)| *id != self.id);
        staged.extra.retain(|(id, _)| *id != self.id);
    }
}
