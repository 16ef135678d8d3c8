//! How a knowledge base is opened.

use crate::embedder::Embedder;
use crate::sources::{ForeignExtractor, PageFetcher};
use ambit_storage::clock::Clock;
use ambit_storage::driver::Driver;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a knowledge base works with.
#[derive(Clone)]
pub struct KnowledgeSettings {
    /// Where everything is kept.
    pub driver: Arc<dyn Driver>,
    /// The time that is written down.
    pub clock: Clock,
    /// Bytes of caches.
    pub memory: u64,
    /// How much of anything is accepted.
    pub limits: KnowledgeLimits,
    /// The program that reads documents of strangers when it is called with `extract`; without one those that need it fail.
    pub extract_program: Option<PathBuf>,
    /// How long it may read one.
    pub extract_time: Duration,
    /// Makes vectors; none where words alone find.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Reads what this crate cannot read.
    pub extractor: Option<Arc<dyn ForeignExtractor>>,
    /// Fetches pages.
    pub fetcher: Option<Arc<dyn PageFetcher>>,
}

/// `ambit.search.limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnowledgeLimits {
    /// Collections of a tenant.
    pub collections: u64,
    /// Bytes of text of a tenant.
    pub bytes: u64,
    /// Jobs of a tenant that wait.
    pub jobs: u64,
    /// Queries of a tenant in a second, on this node.
    pub queries: u32,
    /// Documents of a collection.
    pub documents: u64,
    /// Chunks of a collection.
    pub chunks: u64,
    /// Bytes of a document's file.
    pub file: u64,
    /// Chunks of a document.
    pub document_chunks: u64,
}

impl KnowledgeLimits {
    /// Why a document with so many chunks does not fit beside those that the others of its collection have.
    pub(crate) fn no_room_for_chunks(
        &self,
        what: &str,
        chunks: u64,
        others: u64,
    ) -> Option<String> {
        let most = self.document_chunks;
        if chunks > most {
            return Some(format!(
                "{what} has {chunks} chunks, at most {most} are accepted"
            ));
        }
        let most = self.chunks;
        (others + chunks > most).then(|| {
            format!("the collection has room for {most} chunks (ambit.search.limits.chunks)")
        })
    }
}

impl KnowledgeSettings {
    /// Over this store, with all else as it is by default.
    pub fn new(driver: Arc<dyn Driver>) -> Self {
        Self {
            driver,
            clock: Clock::default(),
            memory: 256 << 20,
            limits: KnowledgeLimits::default(),
            extract_program: None,
            extract_time: ambit_extract::CHILD_TIME,
            embedder: None,
            extractor: None,
            fetcher: None,
        }
    }
}

impl Default for KnowledgeLimits {
    fn default() -> Self {
        Self {
            collections: 1_000,
            bytes: 10 << 30,
            jobs: 10_000,
            queries: 50,
            documents: 100_000,
            chunks: 1_000_000,
            file: 64 << 20,
            document_chunks: 20_000,
        }
    }
}
