//! The index row of a conversation's memory, which comes with the first write that makes data, and who is asked and told of it.

use super::Memory;
use crate::batch::{BatchWrite, WriteOutcome};
use crate::directory::TrackRequest;
use crate::{Result, ids};
use futures::future::BoxFuture;
use std::collections::BTreeMap;

/// Who is asked before a memory is tracked, and told when its row is new.
pub(crate) trait RowListener: Send + Sync {
    /// Gives the labels of the row, or refuses it.
    fn adding<'a>(
        &'a self,
        row: &'a TrackRequest,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>>>;

    /// Hears that the row is new, and of its id.
    fn added<'a>(&'a self, row: &'a TrackRequest, id: &'a str) -> BoxFuture<'a, ()>;
}

impl Memory {
    /// The write that makes the row where it is not there, for a memory that is tracked.
    pub(super) async fn row_write(&self) -> Result<Option<BatchWrite>> {
        let Some(tracking) = &self.tracking else {
            return Ok(None);
        };
        let mut row = TrackRequest {
            // Its row may have been removed since the last write, and no id is used again.
            id: ids::unguessable(),
            ..tracking.track.clone()
        };
        if let Some(listener) = &self.row_listener {
            row.labels = listener.adding(&tracking.track).await?;
        }
        Ok(Some(BatchWrite::Track(Box::new(row))))
    }

    /// Tells the listener if the first of these outcomes is that of the row, and it is new.
    pub(super) async fn tell_row_listener(&self, outcomes: &[WriteOutcome]) {
        if let Some(tracking) = &self.tracking
            && let Some(listener) = &self.row_listener
            && let Some(WriteOutcome::Tracked { id, is_new: true }) = outcomes.first()
        {
            listener.added(&tracking.track, id).await;
        }
    }
}
