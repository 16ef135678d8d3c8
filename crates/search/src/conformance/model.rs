//! An index as one would write it who has all in memory and all the time in the world, beside the real one.

use crate::allowed::AllowedChunks;
use crate::index::{ChunkErasure, SearchIndex};
use crate::manifest::ChunkRange;
use crate::ranking::{ScoredChunk, SearchScope, rank_words};
use crate::terms::{ChunkTerms, QueryTerm, TermCounts};
use ambit_storage::batch::Batch;
use std::collections::{BTreeMap, BTreeSet};

/// Numbers that look random and are the same in each run.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) % limit as u64) as usize
    }

    /// Terms as in a text: a few of them everywhere, most of them rare.
    pub fn chunk(&mut self) -> TermCounts {
        let mut counts = TermCounts::default();
        for _ in 0..=self.below(30) {
            let (high, range) = (self.below(60) + 1, self.below(60) + 1);
            *counts.entry(format!("w{}", high * range)).or_default() += 1;
        }
        counts
    }
}

/// Documents of some chunks each, in the index and here.
pub(super) struct IndexModel {
    pub index: SearchIndex,
    /// By their first chunks.
    pub documents: BTreeMap<u32, ModelDocument>,
}

pub(super) struct ModelDocument {
    pub range: ChunkRange,
    pub chunks: Vec<TermCounts>,
    pub label: usize,
}

/// A document, the place of the chunk in it, and its score in billionths.
pub(super) type FoundChunk = (usize, usize, i64);

impl IndexModel {
    pub fn new(index: SearchIndex) -> Self {
        let documents = BTreeMap::new();
        Self { index, documents }
    }

    pub async fn add(&mut self, label: usize, chunks: Vec<TermCounts>) {
        let mut change = self.index.change().await.unwrap();
        let range = change.add(&ChunkTerms::of(&chunks)).unwrap();
        change.commit().await.unwrap();
        let document = ModelDocument {
            range,
            chunks,
            label,
        };
        self.documents.insert(range.first, document);
    }

    pub async fn remove(&mut self, first: u32) {
        let document = self.documents.remove(&first).unwrap();
        self.hide(&document).await;
        let erasure = document.erasure();
        self.index.erase(&erasure, &Batch::default()).await.unwrap();
    }

    pub async fn hide(&self, document: &ModelDocument) {
        let mut change = self.index.change().await.unwrap();
        change.hide(&document.range);
        change.commit().await.unwrap();
    }

    pub async fn keep_up(&self) {
        while self.index.keep_up().await.unwrap() {}
    }

    /// What the index finds in these documents, or in all.
    pub async fn found(
        &self,
        query: &[QueryTerm],
        labels: Option<&BTreeSet<usize>>,
    ) -> Vec<FoundChunk> {
        let snapshot = self.index.snapshot().await.unwrap();
        let allowed = match labels {
            None => AllowedChunks::all(&snapshot.manifest),
            Some(labels) => {
                let documents = self.documents.values();
                let allowed = documents.filter(|document| labels.contains(&document.label));
                let ranges = allowed.map(|document| document.range).collect();
                AllowedChunks::of(&snapshot.manifest, ranges)
            }
        };
        let index = self.index.clone();
        let query = query.to_vec();
        let scope = SearchScope::of_words(index, snapshot, query, allowed);
        let ranking = rank_words(&[scope], 10).await.unwrap();
        let mut found: Vec<FoundChunk> = ranking.chunks.iter().map(|it| self.named(it)).collect();
        found.sort_by_key(|(label, place, score)| (-score, *label, *place));
        found.truncate(10);
        found
    }

    fn named(&self, chunk: &ScoredChunk) -> FoundChunk {
        let (label, place) = self.name(chunk.chunk);
        (label, place, billionths(chunk.score))
    }

    /// The document of a chunk, and its place in it.
    pub fn name(&self, chunk: u32) -> (usize, usize) {
        let (first, document) = self.documents.range(..=chunk).next_back().unwrap();
        let place = (chunk - first) as usize;
        assert!(place < document.chunks.len(), "{chunk} is in no document");
        (document.label, place)
    }

    /// What is to be found.
    pub fn expected(
        &self,
        query: &[QueryTerm],
        labels: Option<&BTreeSet<usize>>,
    ) -> Vec<FoundChunk> {
        let is_allowed =
            |it: &&ModelDocument| labels.is_none_or(|labels| labels.contains(&it.label));
        let documents: Vec<&ModelDocument> = self.documents.values().filter(is_allowed).collect();
        let chunks: Vec<(usize, usize, &TermCounts)> = documents
            .iter()
            .flat_map(|it| {
                it.chunks
                    .iter()
                    .enumerate()
                    .map(|(at, counts)| (it.label, at, counts))
            })
            .collect();
        let length: u64 = chunks
            .iter()
            .map(|(_, _, it)| u64::from(length_of(it)))
            .sum();
        let (all, mean) = (
            chunks.len() as f64,
            length as f64 / chunks.len().max(1) as f64,
        );
        let mut terms: Vec<&str> = query.iter().map(text).collect();
        terms.sort_unstable();
        terms.dedup();
        let has = |term: &str| {
            chunks
                .iter()
                .filter(|(_, _, it)| it.contains_key(term))
                .count()
        };
        let idfs: Vec<f64> = terms
            .iter()
            .map(|term| (has(term) as f64, term))
            .map(|(n, _)| (1.0 + (all - n + 0.5) / (n + 0.5)).ln())
            .collect();
        let mut found: Vec<FoundChunk> = chunks
            .iter()
            .map(|(label, at, counts)| {
                let length = f64::from(length_of(counts)) / mean;
                let scores = terms.iter().zip(&idfs).map(|(term, idf)| {
                    let count = f64::from(counts.get(*term).copied().unwrap_or(0));
                    idf * count * 2.5 / (count + 1.5 * (0.25 + 0.75 * length))
                });
                (*label, *at, billionths(scores.sum()))
            })
            .filter(|(_, _, score)| *score > 0)
            .collect();
        found.sort_by_key(|(label, place, score)| (-score, *label, *place));
        found.truncate(10);
        found
    }
}

impl ModelDocument {
    pub fn erasure(&self) -> ChunkErasure {
        let terms = self.chunks.iter().flat_map(|it| it.keys().cloned());
        ChunkErasure {
            ranges: vec![self.range],
            terms: Some(terms.collect()),
        }
    }
}

pub(super) fn billionths(score: f64) -> i64 {
    (score * 1e9).round() as i64
}

pub(super) fn exact(terms: &[&str]) -> Vec<QueryTerm> {
    terms
        .iter()
        .map(|term| QueryTerm::Exact((*term).to_owned()))
        .collect()
}

pub(super) fn counts(terms: &[&str]) -> TermCounts {
    terms.iter().map(|term| ((*term).to_owned(), 1)).collect()
}

pub(super) fn text(term: &QueryTerm) -> &str {
    match term {
        QueryTerm::Exact(term) | QueryTerm::Prefix(term) => term,
    }
}

pub(super) fn length_of(counts: &TermCounts) -> u32 {
    counts.values().sum()
}
