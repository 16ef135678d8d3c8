//! What is stored of what people and apps think of chunks.

use crate::chunk::{ChunkHit, ChunkVote, VoteKind};
use crate::reach::KnowledgeReach;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is thought of the chunks of a document, by their ids. Those of which nothing is thought are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RatingsRecord {
    pub chunks: BTreeMap<String, ChunkRating>,
}

impl RatingsRecord {
    /// Whether chunks rank by these ratings as by the others.
    pub fn ranks_like(&self, other: &Self) -> bool {
        self.ranking() == other.ranking()
    }

    fn ranking(&self) -> BTreeMap<&str, (f64, u64, u64)> {
        let usual = ChunkRating::default().ranking();
        let chunks = self.chunks.iter();
        let rankings = chunks.map(|(id, rating)| (id.as_str(), rating.ranking()));
        rankings.filter(|(_, ranking)| *ranking != usual).collect()
    }
}

/// What is thought of a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkRating {
    pub weight: f64,
    pub positive: u64,
    pub negative: u64,
    pub hit: u64,
    pub score: Option<f64>,
    pub dimensions: Map<String, Value>,
}

impl Default for ChunkRating {
    fn default() -> Self {
        Self {
            weight: 1.0,
            positive: 0,
            negative: 0,
            hit: 0,
            score: None,
            dimensions: Map::new(),
        }
    }
}

impl ChunkRating {
    /// What it ranks by.
    fn ranking(&self) -> (f64, u64, u64) {
        (self.weight, self.positive, self.negative)
    }

    /// Counts what somebody has said, or no longer counts it.
    pub fn count(&mut self, feedback: &ChunkFeedback, is_new: bool) {
        let (sum, count) = match feedback {
            ChunkFeedback::Vote(vote) => match vote.vote {
                VoteKind::Positive => (&mut self.positive, 1),
                VoteKind::Negative => (&mut self.negative, 1),
            },
            ChunkFeedback::Hit(hit) => (&mut self.hit, u64::from(hit.count)),
        };
        *sum = match is_new {
            true => sum.saturating_add(count),
            false => sum.saturating_sub(count),
        };
    }
}

impl ChunkFeedback {
    /// Its id.
    pub fn id(&self) -> &String {
        match self {
            Self::Vote(vote) => &vote.vote_id,
            Self::Hit(hit) => &hit.hit_id,
        }
    }

    /// The chunk.
    pub fn chunk(&self) -> &str {
        match self {
            Self::Vote(vote) => &vote.id,
            Self::Hit(hit) => &hit.id,
        }
    }

    pub fn vote(self) -> Option<ChunkVote> {
        match self {
            Self::Vote(vote) => Some(vote),
            Self::Hit(_) => None,
        }
    }

    pub fn hit(self) -> Option<ChunkHit> {
        match self {
            Self::Hit(hit) => Some(hit),
            Self::Vote(_) => None,
        }
    }
}

/// What somebody has said of a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChunkFeedback {
    Vote(ChunkVote),
    Hit(ChunkHit),
}

/// What somebody has said of a chunk, and who.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FeedbackRecord {
    pub tenant: String,
    /// None where nobody was named.
    pub user: Option<String>,
    pub feedback: ChunkFeedback,
}

/// A user of a tenant, who says what they think.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voter<'a> {
    pub tenant: &'a str,
    pub user: &'a str,
}

impl<'a> Voter<'a> {
    /// Whoever calls, where they have a name.
    pub fn of(reach: &'a dyn KnowledgeReach) -> Option<Self> {
        let tenant = reach.tenant();
        reach.user().map(|user| Self { tenant, user })
    }

    pub fn has(&self, record: &FeedbackRecord) -> bool {
        record.tenant == self.tenant && record.user.as_deref() == Some(self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkRating, RatingsRecord};

    fn ratings(rating: ChunkRating) -> RatingsRecord {
        RatingsRecord {
            chunks: [("a".to_owned(), rating)].into(),
        }
    }

    #[test]
    fn hits_and_scores_rank_nothing() {
        let (nothing, usual) = (RatingsRecord::default(), ChunkRating::default());
        let hit = ChunkRating {
            hit: 3,
            score: Some(0.5),
            ..usual.clone()
        };
        assert!(ratings(hit).ranks_like(&nothing));
        let liked = ChunkRating {
            positive: 1,
            ..usual
        };
        assert!(!ratings(liked).ranks_like(&nothing));
    }
}
