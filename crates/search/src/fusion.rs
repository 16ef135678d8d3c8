//! One ranking of what words and vectors find: Reciprocal Rank Fusion, then what people and apps think of the chunks.

use crate::ranking::{ScoredChunk, SearchScope, WordRanking, rank_words};
use crate::similarity::{NearestOptions, VectorRanking, has_more_vectors, rank_vectors};
use crate::vectors::EmbeddingSpace;
use ambit_storage::Result;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The constant of Reciprocal Rank Fusion (Cormack, Clarke and Büttcher, 2009).
const RANK_CONSTANT: f64 = 60.0;

/// How many chunks are wanted, and which.
#[derive(Clone, Copy, Debug)]
pub struct RankRequest {
    /// So many.
    pub limit: usize,
    /// The least similarity of vectors, from 0 to 1; it cuts nothing that words find.
    pub threshold: f64,
    /// How many of the nearest vectors count; where nothing is said four for each chunk that is wanted, and at least 100.
    pub nearest: Option<usize>,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FusedRanking {
    /// The best first; of equal ones all that have the score of the last that was wanted. Their order is left to the caller,
    /// who knows what they are called.
    pub chunks: Vec<RankedChunk>,
    /// There were too many vectors: only those of the first chunks by words were compared.
    pub has_partial_vectors: bool,
    /// Why a query's vector was compared with none; each reason once. Its scopes were searched by words alone.
    pub refused_vectors: Vec<String>,
}

/// A chunk, how well it fits from 0 to 1, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedChunk {
    /// Which of the scopes it is in.
    pub scope: usize,
    /// Its number.
    pub chunk: u32,
    /// From 0 to 1.
    pub score: f64,
    /// Where it came in each list.
    pub ranking: ChunkRanking,
}

/// Where a chunk came in each list; it is the `ranking` of an item's metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChunkRanking {
    /// Among those that words found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<WordRank>,
    /// Among those that vectors found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<VectorRank>,
}

/// A place among what words found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WordRank {
    /// From 1; equal ones share the first of their ranks.
    pub rank: u32,
    /// The score there.
    pub bm25: f64,
}

/// A place among what vectors found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VectorRank {
    /// From 1; equal ones share the first of their ranks.
    pub rank: u32,
    /// The score there.
    pub cosine: f64,
}

/// Up to which number all vectors are compared, and what is done above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorLimits {
    /// So many allowed chunks may have vectors.
    pub chunks: u32,
    /// Where they are more, the vectors of so many are compared, the first by words.
    pub by_words: usize,
}

const LIMITS: VectorLimits = VectorLimits {
    chunks: 1_000_000,
    by_words: 20_000,
};

/// Ranks the allowed chunks of all scopes by words, and by vectors where a scope asks for that.
pub async fn rank(scopes: &[SearchScope], request: &RankRequest) -> Result<FusedRanking> {
    rank_within(scopes, request, LIMITS).await
}

/// `rank` with other limits.
pub(crate) async fn rank_within(
    scopes: &[SearchScope],
    request: &RankRequest,
    limits: VectorLimits,
) -> Result<FusedRanking> {
    let limit = request.limit.saturating_mul(4).max(100);
    let options = NearestOptions {
        limit: request.nearest.unwrap_or(limit),
        threshold: request.threshold,
    };
    let has_partial_vectors = has_more_vectors(scopes, limits.chunks).await?;
    let (words, vectors) = if has_partial_vectors {
        let words = rank_words(scopes, limit.max(limits.by_words)).await?;
        let only = by_scopes(first_of(&words.chunks, limits.by_words), scopes.len());
        let vectors = rank_spaces(scopes, options, Some(&only)).await?;
        (words, vectors)
    } else {
        let words = rank_words(scopes, limit);
        let vectors = rank_spaces(scopes, options, None);
        futures::try_join!(words, vectors)?
    };
    let mut fusion = Fusion::new(scopes, &words);
    fusion.add_words(first_of(&words.chunks, limit));
    for ranking in &vectors {
        fusion.add_vectors(ranking);
    }
    Ok(FusedRanking {
        chunks: fusion.finish(request.limit),
        has_partial_vectors,
        refused_vectors: refused_vectors(scopes),
    })
}

fn refused_vectors(scopes: &[SearchScope]) -> Vec<String> {
    let queries = scopes.iter().filter_map(|scope| scope.vector.as_ref());
    let refused = queries.filter_map(|query| query.space.check(&query.vector).err());
    let reasons: BTreeSet<String> = refused.map(|error| error.to_string()).collect();
    reasons.into_iter().collect()
}

/// A list for each embedding space that a scope asks for.
async fn rank_spaces(
    scopes: &[SearchScope],
    options: NearestOptions,
    only: Option<&[Vec<u32>]>,
) -> Result<Vec<VectorRanking>> {
    let queries = scopes.iter().filter_map(|scope| scope.vector.as_ref());
    let spaces: BTreeSet<&EmbeddingSpace> = queries.map(|query| &query.space).collect();
    let mut rankings = Vec::new();
    for space in spaces {
        rankings.push(rank_vectors(scopes, space, options, only).await?);
    }
    Ok(rankings)
}

