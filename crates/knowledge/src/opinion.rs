//! What is stored of what people and apps think of chunks.

use crate::chunk::ChunkVote;
use crate::reach::KnowledgeReach;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is thought of the chunks of a document, by their ids. Those of which nothing is thought are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct OpinionsRecord {
    pub chunks: BTreeMap<String, ChunkOpinion>,
}

impl OpinionsRecord {
    /// Whether chunks rank by these opinions as by the others.
    pub fn ranks_like(&self, other: &Self) -> bool {
        self.ranking() == other.ranking()
    }

    fn ranking(&self) -> BTreeMap<&str, (f64, u64, u64)> {
        let usual = ChunkOpinion::default().ranking();
        let chunks = self.chunks.iter();
        let rankings = chunks.map(|(id, opinion)| (id.as_str(), opinion.ranking()));
        rankings.filter(|(_, ranking)| *ranking != usual).collect()
    }
}

/// What is thought of a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkOpinion {
    pub weight: f64,
    pub positive: u64,
    pub negative: u64,
    pub hit: u64,
    pub score: Option<f64>,
    pub dimensions: Map<String, Value>,
}

impl Default for ChunkOpinion {
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

impl ChunkOpinion {
    /// What it ranks by.
    fn ranking(&self) -> (f64, u64, u64) {
        (self.weight, self.positive, self.negative)
    }
}

/// A vote and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct VoteRecord {
    pub tenant: String,
    pub user: String,
    pub vote: ChunkVote,
}

/// A user of a tenant, who votes.
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

    pub fn has(&self, record: &VoteRecord) -> bool {
        record.tenant == self.tenant && record.user == self.user
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkOpinion, OpinionsRecord};

    fn opinions(opinion: ChunkOpinion) -> OpinionsRecord {
        OpinionsRecord {
            chunks: [("a".to_owned(), opinion)].into(),
        }
    }

    #[test]
    fn hits_and_scores_rank_nothing() {
        let (nothing, usual) = (OpinionsRecord::default(), ChunkOpinion::default());
        let hit = ChunkOpinion {
            hit: 3,
            score: Some(0.5),
            ..usual.clone()
        };
        assert!(opinions(hit).ranks_like(&nothing));
        let liked = ChunkOpinion {
            positive: 1,
            ..usual
        };
        assert!(!opinions(liked).ranks_like(&nothing));
    }
}
