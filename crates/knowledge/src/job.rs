//! What is done in the background.

use ambit_storage::clock::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A piece of work that some node does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its id.
    pub job_id: String,
    /// What is done.
    pub kind: JobKind,
    /// For which collection.
    pub collection_id: String,
    /// For which of its documents, where it is one.
    pub document_id: Option<String>,
    /// How far it is.
    pub status: JobStatus,
    /// What is being done of it.
    pub step: Option<String>,
    /// So much of it is done.
    pub done: u64,
    /// So much is to be done.
    pub total: u64,
    /// How often a node has begun it.
    pub attempts: u32,
    /// Why it failed.
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// Reads and indexes a document.
    Document,
    /// Makes a collection equal to its files.
    Sync,
    /// Makes an index anew.
    Reindex,
    /// Erases a document or a collection.
    Remove,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    /// It waits.
    Queued,
    /// A node works on it, or has done so until it ended.
    Running,
    /// All is done.
    Done,
    /// It cannot be done.
    Failed,
    /// It was called off.
    Cancelled,
}

impl JobStatus {
    /// Whether nothing more happens.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}
