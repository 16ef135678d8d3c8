//! An index whose terms are of another version than those of this program is made anew by itself.

use super::collection_work::WorkPlace;
use crate::collection::ReindexRequest;
use crate::error::Result;
use crate::stored::checked;
use ambit_search::terms::TERMS_VERSION;

impl WorkPlace<'_> {
    /// Whether the index that is searched takes chunks. Where it does not, a re-index begins if none is under way, and what is
    /// to be read waits until it has ended.
    pub(super) async fn takes_chunks(&self) -> Result<bool> {
        let snapshot = self.index().snapshot().await?;
        if snapshot.manifest.terms_version == TERMS_VERSION {
            return Ok(true);
        }
        let mut collection = self.collection.clone();
        let record = &mut collection.value;
        if record.reindex.is_none() {
            let index = record.index.changed(&ReindexRequest::default());
            let (_, begun) = self.base.begin_reindex(record, index)?;
            let checks = [self.collection.check(), self.lease.check()];
            let mut batch = checked(checks, [collection.put()?]);
            batch.writes.extend(begun);
            self.base.driver().commit(batch).await?;
        }
        Ok(false)
    }
}
