//! Waiting for the jobs of documents, as routes and processes do it.

use crate::error::{Error, ErrorCode, Result};
use ambit_knowledge::{Job, JobStatus, KnowledgeBase, KnowledgeReach, NewDocument};
use serde::Serialize;
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// How long somebody waits for a job.
const WAIT: Duration = Duration::from_secs(60);

/// The status of a document that cannot be read.
const UNPROCESSABLE: u16 = 422;

/// Fields of Yao's documents that have no effect here.
pub const IGNORED_FIELDS: [&str; 7] = [
    "chunking",
    "embedding",
    "extraction",
    "fetcher",
    "converter",
    "locale",
    "job",
];

/// A document that was added, in Yao's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentAddition {
    /// What was done.
    pub message: &'static str,
    /// Its collection.
    pub collection_id: String,
    /// Its id.
    pub doc_id: String,
    /// Whether it is still being read.
    #[serde(skip)]
    pub is_late: bool,
}

/// Waits for a job; none where it takes too long.
pub async fn finished_in_time(
    base: &KnowledgeBase,
    reach: &dyn KnowledgeReach,
    job_id: &str,
) -> Result<Option<Job>> {
    let ended = timeout(WAIT, base.finished_job(reach, job_id)).await;
    Ok(ended.ok().transpose()?)
}

/// Adds a document and waits until it is found. One that cannot be read is a failure.
pub async fn add_and_wait(
    base: &KnowledgeBase,
    reach: &dyn KnowledgeReach,
    collection: &str,
    new: NewDocument,
) -> Result<DocumentAddition> {
    let added = base.add_document(reach, collection, new).await?;
    let job = match &added.job_id {
        Some(id) => finished_in_time(base, reach, id).await?,
        None => None,
    };
    let is_late = job.is_none() && added.job_id.is_some();
    if let Some(job) = job.filter(|job| job.status != JobStatus::Done) {
        let called_off = || "the job of the document was called off".to_owned();
        let why = job.error.unwrap_or_else(called_off);
        return Err(Error {
            status: Some(UNPROCESSABLE),
            details: Some(Box::new(json!({"doc_id": added.document_id}))),
            ..Error::new(ErrorCode::InvalidArgument, why)
        });
    }
    Ok(DocumentAddition {
        message: match is_late {
            true => "the document is being read",
            false => "the document was added",
        },
        collection_id: collection.to_owned(),
        doc_id: added.document_id,
        is_late,
    })
}
