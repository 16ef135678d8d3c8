//! What is thought of chunks: weights and scores, and the sums of votes and hits. It stays with a chunk as long as its text does.

use super::lookup::{AccessKind, FoundDocument};
use super::{KnowledgeBase, retried};
use crate::chunk::{ScoreChange, WeightChange};
use crate::error::{KnowledgeError, Result};
use crate::rating::{ChunkRating, RatingsRecord};
use crate::reach::KnowledgeReach;
use crate::stored::{self, check_size, checked, count_one, delete, put};
use ambit_storage::address::ValueKey;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use std::collections::HashSet;

/// Bytes of JSON that a vote or a hit, or the dimensions of a score, may have.
pub(super) const RATING_BYTES: u64 = 8 << 10;

/// Ratings of a document's chunks on their way to a commit.
pub(super) struct RatingChange {
    pub found: FoundDocument,
    key: ValueKey,
    ratings: RatingsRecord,
    before: RatingsRecord,
    version: Option<u64>,
    /// The ids of the chunks that are there.
    pub ids: HashSet<String>,
}

impl KnowledgeBase {
    /// Sets weights, 0 to 10; 0 hides a chunk. Returns how many chunks were there.
    pub async fn set_weights(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        weights: &[WeightChange],
    ) -> Result<u64> {
        for change in weights {
            if !(0.0..=10.0).contains(&change.weight) {
                let field = format!("weight of {}", change.id);
                return Err(KnowledgeError::invalid(field, "must be 0 to 10"));
            }
        }
        self.change_ratings(reach, document, weights, |given, change| {
            change.set(&given.id, |rating| rating.weight = given.weight)
        })
        .await
    }

    /// Sets scores, which are kept and shown. Returns how many chunks were there.
    pub async fn set_scores(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        scores: &[ScoreChange],
    ) -> Result<u64> {
        for score in scores {
            check_size("score_dimensions", &score.dimensions, RATING_BYTES)?;
        }
        self.change_ratings(reach, document, scores, |given, change| {
            change.set(&given.id, |rating| {
                rating.score = Some(given.score);
                rating.dimensions.clone_from(&given.dimensions);
            })
        })
        .await
    }

    /// Sets what is given. Returns how much of it was for chunks that are there.
    async fn change_ratings<T>(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        given: &[T],
        set: impl Fn(&T, &mut RatingChange) -> bool,
    ) -> Result<u64> {
        retried!(async {
            let found = self.find_document(reach, document, AccessKind::Change);
            let mut change = self.ratings_of(found.await?, reach.tenant()).await?;
            let known = given.iter().filter(|given| set(given, &mut change));
            let known = known.count() as u64;
            self.store_ratings(change, Vec::new()).await?;
            Ok(known)
        })
    }

    pub(super) async fn ratings_of(
        &self,
        found: FoundDocument,
        tenant: &str,
    ) -> Result<RatingChange> {
        let place = &found.collection.value.place;
        let content = self.content_of(&found).await?;
        let key = place.ratings(&found.key, tenant);
        let stored = stored::get::<RatingsRecord>(self.driver(), key.clone()).await?;
        let version = stored.as_ref().map(|stored| stored.version);
        let before = stored.map(|stored| stored.value).unwrap_or_default();
        Ok(RatingChange {
            version,
            ratings: before.clone(),
            before,
            ids: HashSet::from_iter(content.ids),
            found,
            key,
        })
    }

    /// Commits ratings and what goes with them, if anything is new.
    pub(super) async fn store_ratings(
        &self,
        change: RatingChange,
        more: Vec<BatchWrite>,
    ) -> Result<()> {
        let batch = change.batch(more)?;
        if !batch.writes.is_empty() {
            self.driver().commit(batch).await?;
        }
        Ok(())
    }
}

impl RatingChange {
    /// What is thought of a chunk.
    pub fn of(&mut self, chunk: &str) -> &mut ChunkRating {
        self.ratings.chunks.entry(chunk.to_owned()).or_default()
    }

    /// Sets something of a chunk; false where it is not there.
    fn set(&mut self, chunk: &str, set: impl FnOnce(&mut ChunkRating)) -> bool {
        let is_there = self.ids.contains(chunk);
        if is_there {
            set(self.of(chunk));
        }
        is_there
    }

    /// The writes of the ratings and of what goes with them; none where nothing is new.
    pub fn batch(self, more: Vec<BatchWrite>) -> Result<Batch> {
        let (place, key) = (&self.found.collection.value.place, self.key);
        let mut ratings = self.ratings;
        ratings
            .chunks
            .retain(|id, rating| self.ids.contains(id) && *rating != ChunkRating::default());
        if ratings == self.before && more.is_empty() {
            return Ok(Batch::default());
        }
        let ranks_otherwise = !ratings.ranks_like(&self.before);
        let checks = [
            self.found.collection.check(),
            self.found.document.check(),
            BatchCheck::version(key.clone(), self.version),
        ];
        let write = match ratings.chunks.is_empty() {
            true => delete(key),
            false => put(key, &ratings)?,
        };
        // Hits and scores rank nothing: what searches keep in memory stays as it is.
        let changes = ranks_otherwise.then(|| count_one(place.changes()));
        Ok(checked(
            checks,
            [write].into_iter().chain(changes).chain(more),
        ))
    }
}
