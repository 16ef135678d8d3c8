//! Words and vectors as one would rank them who has all in memory, beside the real ranking.

use super::model::{FoundChunk, IndexModel, Random, billionths, length_of, text};
use crate::allowed::AllowedChunks;
use crate::fusion::{FusedRanking, RankRequest, rank};
use crate::index::SearchIndex;
use crate::ranking::{ChunkWeight, SearchScope};
use crate::terms::{QueryTerm, TermCounts};
use crate::vectors::{ChunkVector, EmbeddingSpace, QueryVector, VectorCode, cosine};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many are wanted.
pub(super) const LIMIT: usize = 10;
const LIST: usize = 100;

/// Documents whose chunks may have vectors and weights.
pub(super) struct HybridModel {
    pub model: IndexModel,
    pub space: EmbeddingSpace,
    /// By chunks.
    pub vectors: BTreeMap<u32, Vec<f32>>,
    pub weights: HashMap<u32, ChunkWeight>,
}

pub(super) struct HybridQuery {
    pub words: Vec<QueryTerm>,
    pub vector: Option<Vec<f32>>,
    pub threshold: f64,
}

/// A chunk by its place in a list, and its score there.
#[derive(Clone, Copy)]
struct PlainScore {
    at: usize,
    score: f64,
}

struct PlainChunk<'a> {
    label: usize,
    place: usize,
    number: u32,
    counts: &'a TermCounts,
}

pub(super) fn space_of(connector: &str, dimension: u32) -> EmbeddingSpace {
    EmbeddingSpace {
        connector: connector.to_owned(),
        model: "m".to_owned(),
        dimension,
    }
}

impl Random {
    /// Of so few numbers that some vectors are equal and some point the same way.
    pub fn vector(&mut self, dimension: u32) -> Vec<f32> {
        let numbers = (0..dimension).map(|_| self.below(7) as f32 - 3.0);
        let mut vector: Vec<f32> = numbers.collect();
        vector[0] += 0.5;
        vector
    }
}

impl HybridModel {
    pub fn new(index: SearchIndex, dimension: u32) -> Self {
        Self {
            model: IndexModel::new(index),
            space: space_of("e", dimension),
            vectors: BTreeMap::new(),
            weights: HashMap::new(),
        }
    }

    /// The numbers of all chunks.
    pub fn chunks(&self) -> Vec<u32> {
        let documents = self.model.documents.values();
        documents.flat_map(|it| it.range.numbers()).collect()
    }

    pub async fn embed(&mut self, vectors: Vec<ChunkVector>) {
        let mut change = self.model.index.change().await.unwrap();
        change.add_vectors(&self.space, &vectors).await.unwrap();
        change.commit().await.unwrap();
        for vector in vectors {
            // What has a vector keeps it.
            self.vectors.entry(vector.chunk).or_insert(vector.vector);
        }
    }

    pub async fn remove(&mut self, first: u32) {
        for chunk in self.model.documents[&first].range.numbers() {
            self.vectors.remove(&chunk);
        }
        self.model.remove(first).await;
    }

    pub async fn scope(
        &self,
        query: &HybridQuery,
        labels: Option<&BTreeSet<usize>>,
    ) -> SearchScope {
        let snapshot = self.model.index.snapshot().await.unwrap();
        let allowed = match labels {
            None => AllowedChunks::all(&snapshot.manifest),
            Some(labels) => {
                let documents = self.model.documents.values();
                let allowed = documents.filter(|it| labels.contains(&it.label));
                let ranges = allowed.map(|it| it.range).collect();
                AllowedChunks::of(&snapshot.manifest, ranges)
            }
        };
        let index = self.model.index.clone();
        SearchScope {
            index,
            snapshot,
            query: query.words.clone(),
            allowed,
            vector: query.vector.as_ref().map(|vector| QueryVector {
                space: self.space.clone(),
                vector: vector.clone(),
            }),
            weights: self.weights.clone(),
        }
    }

    pub async fn ranking(
        &self,
        query: &HybridQuery,
        labels: Option<&BTreeSet<usize>>,
    ) -> FusedRanking {
        let scope = self.scope(query, labels).await;
        let (limit, threshold) = (LIMIT, query.threshold);
        let request = RankRequest {
            limit,
            threshold,
            nearest: None,
        };
        let ranking = rank(&[scope], &request).await;
        ranking.unwrap()
    }

    /// What the index finds.
    pub async fn found(
        &self,
        query: &HybridQuery,
        labels: Option<&BTreeSet<usize>>,
    ) -> Vec<FoundChunk> {
        let ranking = self.ranking(query, labels).await;
        let found = ranking.chunks.iter().map(|it| {
            let (label, place) = self.model.name(it.chunk);
            (label, place, billionths(it.score))
        });
        first(found.collect())
    }

    /// What is to be found.
    pub fn expected(
        &self,
        query: &HybridQuery,
        labels: Option<&BTreeSet<usize>>,
    ) -> Vec<FoundChunk> {
        let chunks = self.plain(labels);
        let (bm25s, highest) = words(&chunks, &query.words);
        let words = ranks(&self.first_of(&chunks, &bm25s));
        let nearest = self.nearest(&chunks, query);
        let is_hybrid = query.vector.is_some()
            && chunks
                .iter()
                .any(|it| self.vectors.contains_key(&it.number));
        let lists = u8::from(!query.words.is_empty()) + u8::from(is_hybrid);
        let found = chunks.iter().enumerate().filter_map(|(at, chunk)| {
            let reached = [words.get(&at), nearest.get(&at)];
            let reached = reached.into_iter().flatten();
            let reached: f64 = reached.map(|rank| 1.0 / (60 + rank) as f64).sum();
            let fit = match is_hybrid {
                true => reached * 61.0 / f64::from(lists),
                false => bm25s[at] / highest,
            };
            let score = (fit * self.factor(chunk.number)).min(1.0);
            (reached > 0.0).then(|| (chunk.label, chunk.place, billionths(score)))
        });
        first(found.collect())
    }

