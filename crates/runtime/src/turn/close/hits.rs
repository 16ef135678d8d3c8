//! Hits: what a turn has found in collections counts one for each reference. Nobody waits for it: that a node dies before loses
//! the hits of its last turns.

use crate::access::CallerReach;
use crate::turn::Turn;
use ambit_knowledge::{KnowledgeBase, KnowledgeReach, UsedChunk};
use std::sync::Arc;

impl Turn {
    /// Has the hits of the chunks counted that are references of the turn.
    pub(super) fn start_counting_hits(&self) {
        let references = self.journal.searches.references.all();
        let pointers = references.iter().filter(|item| item.is_pointer());
        let used = pointers.filter_map(|item| {
            let place = item.knowledge.as_ref()?;
            Some(UsedChunk {
                document_id: place.document_id.clone(),
                chunk_id: place.chunk_id.clone(),
            })
        });
        let used: Vec<UsedChunk> = used.collect();
        let core = &self.context.core;
        let Some(base) = core.knowledge.get().filter(|_| !used.is_empty()).cloned() else {
            return;
        };
        let reach = CallerReach::of(&self.context.request.authorized);
        let reach: Arc<dyn KnowledgeReach> = Arc::new(reach);
        base.note_hits(&reach, used);
        core.spawn(async move { store_hits(&base).await });
    }
}

/// Counts the hits that are noted. Where that fails they are lost, as they rank nothing.
pub(crate) async fn store_hits(base: &KnowledgeBase) {
    if let Err(error) = base.store_hits().await {
        tracing::warn!(%error, "hits of references are not counted");
    }
}
