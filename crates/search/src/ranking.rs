//! BM25 over the allowed chunks of some indexes. What is not allowed is not counted either: nobody can tell from an order or
//! a score that it is there.

use crate::allowed::AllowedChunks;
use crate::best_chunks::BestChunks;
use crate::index::{IndexSnapshot, SearchIndex};
use crate::manifest::ChunkTotals;
use crate::page::Posting;
use crate::postings::{EXPANSIONS, PostingCursor, TermPostings};
use crate::terms::QueryTerm;
use crate::vectors::QueryVector;
use ambit_storage::{Error, Result};
use futures::{StreamExt, stream};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub use crate::best_chunks::ScoredChunk;

const K1: f64 = 1.5;
const B: f64 = 0.75;
/// Of more terms only the rarest count.
const TERMS: usize = 32;
/// Where there are more bytes to look at, others need not wait for it.
const LARGE: usize = 256 << 10;
/// So many chunks are scored at once.
const WINDOW: u32 = 1 << 14;
/// Scopes whose terms are looked up at once.
const SCOPES: usize = 16;

/// Part of an index that is searched.
pub struct SearchScope {
    /// The index.
    pub index: SearchIndex,
    /// As of this moment.
    pub snapshot: Arc<IndexSnapshot>,
    /// What is looked for, in the terms of this index.
    pub query: Vec<QueryTerm>,
    /// What may be found.
    pub allowed: AllowedChunks,
    /// What is looked for among its vectors; `None` for words alone.
    pub vector: Option<QueryVector>,
    /// Of the chunks that count for more or less than others.
    pub weights: HashMap<u32, ChunkWeight>,
}

/// What people and apps think of a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkWeight {
    /// 1 is as any other; 0 hides the chunk.
    pub weight: f64,
    /// Votes for it.
    pub positive: u64,
    /// Votes against it.
    pub negative: u64,
}

/// What words found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordRanking {
    /// The best first; of equal ones all that have the score of the last that was wanted.
    pub chunks: Vec<ScoredChunk>,
    /// The most that a chunk can have.
    pub highest: f64,
}

impl ChunkWeight {
    /// What the chunk's score is multiplied by.
    pub fn factor(&self) -> f64 {
        let (positive, negative) = (self.positive as f64, self.negative as f64);
        self.weight * (1.0 + 0.2 * (positive - negative) / (positive + negative + 4.0))
    }

    /// Whether the chunk is not to be found; so it is where the weight is no number.
    fn hides(&self) -> bool {
        let factor = self.factor();
        factor.is_nan() || factor <= 0.0
    }
}

/// What of a scope may be found.
#[derive(Clone)]
pub(crate) struct ScopeFilter {
    pub allowed: AllowedChunks,
    /// Chunks that count among the others and are not found.
    pub hidden: HashSet<u32>,
}

impl SearchScope {
    /// Words of an index, and nothing else.
    pub fn of_words(
        index: SearchIndex,
        snapshot: Arc<IndexSnapshot>,
        query: Vec<QueryTerm>,
        allowed: AllowedChunks,
    ) -> Self {
        Self {
            index,
            snapshot,
            query,
            allowed,
            vector: None,
            weights: HashMap::new(),
        }
    }

    pub(crate) fn filter(&self) -> ScopeFilter {
        let weights = self.weights.iter();
        let hidden = weights.filter(|(_, weight)| weight.hides());
        ScopeFilter {
            allowed: self.allowed.clone(),
            hidden: hidden.map(|(chunk, _)| *chunk).collect(),
        }
    }
}

/// A term, where it stands in each scope, and its weight.
struct RankedTerm {
    of_scopes: Vec<TermPostings>,
    count: u64,
    idf: f64,
}

/// Ranks by words. Ties are left to the caller, who knows what the chunks are called.
pub async fn rank_words(scopes: &[SearchScope], limit: usize) -> Result<WordRanking> {
    let mut found: BTreeMap<String, Vec<TermPostings>> = BTreeMap::new();
    let finding = scopes.iter().map(|scope| {
        let (query, allowed) = (&scope.query, &scope.allowed);
        scope.index.find(&scope.snapshot, query, allowed)
    });
    let finding: Vec<_> = finding.collect();
    let mut finding = stream::iter(finding).buffered(SCOPES).enumerate();
    while let Some((at, found_here)) = finding.next().await {
        for postings in found_here? {
            let of_scopes = found.entry(postings.term.clone());
            let of_scopes =
                of_scopes.or_insert_with(|| vec![TermPostings::default(); scopes.len()]);
            of_scopes[at] = postings;
        }
    }
    let filters: Vec<ScopeFilter> = scopes.iter().map(SearchScope::filter).collect();
    let bytes: usize = found.values().flatten().map(TermPostings::bytes).sum();
    if bytes < LARGE {
        return Ok(rank(&filters, found, limit));
    }
    let ranking = tokio::task::spawn_blocking(move || rank(&filters, found, limit));
    ranking
        .await
        .map_err(|error| Error::internal(format!("a ranking ended early: {error}")))
}

