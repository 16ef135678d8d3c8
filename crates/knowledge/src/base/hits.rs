//! Hits of what turns have used: a node counts those that have gathered together, behind the turns.

use super::ratings::RatingChange;
use super::{KnowledgeBase, retried};
use crate::chunk::{ChunkHit, FeedbackContext};
use crate::error::Result;
use crate::rating::{ChunkFeedback, FeedbackRecord};
use crate::reach::KnowledgeReach;
use crate::stored::{self, put};
use ambit_storage::address::digest;
use ambit_storage::batch::Batch;
use ambit_storage::ids;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Documents whose hits one commit counts.
const DOCUMENTS: usize = 64;
/// By what hits are found that nobody has told of.
const SOURCE: &str = "reference";

/// A chunk that was used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedChunk {
    /// Its document.
    pub document_id: String,
    /// The chunk.
    pub chunk_id: String,
}

/// Hits that are not counted yet.
#[derive(Default)]
pub(super) struct WaitingHits {
    documents: Mutex<BTreeMap<HitDocument, DocumentHits>>,
    writing: tokio::sync::Mutex<()>,
}

/// A document as a tenant knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HitDocument {
    tenant: String,
    id: String,
}

/// How often who has used which chunk of a document.
type DocumentHits = BTreeMap<HitPlace, ChunkUses>;

/// How often somebody has used a chunk, of whatever document of its id they see.
struct ChunkUses {
    reach: Arc<dyn KnowledgeReach>,
    count: u32,
}

/// A chunk and who has used it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HitPlace {
    chunk: String,
    user: Option<String>,
}

impl KnowledgeBase {
    /// Notes a hit of each of these chunks, which [`store_hits`](Self::store_hits) counts.
    pub fn note_hits(&self, reach: &Arc<dyn KnowledgeReach>, used: Vec<UsedChunk>) {
        self.shared.hits.add(reach, used);
    }

    /// Counts the hits that are noted. What is gone by now is left out. Whoever comes while others are counted waits, and then
    /// counts all that were noted meanwhile: a document that every turn uses is not written by each. The hits of a document that
    /// cannot be written are lost, and those of no other; where the store is away, all are.
    pub async fn store_hits(&self) -> Result<()> {
        let hits = &self.shared.hits;
        let _writing = hits.writing.lock().await;
        let mut waiting = std::mem::take(&mut *hits.documents.lock());
        let mut all_stored = Ok(());
        while !waiting.is_empty() {
            let rest = waiting.keys().nth(DOCUMENTS).cloned();
            let rest = rest.map(|first| waiting.split_off(&first));
            let stored = match self.store_hits_of(&waiting).await {
                Err(error) if !error.is_unavailable() => self.store_each(waiting).await,
                stored => stored,
            };
            match stored {
                Err(error) if error.is_unavailable() => return Err(error),
                stored => all_stored = all_stored.and(stored),
            }
            waiting = rest.unwrap_or_default();
        }
        all_stored
    }

    /// Counts the hits of each document alone, until the store is away.
    async fn store_each(&self, documents: BTreeMap<HitDocument, DocumentHits>) -> Result<()> {
        let mut all_stored = Ok(());
        for document in documents {
            match self.store_hits_of(&BTreeMap::from([document])).await {
                Err(error) if error.is_unavailable() => return Err(error),
                stored => all_stored = all_stored.and(stored),
            }
        }
        all_stored
    }

    async fn store_hits_of(&self, documents: &BTreeMap<HitDocument, DocumentHits>) -> Result<()> {
        retried!(async {
            let mut whole = Batch::default();
            for (document, hits) in documents {
                let batch = self.hits_batch(document, hits).await?;
                whole.checks.extend(batch.checks);
                whole.writes.extend(batch.writes);
            }
            if !whole.writes.is_empty() {
                self.driver().commit(whole).await?;
            }
            Ok(())
        })
    }

    /// The writes of the hits of an id; none where nobody sees a document with the chunks.
    async fn hits_batch(&self, document: &HitDocument, hits: &DocumentHits) -> Result<Batch> {
        let (tenant, mut left) = (document.tenant.as_str(), Vec::from_iter(hits));
        let mut whole = Batch::default();
        for owner in [Some(tenant), None] {
            for found in self.documents_of(owner, &document.id).await? {
                let mut readers = left.iter().map(|(_, uses)| uses.reach.as_ref());
                if !readers.any(|reach| found.is_visible(reach)) {
                    continue;
                }
                let change = self.ratings_of(found, tenant).await?;
                let (own, others) = left.into_iter().partition(|(place, uses)| {
                    let is_visible = change.found.is_visible(uses.reach.as_ref());
                    is_visible && change.ids.contains(&place.chunk)
                });
                left = others;
                let batch = self.counted_hits(change, own).await?;
                whole.checks.extend(batch.checks);
                whole.writes.extend(batch.writes);
            }
        }
        Ok(whole)
    }

    /// The writes of what was used of a document.
    async fn counted_hits(
        &self,
        mut change: RatingChange,
        hits: Vec<(&HitPlace, &ChunkUses)>,
    ) -> Result<Batch> {
        let mut writes = Vec::new();
        for (HitPlace { chunk, user }, ChunkUses { reach, count }) in hits {
            let tenant = reach.tenant();
            let whose: Vec<&str> = [tenant].into_iter().chain(user.as_deref()).collect();
            let collection = &change.found.collection.value.place;
            let key = collection.hit(&change.found.key, chunk, &digest(&whose));
            let before = stored::get::<FeedbackRecord>(self.driver(), key.clone()).await?;
            let before = before.and_then(|before| before.value.feedback.hit());
            let mut hit = before.unwrap_or_else(|| self.first_hit(chunk));
            hit.count = hit.count.saturating_add(*count);
            let record = FeedbackRecord {
                tenant: tenant.to_owned(),
                user: user.clone(),
                feedback: ChunkFeedback::Hit(hit),
            };
            writes.push(put(key, &record)?);
            let rating = change.of(chunk);
            rating.hit = rating.hit.saturating_add(u64::from(*count));
        }
        match writes.is_empty() {
            true => Ok(Batch::default()),
            false => change.batch(writes),
        }
    }

    fn first_hit(&self, chunk: &str) -> ChunkHit {
        ChunkHit {
            id: chunk.to_owned(),
            hit_id: ids::ordered(&self.settings().clock),
            found: FeedbackContext {
                source: Some(SOURCE.to_owned()),
                ..FeedbackContext::default()
            },
            ..ChunkHit::default()
        }
    }
}

impl WaitingHits {
    fn add(&self, reach: &Arc<dyn KnowledgeReach>, used: Vec<UsedChunk>) {
        let mut documents = self.documents.lock();
        for chunk in used {
            let document = HitDocument {
                tenant: reach.tenant().to_owned(),
                id: chunk.document_id,
            };
            let place = HitPlace {
                chunk: chunk.chunk_id,
                user: reach.user().map(str::to_owned),
            };
            let hits = documents.entry(document).or_default();
            let uses = hits.entry(place).or_insert_with(|| ChunkUses {
                reach: reach.clone(),
                count: 0,
            });
            uses.count = uses.count.saturating_add(1);
        }
    }
}
