//! Ranking of texts that are at hand and in no index. They become one in memory, so that there is one formula.

use crate::allowed::AllowedChunks;
use crate::index::{PageCache, SearchIndex};
use crate::ranking::{SearchScope, rank_words};
use crate::terms::{ChunkTerms, QueryTerm, TermCounts};
use ambit_storage::Result;
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::driver::DriverOptions;
use ambit_storage::driver::memory::MemoryDriver;
use std::sync::Arc;

/// A text that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedText {
    /// Its place among those that were given.
    pub text: usize,
    /// How well it fits, from 0 to 1.
    pub score: f64,
}

/// Makes a scope of texts given by their terms: its chunks have their places as numbers.
pub async fn texts_scope(texts: &[TermCounts], query: Vec<QueryTerm>) -> Result<SearchScope> {
    let driver = Arc::new(MemoryDriver::new(DriverOptions::default()));
    let space = Space::request_memory(DEFAULT_TENANT, "texts");
    let index = SearchIndex::new(driver, space, PageCache::new(1 << 20));
    let mut change = index.change().await?;
    change.add(&ChunkTerms::of(texts))?;
    change.commit().await?;
    let snapshot = index.snapshot().await?;
    let allowed = AllowedChunks::all(&snapshot.manifest);
    Ok(SearchScope::of_words(index, snapshot, query, allowed))
}

/// Ranks texts given by their terms: those with a term of the query, the best first, equal ones in their order.
pub async fn rank_texts(texts: &[TermCounts], query: Vec<QueryTerm>) -> Result<Vec<RankedText>> {
    let scope = texts_scope(texts, query).await?;
    let ranking = rank_words(&[scope], texts.len()).await?;
    let ranked = ranking.chunks.iter().map(|found| RankedText {
        text: found.chunk as usize,
        score: found.score / ranking.highest,
    });
    Ok(ranked.collect())
}

#[cfg(test)]
mod tests {
    use super::rank_texts;
    use crate::terms::{Analyzer, TermCounts};

    #[tokio::test]
    async fn texts_are_ranked_like_chunks_of_an_index() {
        let analyzer = Analyzer::default();
        let texts = ["a lease", "nothing", "a lease, lease", "a lease"].map(|text| {
            let mut counts = TermCounts::new();
            analyzer.count(text, 1, &mut counts);
            counts
        });
        let ranked = rank_texts(&texts, analyzer.query("lease")).await.unwrap();
        let order: Vec<usize> = ranked.iter().map(|found| found.text).collect();
        assert_eq!(order, [2, 0, 3]);
        assert_eq!(ranked[1].score, ranked[2].score);
        let is_share = |score: f64| 0.0 < score && score <= 1.0;
        assert!(ranked.iter().all(|found| is_share(found.score)));
        let none = rank_texts(&texts, analyzer.query("epoch")).await.unwrap();
        assert!(none.is_empty());
    }
}
