//! Waiting for the vectors of a collection, as long as some are made.

use super::OpenCollections;
use crate::command_error::Result;
use ambit_knowledge::{Collection, DocumentFilter, DocumentStatus};
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long is waited for the next vector, unless somebody says otherwise.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// From one look to the next, and longer where a look takes long.
const LOOK: Duration = Duration::from_millis(100);

/// What has no vectors though no more came in time.
pub(super) struct MissingVectors {
    connector: String,
    waited: Duration,
    /// Documents that words alone find.
    documents: usize,
    of: u64,
    /// Whether another index of the collection waits for its vectors.
    is_reindexed: bool,
}

/// How far a collection is. Whatever changes is a sign that its embedder answers.
#[derive(PartialEq)]
struct VectorProgress {
    documents: usize,
    chunks: u64,
    reindexed: Option<u64>,
}

/// Waits until all documents of a collection have their vectors, or no more came for so long.
pub(super) async fn wait_for_vectors(
    open: &OpenCollections,
    collection: &str,
    patience: Duration,
) -> Result<Option<MissingVectors>> {
    let (mut last, mut changed) = (None, Instant::now());
    loop {
        let begun = Instant::now();
        let found = open.read_collection(collection).await?;
        let progress = progress(open, &found).await?;
        if progress.documents == 0 && progress.reindexed.is_none() {
            return Ok(None);
        }
        if last.as_ref() != Some(&progress) {
            changed = Instant::now();
        }
        if changed.elapsed() >= patience {
            return Ok(Some(MissingVectors {
                connector: found.embedding.map(|it| it.connector).unwrap_or_default(),
                waited: patience,
                documents: progress.documents,
                of: found.documents,
                is_reindexed: progress.reindexed.is_some(),
            }));
        }
        last = Some(progress);
        sleep(LOOK.max(begun.elapsed() * 4)).await;
    }
}

async fn progress(open: &OpenCollections, collection: &Collection) -> Result<VectorProgress> {
    let waiting = match &collection.embedding {
        None => Vec::new(),
        Some(_) => {
            let filter = DocumentFilter {
                collection_id: Some(collection.collection_id.clone()),
                status: Some(DocumentStatus::Embedding),
                ..DocumentFilter::default()
            };
            open.base.documents(&open.reach, &filter).await?
        }
    };
    Ok(VectorProgress {
        documents: waiting.len(),
        chunks: waiting.iter().map(|document| document.done).sum(),
        reindexed: collection.reindex.as_ref().map(|reindex| reindex.done),
    })
}

impl fmt::Display for MissingVectors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            connector,
            documents,
            of,
            ..
        } = self;
        match self.is_reindexed {
            true => out.write_str(
                "the new index of the collection waits for its vectors, and the old one is searched",
            )?,
            false => write!(
                out,
                "{documents} of {of} documents have no vectors yet, and words alone find them"
            )?,
        }
        match self.waited.as_secs() {
            0 => Ok(()),
            seconds => write!(
                out,
                " (connector \"{connector}\" made none for {seconds} s)"
            ),
        }
    }
}
