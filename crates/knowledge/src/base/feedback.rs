//! Votes and hits: what people and apps say of chunks. Each is kept with whose it is, and counts for its chunk.

use super::lookup::FoundDocument;
use super::ratings::{RATING_BYTES, RatingChange};
use super::{KnowledgeBase, retried};
use crate::chunk::{ChunkHit, ChunkVote};
use crate::error::{KnowledgeError, Result};
use crate::names::{CollectionPlace, DocumentKey, feedback_prefix, hits_prefix, votes_prefix};
use crate::rating::{ChunkFeedback, FeedbackRecord, Voter};
use crate::reach::KnowledgeReach;
use crate::stored::{self, check_size, delete, put};
use ambit_storage::address::digest;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, ids};

/// So many uses of a chunk does a user tell of.
const HITS: u64 = 1_000;

/// The beginning of the names of votes on a chunk, or of uses of it.
type FeedbackPrefix = fn(&DocumentKey, &str) -> String;

/// Votes on a chunk, or uses of it, by their ids.
struct SelectedFeedback<'a> {
    chunk: &'a str,
    prefix: FeedbackPrefix,
    ids: &'a [String],
}

/// What was said of chunks, by the names of the values.
type NamedFeedback = Vec<(String, FeedbackRecord)>;

impl KnowledgeBase {
    /// Votes on a chunk in the place of the caller's earlier vote. Whoever may read the document may vote.
    pub async fn vote(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        vote: &ChunkVote,
    ) -> Result<ChunkVote> {
        check_size("vote", vote, RATING_BYTES)?;
        let Some(voter) = Voter::of(reach) else {
            let reason = "only a user can vote, and nobody is named".to_owned();
            return Err(KnowledgeError::Denied { reason });
        };
        retried!(async {
            let mut change = self.read_chunk(reach, document, &vote.id).await?;
            let place = &change.found.collection.value.place;
            let key = place.vote(&change.found.key, &vote.id, &voter);
            let before = stored::get::<FeedbackRecord>(self.driver(), key.clone()).await?;
            if let Some(before) = &before {
                change.of(&vote.id).count(&before.value.feedback, false);
            }
            let vote = ChunkVote {
                vote_id: ids::ordered(&self.settings().clock),
                ..vote.clone()
            };
            let record = FeedbackRecord::of(reach, ChunkFeedback::Vote(vote.clone()));
            change.of(&vote.id).count(&record.feedback, true);
            self.store_ratings(change, vec![put(key, &record)?]).await?;
            Ok(vote)
        })
    }

    /// Keeps uses of a chunk. Whoever may read the document may tell of them.
    pub async fn add_hits(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
        hits: &[ChunkHit],
    ) -> Result<Vec<ChunkHit>> {
        for hit in hits {
            check_size("hit", hit, RATING_BYTES)?;
        }
        let whose = format!("{}.", digest(&[reach.tenant(), reach.user().unwrap_or("")]));
        retried!(async {
            let mut change = self.read_chunk(reach, document, chunk).await?;
            let prefix = hits_prefix(&change.found.key, chunk) + &whose;
            let space = change.found.collection.value.place.values();
            let told = stored::entries(self.driver(), &space, &prefix, ValuePart::Nothing);
            let all = (told.await?.len() + hits.len()) as u64;
            if all > HITS {
                let what = format!("what one user told of segment \"{chunk}\" hits");
                return Err(Error::limited(what, all, HITS).into());
            }
            let (mut added, mut writes) = (Vec::new(), Vec::new());
            for hit in hits {
                let hit = ChunkHit {
                    id: chunk.to_owned(),
                    hit_id: ids::ordered(&self.settings().clock),
                    count: 1,
                    ..hit.clone()
                };
                let place = &change.found.collection.value.place;
                let name = format!("{whose}{}", hit.hit_id);
                let key = place.hit(&change.found.key, chunk, &name);
                let record = FeedbackRecord::of(reach, ChunkFeedback::Hit(hit.clone()));
                writes.push(put(key, &record)?);
                change.of(chunk).count(&record.feedback, true);
                added.push(hit);
            }
            self.store_ratings(change, writes).await?;
            Ok(added)
        })
    }

    /// The votes on a chunk, the oldest first: one's own, or everybody's where the collection is one's own.
    pub async fn votes(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
    ) -> Result<Vec<ChunkVote>> {
        let said = self.list_feedback(reach, document, chunk, votes_prefix);
        let said = said.await?.into_iter();
        Ok(said.filter_map(ChunkFeedback::vote).collect())
    }

    /// The uses of a chunk, the oldest first: one's own, or everybody's where the collection is one's own.
    pub async fn hits(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
    ) -> Result<Vec<ChunkHit>> {
        let said = self.list_feedback(reach, document, chunk, hits_prefix);
        let said = said.await?.into_iter();
        Ok(said.filter_map(ChunkFeedback::hit).collect())
    }

