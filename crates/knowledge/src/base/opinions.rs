//! What people and apps think of chunks: weights, scores, votes and hits. It stays with a chunk as long as its text does.

use super::lookup::{AccessKind, FoundDocument};
use super::{KnowledgeBase, retried};
use crate::chunk::{ChunkVote, ScoreChange, VoteKind, WeightChange};
use crate::error::{KnowledgeError, Result};
use crate::names::{CollectionPlace, votes_prefix};
use crate::opinion::{ChunkOpinion, OpinionsRecord, VoteRecord, Voter};
use crate::reach::KnowledgeReach;
use crate::stored::{self, check_size, checked, count_one, delete, put};
use ambit_storage::address::ValueKey;
use ambit_storage::batch::{BatchCheck, BatchWrite};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::ids;
use ambit_storage::pattern::Pattern;
use std::collections::HashSet;

/// Bytes of JSON that a vote, or the dimensions of a score, may have.
const OPINION_BYTES: u64 = 8 << 10;

/// Opinions of a document's chunks on their way to a commit.
struct OpinionChange {
    found: FoundDocument,
    key: ValueKey,
    opinions: OpinionsRecord,
    before: OpinionsRecord,
    version: Option<u64>,
    /// The ids of the chunks that are there.
    ids: HashSet<String>,
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
        let ids = || weights.iter().map(|change| &change.id);
        self.change_opinions(
            reach,
            document,
            |change| {
                for weight in weights {
                    change.of(&weight.id).weight = weight.weight;
                }
            },
            ids().cloned().collect(),
        )
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
            check_size("score_dimensions", &score.dimensions, OPINION_BYTES)?;
        }
        let ids = scores.iter().map(|change| change.id.clone()).collect();
        self.change_opinions(
            reach,
            document,
            |change| {
                for score in scores {
                    let opinion = change.of(&score.id);
                    opinion.score = Some(score.score);
                    opinion.dimensions.clone_from(&score.dimensions);
                }
            },
            ids,
        )
        .await
    }

    async fn change_opinions(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        change: impl Fn(&mut OpinionChange),
        ids: Vec<String>,
    ) -> Result<u64> {
        retried!(async {
            let mut opinions = self
                .opinion_change(reach, document, AccessKind::Change)
                .await?;
            change(&mut opinions);
            let known = ids.iter().filter(|id| opinions.ids.contains(*id)).count();
            self.store_opinions(opinions, Vec::new()).await?;
            Ok(known as u64)
        })
    }

    /// Votes on a chunk in the place of the caller's earlier vote. Whoever may read the document may vote.
    pub async fn vote(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        vote: &ChunkVote,
    ) -> Result<ChunkVote> {
        check_size("vote", vote, OPINION_BYTES)?;
        let Some(voter) = Voter::of(reach) else {
            let reason = "only a user can vote, and nobody is named".to_owned();
            return Err(KnowledgeError::Denied { reason });
        };
        retried!(async {
            let mut change = self
                .opinion_change(reach, document, AccessKind::Read)
                .await?;
            if !change.ids.contains(&vote.id) {
                return Err(KnowledgeError::not_found("segment", &vote.id));
            }
            let place = change.found.collection.value.place.clone();
            let key = place.vote(&change.found.key, &vote.id, &voter);
            let before = stored::get::<VoteRecord>(self.driver(), key.clone()).await?;
            if let Some(before) = &before {
                change.of(&vote.id).count(before.value.vote.vote, -1);
            }
            change.of(&vote.id).count(vote.vote, 1);
            let record = VoteRecord {
                tenant: voter.tenant.to_owned(),
                user: voter.user.to_owned(),
                vote: ChunkVote {
                    vote_id: ids::ordered(&self.settings().clock),
                    ..vote.clone()
                },
            };
            self.store_opinions(change, vec![put(key, &record)?])
                .await?;
            Ok(record.vote)
        })
    }

    /// The votes on a chunk, the oldest first: one's own, or everybody's where the collection is one's own.
    pub async fn votes(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
    ) -> Result<Vec<ChunkVote>> {
        let found = self
            .find_document(reach, document, AccessKind::Read)
            .await?;
        let record = &found.collection.value;
        let is_owner = record.is_changeable(reach);
        let voter = Voter::of(reach);
        let prefix = votes_prefix(&found.key, Some(chunk));
        let records = self.vote_records(&record.place, &prefix).await?.into_iter();
        let seen = records
            .map(|(_, record)| record)
            .filter(|record| is_owner || voter.is_some_and(|voter| voter.has(record)));
        let mut votes: Vec<ChunkVote> = seen.map(|record| record.vote).collect();
        votes.sort_by(|one, other| one.vote_id.cmp(&other.vote_id));
        Ok(votes)
    }

    /// Takes votes back: one's own, or anybody's where the collection is one's own. Returns how many there were.
    pub async fn remove_votes(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunk: &str,
        vote_ids: &[String],
    ) -> Result<u64> {
        retried!(async {
            let change = self
                .opinion_change(reach, document, AccessKind::Read)
                .await?;
            let record = &change.found.collection.value;
            let is_owner = record.is_changeable(reach);
            let voter = Voter::of(reach);
            let prefix = votes_prefix(&change.found.key, Some(chunk));
            let mut votes = self.vote_records(&record.place, &prefix).await?;
            votes.retain(|(_, record)| {
                vote_ids.contains(&record.vote.vote_id)
                    && (is_owner || voter.is_some_and(|voter| voter.has(record)))
            });
            self.forget_votes(change, votes).await
        })
    }

    /// Counts a use of chunks by whoever may read them.
    pub async fn count_hits(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        chunks: &[String],
    ) -> Result<()> {
        retried!(async {
            let mut change = self
                .opinion_change(reach, document, AccessKind::Read)
                .await?;
            for chunk in chunks {
                change.of(chunk).hit += 1;
            }
            self.store_opinions(change, Vec::new()).await
        })
    }

    async fn forget_votes(
        &self,
        mut change: OpinionChange,
        votes: Vec<(String, VoteRecord)>,
    ) -> Result<u64> {
        let space = change.found.collection.value.place.values();
        let mut deletions = Vec::new();
        for (name, record) in &votes {
            change.of(&record.vote.id).count(record.vote.vote, -1);
            deletions.push(delete(space.key(name)));
        }
        self.store_opinions(change, deletions).await?;
        Ok(votes.len() as u64)
    }

    /// Forgets what a user thinks of the chunks of a document.
    pub(super) async fn forget_votes_of(
        &self,
        found: FoundDocument,
        voter: &Voter<'_>,
    ) -> Result<u64> {
        let place = found.collection.value.place.clone();
        let prefix = votes_prefix(&found.key, None);
        let mut votes = self.vote_records(&place, &prefix).await?;
        votes.retain(|(_, record)| voter.has(record));
        if votes.is_empty() {
            return Ok(0);
        }
        let change = self.opinions_of(found, voter.tenant).await?;
        self.forget_votes(change, votes).await
    }

    async fn vote_records(
        &self,
        place: &CollectionPlace,
        prefix: &str,
    ) -> Result<Vec<(String, VoteRecord)>> {
        let space = place.values();
        let pattern = Pattern::parse(&format!("{prefix}*"));
        let mut pages = ValuePages::of(self.driver(), &space, pattern, ValuePart::Whole);
        let mut votes = Vec::new();
        while let Some(page) = pages.next().await? {
            for (name, entry) in page {
                votes.push((name, entry.value.to()?));
            }
        }
        Ok(votes)
    }

    async fn opinion_change(
        &self,
        reach: &dyn KnowledgeReach,
        document: &str,
        access: AccessKind,
    ) -> Result<OpinionChange> {
        let found = self.find_document(reach, document, access).await?;
        self.opinions_of(found, reach.tenant()).await
    }

    async fn opinions_of(&self, found: FoundDocument, tenant: &str) -> Result<OpinionChange> {
        let place = &found.collection.value.place;
        let content = self.content_of(&found).await?;
        let key = place.opinions(&found.key, tenant);
        let stored = stored::get::<OpinionsRecord>(self.driver(), key.clone()).await?;
        let version = stored.as_ref().map(|stored| stored.version);
        let before = stored.map(|stored| stored.value).unwrap_or_default();
        Ok(OpinionChange {
            version,
            opinions: before.clone(),
            before,
            ids: HashSet::from_iter(content.ids),
            found,
            key,
        })
    }

    async fn store_opinions(&self, change: OpinionChange, more: Vec<BatchWrite>) -> Result<()> {
        let place = &change.found.collection.value.place;
        let key = change.key;
        let mut opinions = change.opinions;
        opinions
            .chunks
            .retain(|id, opinion| change.ids.contains(id) && *opinion != ChunkOpinion::default());
        if opinions == change.before && more.is_empty() {
            return Ok(());
        }
        let ranks_otherwise = !opinions.ranks_like(&change.before);
        let checks = [
            change.found.collection.check(),
            change.found.document.check(),
            BatchCheck::version(key.clone(), change.version),
        ];
        let write = match opinions.chunks.is_empty() {
            true => delete(key),
            false => put(key, &opinions)?,
        };
        // Hits and scores rank nothing: what searches keep in memory stays as it is.
        let changes = ranks_otherwise.then(|| count_one(place.changes()));
        let writes = [write].into_iter().chain(changes).chain(more);
        let batch = checked(checks, writes);
        self.driver().commit(batch).await?;
        Ok(())
    }
}

impl OpinionChange {
    fn of(&mut self, chunk: &str) -> &mut ChunkOpinion {
        self.opinions.chunks.entry(chunk.to_owned()).or_default()
    }
}

impl ChunkOpinion {
    fn count(&mut self, vote: VoteKind, by: i64) {
        let count = match vote {
            VoteKind::Positive => &mut self.positive,
            VoteKind::Negative => &mut self.negative,
        };
        *count = count.saturating_add_signed(by);
    }
}
