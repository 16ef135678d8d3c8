//! Collections of documents: read, cut into chunks, indexed and searched, over any store.
//!
//! [`KnowledgeBase`] is where everything begins. Who may see and change what is told by a [`KnowledgeReach`] with each call; what
//! it does not allow does not exist for the caller.

pub use ambit_search::filter::{InvalidFilter, MetadataFilter};

mod base;
mod chunk;
mod collection;
mod document;
mod embedder;
mod embedding_batch;
mod error;
mod files;
mod index_record;
mod job;
mod names;
mod query;
mod rating;
mod reach;
mod records;
mod reindex_records;
mod settings;
mod sources;
mod spooled_file;
mod stored;
mod sums;
mod work;

pub use base::{
    CollectionFilter, DocumentFile, DocumentFilter, EmbeddedQuery, JobFilter, KnowledgeBase,
    QueryId, QueryVectors, TenantQuery, TenantRoom, UnknownVector, UsedChunk,
};
pub use chunk::{
    ChunkHit, ChunkVote, DocumentChunk, FeedbackContext, ScoreChange, VoteKind, WeightChange,
};
pub use collection::{
    ChunkLengths, Collection, CollectionEmbedding, CollectionShare, CollectionSource,
    CollectionStatus, CollectionUpdate, EmbeddingSettings, KeptContent, NewCollection,
    ReindexProgress, ReindexRequest, check_collection_id, sort_collections,
};
pub use document::{
    AcceptedDocument, Document, DocumentAccess, DocumentStatus, DocumentUpdate, NewContent,
    NewDocument,
};
pub use embedder::{Embedder, EmbeddingFailure, EmbeddingPayer, EmbeddingRequest, Embeddings};
pub use embedding_batch::{BATCH_TEXTS, EmbeddedBatch};
pub use error::{KnowledgeError, Result, Size};
pub use files::{CollectionFiles, FileEntry, SyncReport};
pub use job::{Job, JobKind, JobStatus};
pub use query::{EmbeddingTokens, KnowledgeAnswer, KnowledgeItem, KnowledgeQuery};
pub use reach::KnowledgeReach;
pub use settings::{KnowledgeLimits, KnowledgeSettings};
pub use sources::{CollectionOwner, FetchedPage, ForeignExtractor, ForeignFile, PageFetcher};
pub use spooled_file::{FileSpool, SpooledFile};
pub use work::KnowledgeWorker;