/// Those of a list whose rank is not above a limit.
fn first_of(chunks: &[ScoredChunk], limit: usize) -> &[ScoredChunk] {
    let Some(last) = limit.checked_sub(1).and_then(|last| chunks.get(last)) else {
        return if limit == 0 { &[] } else { chunks };
    };
    &chunks[..chunks.partition_point(|chunk| chunk.score >= last.score)]
}

fn by_scopes(chunks: &[ScoredChunk], scopes: usize) -> Vec<Vec<u32>> {
    let mut numbers = vec![Vec::new(); scopes];
    for chunk in chunks {
        numbers[chunk.scope].push(chunk.chunk);
    }
    numbers
}

/// Lists on their way into one.
struct Fusion<'a> {
    scopes: &'a [SearchScope],
    /// The most that words give a chunk.
    highest: f64,
    /// In which scopes vectors were compared.
    with_vectors: Vec<bool>,
    chunks: BTreeMap<ChunkPlace, ChunkRanking>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ChunkPlace {
    scope: usize,
    chunk: u32,
}

impl<'a> Fusion<'a> {
    fn new(scopes: &'a [SearchScope], words: &WordRanking) -> Self {
        Self {
            scopes,
            highest: words.highest,
            with_vectors: vec![false; scopes.len()],
            chunks: BTreeMap::new(),
        }
    }

    fn add_words(&mut self, list: &[ScoredChunk]) {
        for (rank, chunk) in with_ranks(list) {
            let bm25 = chunk.score;
            self.ranking(chunk).words = Some(WordRank { rank, bm25 });
        }
    }

    fn add_vectors(&mut self, list: &VectorRanking) {
        for scope in &list.compared {
            self.with_vectors[*scope] = true;
        }
        for (rank, chunk) in with_ranks(&list.chunks) {
            let cosine = chunk.score;
            self.ranking(chunk).vector = Some(VectorRank { rank, cosine });
        }
    }

    fn ranking(&mut self, chunk: &ScoredChunk) -> &mut ChunkRanking {
        let ScoredChunk { scope, chunk, .. } = *chunk;
        self.chunks.entry(ChunkPlace { scope, chunk }).or_default()
    }

    /// The first so many, and all that tie with the last of them.
    fn finish(&mut self, limit: usize) -> Vec<RankedChunk> {
        let found = std::mem::take(&mut self.chunks);
        let mut chunks: Vec<RankedChunk> = found
            .into_iter()
            .map(|(place, ranking)| RankedChunk {
                scope: place.scope,
                chunk: place.chunk,
                score: self.score(place, &ranking),
                ranking,
            })
            .collect();
        // The sort is stable: equal ones stay in the order of scopes and chunks.
        chunks.sort_by(|one, other| other.score.total_cmp(&one.score));
        let last = limit.checked_sub(1).and_then(|last| chunks.get(last));
        let least = last.map(|chunk| chunk.score);
        chunks.retain(|chunk| limit > 0 && least.is_none_or(|least| chunk.score >= least));
        chunks
    }

    fn score(&self, place: ChunkPlace, ranking: &ChunkRanking) -> f64 {
        let weight = self.scopes[place.scope].weights.get(&place.chunk);
        let factor = weight.map_or(1.0, |weight| weight.factor());
        (self.fit(place, ranking) * factor).min(1.0)
    }

    /// How well a chunk fits, from 0 to 1.
    fn fit(&self, place: ChunkPlace, ranking: &ChunkRanking) -> f64 {
        if !self.with_vectors.contains(&true) {
            return ranking.words.map_or(0.0, |words| words.bm25 / self.highest);
        }
        let has_words = !self.scopes[place.scope].query.is_empty();
        let lists = u8::from(has_words) + u8::from(self.with_vectors[place.scope]);
        let words = ranking.words.map(|words| reciprocal(words.rank));
        let vector = ranking.vector.map(|vector| reciprocal(vector.rank));
        let reached = words.unwrap_or(0.0) + vector.unwrap_or(0.0);
        reached / (f64::from(lists.max(1)) * reciprocal(1))
    }
}

fn reciprocal(rank: u32) -> f64 {
    1.0 / (RANK_CONSTANT + f64::from(rank))
}

/// The rank of each chunk of a list; equal ones share the first of theirs.
fn with_ranks(list: &[ScoredChunk]) -> impl Iterator<Item = (u32, &ScoredChunk)> {
    let mut rank = 1;
    let numbered = (1..).zip(list).enumerate();
    numbered.map(move |(at, (number, chunk))| {
        let before = at.checked_sub(1).map(|before| list[before].score);
        if before != Some(chunk.score) {
            rank = number;
        }
        (rank, chunk)
    })
}
