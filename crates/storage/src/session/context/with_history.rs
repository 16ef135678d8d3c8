//! What is written beside a history, in the same commit.

use super::Context;
use crate::batch::{BatchCheck, BatchWrite};
use crate::ids;

impl Context {
    /// Has these writes committed with the history at the next save, all or nothing.
    pub fn stage_with_history(&self, writes: impl IntoIterator<Item = BatchWrite>) {
        let history = self.session.state().history.clone();
        let id = ids::unguessable();
        let writes = writes.into_iter().map(|write| (id.clone(), write));
        history.staged().extra.extend(writes);
    }

    /// Takes back entries that were staged with the history and have been written elsewhere meanwhile.
    pub fn unstage_with_history(&self, written: &[BatchWrite]) {
        let history = self.session.state().history.clone();
        let mut staged = history.staged();
        let is_written = |write: &BatchWrite| {
            matches!(write, BatchWrite::Append { .. }) && written.contains(write)
        };
        staged.extra.retain(|(_, write)| !is_written(write));
    }

    /// Has the next save of the history refused as `Conflict` where this does not hold.
    pub fn check_with_history(&self, check: BatchCheck) {
        let history = self.session.state().history.clone();
        history.staged().checks.push((ids::unguessable(), check));
    }
}
