//! Collections of documents: read, cut into chunks, indexed and searched, over any store.

mod chunk;
mod collection;
mod document;
mod error;
mod job;
mod reach;

pub use chunk::{ChunkVote, DocumentChunk, ScoreChange, VoteKind, WeightChange};
pub use collection::{
    ChunkLengths, Collection, CollectionEmbedding, CollectionShare, CollectionSource,
    CollectionStatus, CollectionUpdate, EmbeddingSettings, KeptContent, NewCollection,
    ReindexProgress, ReindexRequest, check_collection_id,
};
pub use document::{
    AcceptedDocument, Document, DocumentAccess, DocumentStatus, DocumentUpdate, NewContent,
    NewDocument,
};
pub use error::{KnowledgeError, Result, Size};
pub use job::{Job, JobKind, JobStatus};
pub use reach::KnowledgeReach;
