//! An index that is searched no more, or never was, goes as a whole.

use super::collection_work::WorkPlace;
use crate::base::retried;
use crate::error::Result;
use crate::names::{DocumentKey, chunk_prefix, content_prefix, reindex_prefix, vector_places};
use crate::records::{ContentRecord, DocumentRecord, GoneChunks};
use crate::stored::{self, checked};
use crate::sums::{Sum, add_to_sums};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;

impl WorkPlace<'_> {
    /// Erases an index with the chunks in it. It can be gone on with from wherever it was left.
    pub(super) async fn erase_index(&self, version: u32) -> Result<()> {
        let space = self.place().values();
        let prefix = content_prefix(version);
        let all = |prefix: &str| Pattern::parse(&format!("{prefix}*"));
        let mut pages = ValuePages::of(self.base.driver(), &space, all(&prefix), ValuePart::Whole);
        while let Some(page) = pages.next().await? {
            for (name, entry) in page {
                let key = DocumentKey::named(&name[prefix.len()..]);
                self.leave_index(key, entry.value.to()?).await?;
            }
        }
        for prefix in [
            chunk_prefix(version),
            reindex_prefix(version),
            content_prefix(version),
            vector_places(version, None),
        ] {
            let erased = self.base.erase_values(&space, all(&prefix), self.lease);
            erased.await?;
        }
        let index = self.place().index(version);
        self.base.erase_space(index, self.lease).await?;
        self.hasten().await
    }

    /// A document becomes what it is in the index that is searched, and what is thought of chunks that it has not there goes.
    async fn leave_index(&self, key: DocumentKey, content: ContentRecord) -> Result<()> {
        let (base, place) = (self.base, self.place());
        let serving = self.collection.value.index.version;
        let gone = GoneChunks {
            ids: content.ids,
            document: key,
        };
        self.erase_ratings(&gone).await?;
        retried!(async {
            let stored = place.document(&gone.document);
            let stored = stored::get::<DocumentRecord>(base.driver(), stored).await?;
            let Some(mut document) = stored else {
                return Ok(());
            };
            let is_known = document.value.reindexed.as_ref();
            if is_known.is_none_or(|it| it.version != serving) {
                return Ok(());
            }
            let mended = Sum::Failed.less(u64::from(document.value.settle(serving)));
            let sums = add_to_sums(place.sums(), &[mended])?;
            let checks = [document.check(), self.lease.check()];
            let batch = checked(checks, [document.put()?, sums]);
            base.driver().commit(batch).await?;
            Ok(())
        })
    }
}