    fn plain(&self, labels: Option<&BTreeSet<usize>>) -> Vec<PlainChunk<'_>> {
        let documents = self.model.documents.values();
        let allowed = documents.filter(|it| labels.is_none_or(|labels| labels.contains(&it.label)));
        let chunks = allowed.flat_map(|it| {
            let numbered = it.range.numbers().zip(&it.chunks).enumerate();
            numbered.map(|(place, (number, counts))| PlainChunk {
                label: it.label,
                place,
                number,
                counts,
            })
        });
        chunks.collect()
    }

    /// The ranks of the chunks whose vectors are near.
    fn nearest(&self, chunks: &[PlainChunk<'_>], query: &HybridQuery) -> HashMap<usize, usize> {
        let Some(wanted) = &query.vector else {
            return HashMap::new();
        };
        let vectors = chunks.iter().map(|it| self.vectors.get(&it.number));
        let vectors: Vec<Option<&Vec<f32>>> = vectors.collect();
        let none = f64::NEG_INFINITY;
        let about = vectors
            .iter()
            .map(|it| it.map_or(none, |it| about(wanted, it)));
        let about: Vec<f64> = about.collect();
        let first = self.first_of(chunks, &about);
        let near = first.into_iter().filter_map(|PlainScore { at, .. }| {
            let score = cosine(wanted, vectors[at]?);
            ((1.0 + score) / 2.0 >= query.threshold).then_some(PlainScore { at, score })
        });
        let near: Vec<PlainScore> = near.collect();
        ranks(&near)
    }

    /// The first of a list, with all that tie with the last of them.
    fn first_of(&self, chunks: &[PlainChunk<'_>], scores: &[f64]) -> Vec<PlainScore> {
        let scored = scores.iter().enumerate();
        let mut list: Vec<PlainScore> = scored
            .map(|(at, score)| PlainScore { at, score: *score })
            .filter(|it| it.score.is_finite() && self.factor(chunks[it.at].number) > 0.0)
            .collect();
        list.sort_by(|one, other| other.score.total_cmp(&one.score));
        if let Some(last) = list.get(LIST - 1).copied() {
            list.retain(|it| it.score >= last.score);
        }
        list
    }

    fn factor(&self, chunk: u32) -> f64 {
        let Some(weight) = self.weights.get(&chunk) else {
            return 1.0;
        };
        let (positive, negative) = (weight.positive as f64, weight.negative as f64);
        weight.weight * (1.0 + 0.2 * (positive - negative) / (positive + negative + 4.0))
    }
}

fn first(mut found: Vec<FoundChunk>) -> Vec<FoundChunk> {
    found.sort_by_key(|(label, place, score)| (-score, *label, *place));
    found.truncate(LIMIT);
    found
}

/// The cosine as far as the codes know it.
fn about(one: &[f32], other: &[f32]) -> f64 {
    let (one, other) = (VectorCode::of(one), VectorCode::of(other));
    let pairs = one.codes.iter().zip(&other.codes);
    let product: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    f64::from(product) * f64::from(one.scale) * f64::from(other.scale)
}

/// From 1; equal ones share the first of theirs.
fn ranks(list: &[PlainScore]) -> HashMap<usize, usize> {
    let better = |score: f64| list.iter().filter(|other| other.score > score).count();
    let ranked = list.iter().map(|it| (it.at, 1 + better(it.score)));
    ranked.collect()
}

/// The BM25 of each chunk that words find, and the most that one can have.
fn words(chunks: &[PlainChunk<'_>], query: &[QueryTerm]) -> (Vec<f64>, f64) {
    let length: u64 = chunks
        .iter()
        .map(|it| u64::from(length_of(it.counts)))
        .sum();
    let all = chunks.len() as f64;
    let mean = length as f64 / all;
    let terms: BTreeSet<&str> = query.iter().map(text).collect();
    let idfs = terms.into_iter().filter_map(|term| {
        let with = chunks.iter().filter(|it| it.counts.contains_key(term));
        let n = with.count() as f64;
        let idf = (1.0 + (all - n + 0.5) / (n + 0.5)).ln();
        (n > 0.0).then_some((term, idf))
    });
    let idfs: Vec<(&str, f64)> = idfs.collect();
    let score = |chunk: &PlainChunk<'_>| {
        let length = f64::from(length_of(chunk.counts)) / mean;
        let scores = idfs.iter().map(|(term, idf)| {
            let count = f64::from(chunk.counts.get(*term).copied().unwrap_or(0));
            idf * (count * 2.5 / (count + 1.5 * (0.25 + 0.75 * length)))
        });
        Some(scores.sum()).filter(|score| *score > 0.0)
    };
    let highest = idfs.iter().map(|(_, idf)| idf * 2.5).sum();
    let found = chunks
        .iter()
        .map(|chunk| score(chunk).unwrap_or(f64::NEG_INFINITY));
    (found.collect(), highest)
}