fn rank(
    filters: &[ScopeFilter],
    found: BTreeMap<String, Vec<TermPostings>>,
    limit: usize,
) -> WordRanking {
    let totals = filters.iter().map(|filter| filter.allowed.totals);
    let totals = totals.fold(ChunkTotals::default(), ChunkTotals::plus);
    let terms = rarest(filters, found, totals);
    let mut best = BestChunks::new(limit);
    for (scope, filter) in filters.iter().enumerate() {
        let mut scorer = ScopeScorer::new(scope, &terms, filter, totals);
        while scorer.score_window(&mut best) {}
    }
    WordRanking {
        chunks: best.finish(),
        highest: terms.iter().map(|term| term.idf * (K1 + 1.0)).sum(),
    }
}

/// The terms that count, in byte order.
fn rarest(
    filters: &[ScopeFilter],
    found: BTreeMap<String, Vec<TermPostings>>,
    totals: ChunkTotals,
) -> Vec<RankedTerm> {
    let mut terms: Vec<RankedTerm> = Vec::new();
    let mut expansions: HashMap<Arc<str>, usize> = HashMap::new();
    for of_scopes in found.into_values() {
        let mut begun = of_scopes
            .iter()
            .filter_map(|postings| postings.expanded_from.clone());
        let mut expanded = begun
            .next()
            .map(|begun| expansions.entry(begun).or_default());
        if expanded
            .as_ref()
            .is_some_and(|expanded| **expanded == EXPANSIONS)
        {
            continue;
        }
        let counts = of_scopes.iter().zip(filters);
        let count: u64 = counts
            .map(|(postings, filter)| postings.count(&filter.allowed))
            .sum();
        if count == 0 {
            continue;
        }
        if let Some(expanded) = &mut expanded {
            **expanded += 1;
        }
        let (n, all) = (count as f64, f64::from(totals.chunks));
        let idf = (1.0 + (all - n + 0.5) / (n + 0.5)).ln();
        terms.push(RankedTerm {
            of_scopes,
            count,
            idf,
        });
    }
    if terms.len() > TERMS {
        // The map gave them in byte order, which the sort keeps among equals.
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_by_key(|at| terms[*at].count);
        order.truncate(TERMS);
        let mut at = 0..;
        terms.retain(|_| at.next().is_some_and(|at| order.contains(&at)));
    }
    terms
}

/// Scores the chunks of one scope, a window after the other.
struct ScopeScorer<'a> {
    scope: usize,
    cursors: Vec<PostingCursor<'a>>,
    idfs: Vec<f64>,
    saturation: Saturation,
    scores: Vec<f64>,
    hidden: &'a HashSet<u32>,
}

impl<'a> ScopeScorer<'a> {
    fn new(
        scope: usize,
        terms: &'a [RankedTerm],
        filter: &'a ScopeFilter,
        totals: ChunkTotals,
    ) -> Self {
        let cursors = terms
            .iter()
            .map(|term| term.of_scopes[scope].cursor(&filter.allowed));
        Self {
            scope,
            cursors: cursors.collect(),
            idfs: terms.iter().map(|term| term.idf).collect(),
            saturation: Saturation::of(totals),
            scores: vec![0.0; WINDOW as usize],
            hidden: &filter.hidden,
        }
    }

    /// Scores the next chunks in which terms stand; false where there are none.
    fn score_window(&mut self, best: &mut BestChunks) -> bool {
        let next = self
            .cursors
            .iter()
            .filter_map(|cursor| cursor.chunk())
            .min();
        let Some(first) = next.map(|chunk| chunk - chunk % WINDOW) else {
            return false;
        };
        let last = first.saturating_add(WINDOW - 1);
        for (cursor, idf) in self.cursors.iter_mut().zip(&self.idfs) {
            while let Some(posting) = cursor.next_until(last) {
                let score = idf * self.saturation.at(posting);
                self.scores[(posting.chunk - first) as usize] += score;
            }
        }
        for (chunk, score) in (first..=last).zip(&mut self.scores) {
            let score = std::mem::take(score);
            if score > 0.0 && best.wants(score) && !self.hidden.contains(&chunk) {
                let scope = self.scope;
                best.offer(ScoredChunk {
                    scope,
                    chunk,
                    score,
                });
            }
        }
        true
    }
}

/// How much a term counts that stands in a chunk so often, by the chunk's length.
struct Saturation {
    per_length: f64,
}

impl Saturation {
    fn of(totals: ChunkTotals) -> Self {
        let mean_length = totals.length as f64 / f64::from(totals.chunks.max(1));
        Self {
            per_length: K1 * B / mean_length,
        }
    }

    fn at(&self, posting: Posting) -> f64 {
        let count = f64::from(posting.count);
        let by_length = K1 * (1.0 - B) + self.per_length * f64::from(posting.length);
        count * (K1 + 1.0) / (count + by_length)
    }
}
