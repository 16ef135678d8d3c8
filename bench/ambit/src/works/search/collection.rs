//! An index as a collection uses it.

use crate::Result;
use crate::works::Bench;
use ambit_search::allowed::AllowedChunks;
use ambit_search::fusion::{RankRequest, rank};
use ambit_search::index::{IndexSnapshot, PageCache, SearchIndex};
use ambit_search::manifest::{ChunkRange, ChunkTotals};
use ambit_search::ranking::{SearchScope, WordRanking, rank_words};
use ambit_search::terms::{Analyzer, TermCounter, WeightedText};
use ambit_search::vectors::{ChunkVector, EmbeddingSpace, QueryVector};
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use std::sync::Arc;
use std::time::Instant;

/// What a node keeps of indexes in memory, by default.
pub const MEMORY: u64 = 256 << 20;
/// Numbers of a vector.
pub const DIMENSION: usize = 384;
/// Of so many chunks one is allowed where there is a filter.
const ONE_OF: u32 = 100;
/// So often a search is begun.
const TRIES: usize = 64;

/// An index and what it is filled and asked with.
pub struct Collection {
    driver: Arc<dyn Driver>,
    space: Space,
    index: SearchIndex,
    counter: TermCounter,
    /// The length of each chunk.
    lengths: Vec<u32>,
    /// Bytes of all texts.
    pub bytes: usize,
}

/// Asks an index.
#[derive(Clone)]
pub struct Searcher {
    index: SearchIndex,
    /// What a filter allows; `None` without one.
    allowed: Option<Vec<ChunkRange>>,
}

impl Collection {
    pub fn new(bench: &Bench, name: &str) -> Self {
        let space = Space::settings(&bench.tenant(name));
        let driver = bench.driver.clone();
        Self {
            index: SearchIndex::new(driver.clone(), space.clone(), PageCache::new(MEMORY)),
            driver,
            space,
            counter: TermCounter::new(Analyzer::default()),
            lengths: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds texts in one commit and merges what is to be merged; the seconds that it took.
    pub async fn add(&mut self, texts: &[String]) -> Result<f64> {
        let start = Instant::now();
        for text in texts {
            let text = WeightedText { text, weight: 1 };
            self.counter.read_chunk([text]);
        }
        let chunks = self.counter.take_chunks();
        let mut change = self.index.change().await?;
        change.add(&chunks)?;
        change.commit().await?;
        while self.index.keep_up().await? {}
        let seconds = start.elapsed().as_secs_f64();
        self.lengths.extend(chunks.lengths());
        self.bytes += texts.iter().map(String::len).sum::<usize>();
        Ok(seconds)
    }

    /// Adds the vectors of some chunks, of which the first has this number; the seconds that it took.
    pub async fn add_vectors(&self, first: usize, vectors: Vec<Vec<f32>>) -> Result<f64> {
        let start = Instant::now();
        let numbered = (first as u32..).zip(vectors);
        let vectors: Vec<ChunkVector> = numbered
            .map(|(chunk, vector)| ChunkVector { chunk, vector })
            .collect();
        let mut change = self.index.change().await?;
        change.add_vectors(&embedding_space(), &vectors).await?;
        change.commit().await?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Bytes of all that is stored of the index.
    pub async fn stored(&self) -> Result<usize> {
        let all = Pattern::all();
        let mut pages = ValuePages::of(self.driver.as_ref(), &self.space, all, ValuePart::Whole);
        let mut bytes = 0;
        while let Some(page) = pages.next().await? {
            let sizes = page
                .iter()
                .map(|(name, entry)| name.len() + entry.value.as_str().len());
            bytes += sizes.sum::<usize>();
        }
        Ok(bytes)
    }

    /// Asks for all chunks.
    pub fn searcher(&self) -> Searcher {
        Searcher {
            index: self.index.clone(),
            allowed: None,
        }
    }

    /// Asks for one chunk in a hundred.
    pub fn filtered(&self) -> Searcher {
        let allowed = (0..).zip(&self.lengths);
        let allowed = allowed.filter(|(chunk, _)| chunk % ONE_OF == 7);
        let allowed = allowed.map(|(first, length)| ChunkRange {
            first,
            totals: ChunkTotals {
                chunks: 1,
                length: u64::from(*length),
            },
        });
        Searcher {
            index: self.index.clone(),
            allowed: Some(allowed.collect()),
        }
    }
}

impl Searcher {
    /// Finds ten; the milliseconds that it took. Where a merge takes pages away meanwhile, it begins again, as a collection does.
    pub async fn find(&self, text: &str) -> Result<f64> {
        let start = Instant::now();
        let mut tries = 1;
        loop {
            match self.find_once(text).await {
                Err(Error::Conflict { .. }) if tries < TRIES => tries += 1,
                found => {
                    std::hint::black_box(found?);
                    return Ok(start.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
    }

    async fn find_once(&self, text: &str) -> ambit_storage::Result<WordRanking> {
        let query = Analyzer::default().query(text);
        let snapshot = self.index.snapshot().await?;
        let allowed = self.allowed(&snapshot);
        let scope = SearchScope::of_words(self.index.clone(), snapshot, query, allowed);
        rank_words(&[scope], 10).await
    }

    /// Finds ten as a collection with vectors does; the milliseconds that it took.
    pub async fn rank(&self, text: &str, vector: Option<Vec<f32>>) -> Result<f64> {
        let start = Instant::now();
        let query = Analyzer::default().query(text);
        let snapshot = self.index.snapshot().await?;
        let allowed = self.allowed(&snapshot);
        let mut scope = SearchScope::of_words(self.index.clone(), snapshot, query, allowed);
        scope.vector = vector.map(|vector| QueryVector {
            space: embedding_space(),
            vector,
        });
        let request = RankRequest {
            limit: 10,
            threshold: 0.0,
            nearest: None,
        };
        std::hint::black_box(rank(&[scope], &request).await?);
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn allowed(&self, snapshot: &IndexSnapshot) -> AllowedChunks {
        match &self.allowed {
            Some(allowed) => AllowedChunks::of(&snapshot.manifest, allowed.clone()),
            None => AllowedChunks::all(&snapshot.manifest),
        }
    }
}

fn embedding_space() -> EmbeddingSpace {
    EmbeddingSpace {
        connector: "bench".to_owned(),
        model: "none".to_owned(),
        dimension: DIMENSION as u32,
    }
}