    async fn list_feedback(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
        prefix: FeedbackPrefix,
    ) -> Result<Vec<ChunkFeedback>> {
        let found = self.read_chunk(reach, document, chunk).await?.found;
        let prefix = prefix(&found.key, chunk);
        let visible = self.visible_feedback(&found, reach, &prefix).await?;
        let visible = visible.into_iter();
        let mut said: Vec<ChunkFeedback> = visible.map(|(_, record)| record.feedback).collect();
        said.sort_by(|one, other| one.id().cmp(other.id()));
        Ok(said)
    }

    /// Takes votes back: one's own, or anybody's where the collection is one's own. Returns how many there were.
    pub async fn remove_votes(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
        vote_ids: &[String],
    ) -> Result<u64> {
        let selected = SelectedFeedback {
            chunk,
            prefix: votes_prefix,
            ids: vote_ids,
        };
        self.remove_feedback(reach, document, &selected).await
    }

    /// Takes uses back, as votes are. Returns how many there were.
    pub async fn remove_hits(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
        hit_ids: &[String],
    ) -> Result<u64> {
        let selected = SelectedFeedback {
            chunk,
            prefix: hits_prefix,
            ids: hit_ids,
        };
        self.remove_feedback(reach, document, &selected).await
    }

    async fn remove_feedback(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        selected: &SelectedFeedback<'_>,
    ) -> Result<u64> {
        retried!(async {
            let change = self.read_chunk(reach, document, selected.chunk).await?;
            let prefix = (selected.prefix)(&change.found.key, selected.chunk);
            let mut said = self.visible_feedback(&change.found, reach, &prefix).await?;
            said.retain(|(_, record)| selected.ids.contains(record.feedback.id()));
            let removed = said.len() as u64;
            self.forget(change, said).await?;
            Ok(removed)
        })
    }

    /// Forgets what a user has said of the chunks of a document.
    pub(super) async fn forget_feedback_of(
        &self,
        found: FoundDocument,
        voter: &Voter<'_>,
    ) -> Result<()> {
        let place = &found.collection.value.place;
        let prefix = feedback_prefix(&found.key, None);
        let mut said = self.feedback(place, &prefix).await?;
        said.retain(|(_, record)| voter.has(record));
        if said.is_empty() {
            return Ok(());
        }
        let change = self.ratings_of(found, voter.tenant).await?;
        self.forget(change, said).await
    }

    async fn forget(&self, mut change: RatingChange, said: NamedFeedback) -> Result<()> {
        let space = change.found.collection.value.place.values();
        let mut deletions = Vec::new();
        for (name, FeedbackRecord { feedback, .. }) in &said {
            change.of(feedback.chunk()).count(feedback, false);
            deletions.push(delete(space.key(name)));
        }
        self.store_ratings(change, deletions).await
    }

    /// A chunk of a document that the caller may read, and what is thought of it.
    async fn read_chunk(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
    ) -> Result<RatingChange> {
        for found in self.readable_documents(reach, document).await? {
            let change = self.ratings_of(found, reach.tenant()).await?;
            if change.ids.contains(chunk) {
                return Ok(change);
            }
        }
        Err(KnowledgeError::not_found("segment", chunk))
    }

    /// What one has said oneself, or everybody where the collection is one's own.
    async fn visible_feedback(
        &self,
        found: &FoundDocument,
        reach: &dyn KnowledgeReach,
        prefix: &str,
    ) -> Result<NamedFeedback> {
        let collection = &found.collection.value;
        let mut said = self.feedback(&collection.place, prefix).await?;
        if !collection.is_changeable(reach) {
            let voter = Voter::of(reach);
            said.retain(|(_, record)| voter.is_some_and(|voter| voter.has(record)));
        }
        Ok(said)
    }

    async fn feedback(&self, place: &CollectionPlace, prefix: &str) -> Result<NamedFeedback> {
        let space = place.values();
        let pattern = Pattern::parse(&format!("{prefix}*"));
        let mut pages = ValuePages::of(self.driver(), &space, pattern, ValuePart::Whole);
        let mut said = Vec::new();
        while let Some(page) = pages.next().await? {
            for (name, entry) in page {
                said.push((name, entry.value.to()?));
            }
        }
        Ok(said)
    }
}

impl FeedbackRecord {
    /// What the caller says.
    fn of(reach: &dyn KnowledgeReach, feedback: ChunkFeedback) -> Self {
        Self {
            tenant: reach.tenant().to_owned(),
            user: reach.user().map(str::to_owned),
            feedback,
        }
    }
}
