//! How far each document is in the index that a re-index makes, and what becomes of it in the end.

use crate::document::DocumentStatus;
use crate::index_record::IndexRecord;
use crate::records::{CollectionRecord, DocumentRecord, VectorTask};
use serde::{Deserialize, Serialize};

/// A document that is not whole in the new index, or has another text by now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReindexTask {
    /// What is known of its vectors, once its words are there.
    pub vectors: Option<VectorTask>,
}

impl CollectionRecord {
    /// The index that is searched, and the one that is made beside it.
    pub fn indexes(&self) -> impl Iterator<Item = &IndexRecord> {
        let new = self.reindex.as_ref().map(|reindex| &reindex.index);
        [&self.index].into_iter().chain(new)
    }
}

impl DocumentRecord {
    /// Makes it what it is in the index of this version. True where it could not be embedded before and is whole now.
    pub fn settle(&mut self, version: u32) -> bool {
        let Some(reindexed) = self.reindexed.take_if(|it| it.version == version) else {
            return false;
        };
        let document = &mut self.document;
        document.chunks = reindexed.chunks;
        document.warnings = reindexed.warnings;
        let is_mended =
            std::mem::take(&mut self.has_no_vectors) && document.status == DocumentStatus::Failed;
        if is_mended {
            document.status = DocumentStatus::Ready;
            document.error = None;
        }
        is_mended
    }
}
