//! What routes and processes do alike with collections and documents, and how they answer.

use crate::access::{Authorized, CallerReach};
use crate::app::App;
use crate::error::{Error, ErrorCode, Result};
use ambit_knowledge::{
    CollectionUpdate, EmbeddingSettings, Job, JobStatus, KnowledgeBase, KnowledgeError,
    NewCollection, NewDocument, ReindexRequest,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use utoipa::ToSchema;

/// How long somebody waits for a job.
const WAIT: Duration = Duration::from_secs(60);
/// Characters that come at once, where nobody says.
const CHARACTERS: usize = 100_000;
/// The status of a document that cannot be read, and of what names a connector that is not there.
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

/// The knowledge base as one caller uses it.
#[derive(Clone)]
pub struct KnowledgeClient {
    /// The collections.
    pub base: KnowledgeBase,
    /// What the caller may see and change of them.
    pub reach: CallerReach,
    app: Arc<App>,
}

/// A collection that was made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CollectionAnswer {
    /// Its id.
    pub collection_id: String,
    /// What was done.
    pub message: &'static str,
}

/// Whether there is a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CollectionExists {
    /// The id that was asked for.
    pub collection_id: String,
    /// Whether the caller has one of this id.
    pub exists: bool,
}

/// A document that was added, in Yao's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DocumentAddition {
    /// What was done, where somebody has waited for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'static str>,
    /// Its collection, where somebody has waited for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection_id: Option<String>,
    /// Its id.
    pub doc_id: String,
    /// The job that reads it, where nobody waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Fields that have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Whether it is still being read.
    #[serde(skip)]
    pub is_late: bool,
}

/// A part of a document's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DocumentText {
    /// The characters.
    pub text: String,
    /// From which to which they are.
    pub range: [usize; 2],
}

impl KnowledgeClient {
    pub(crate) fn new(base: KnowledgeBase, who: &Authorized, app: Arc<App>) -> Self {
        let reach = CallerReach::of(who);
        Self { base, reach, app }
    }

    /// Makes a collection, which belongs to the caller.
    pub async fn create_collection(&self, new: NewCollection) -> Result<CollectionAnswer> {
        self.check_embedding(new.embedding.as_ref())?;
        let made = self.base.create_collection(&self.reach, new).await?;
        Ok(CollectionAnswer {
            collection_id: made.collection_id,
            message: "the collection was made",
        })
    }

    /// Begins to index a collection anew.
    pub async fn reindex(&self, id: &str, request: &ReindexRequest) -> Result<Job> {
        self.check_embedding(request.embedding.as_ref())?;
        Ok(self.base.reindex(&self.reach, id, request).await?)
    }

    /// Refuses a connector that the app has not.
    fn check_embedding(&self, embedding: Option<&EmbeddingSettings>) -> Result<()> {
        let Some(embedding) = embedding else {
            return Ok(());
        };
        let found = self.app.model(&embedding.connector);
        found.map(|_| ()).map_err(|error| Error {
            status: Some(UNPROCESSABLE),
            ..Error::invalid("embedding", format!("embedding: {}", error.message))
        })
    }

    /// Whether the caller has a collection of this id.
    pub async fn has_collection(&self, id: &str) -> Result<CollectionExists> {
        let exists = match self.base.collection(&self.reach, id).await {
            Ok(_) => true,
            Err(KnowledgeError::NotFound { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        let collection_id = id.to_owned();
        Ok(CollectionExists {
            collection_id,
            exists,
        })
    }

    /// Puts metadata in the place of what a collection has.
    pub async fn change_metadata(
        &self,
        id: &str,
        metadata: Map<String, Value>,
    ) -> Result<CollectionAnswer> {
        let update = CollectionUpdate {
            metadata: Some(metadata),
            ..CollectionUpdate::default()
        };
        let changed = self.base.update_collection(&self.reach, id, &update);
        Ok(CollectionAnswer {
            collection_id: changed.await?.collection_id,
            message: "the metadata was changed",
        })
    }

    /// Some characters of what was read of a document.
    pub async fn document_text(
        &self,
        id: &str,
        from: Option<usize>,
        to: Option<usize>,
    ) -> Result<DocumentText> {
        let from = from.unwrap_or(0);
        let to = to.unwrap_or(from.saturating_add(CHARACTERS));
        if to < from {
            return Err(Error::invalid("to", "to must not be less than from"));
        }
        let text = self.base.document_text(&self.reach, id, from..to).await?;
        let range = [from, from + text.chars().count()];
        Ok(DocumentText { text, range })
    }

    /// Adds a document, which is found once its job is done.
    pub async fn add(&self, collection: &str, new: NewDocument) -> Result<DocumentAddition> {
        let added = self.base.add_document(&self.reach, collection, new).await?;
        Ok(DocumentAddition {
            message: None,
            collection_id: None,
            doc_id: added.document_id,
            is_late: added.job_id.is_some(),
            job_id: added.job_id,
            ignored: Vec::new(),
        })
    }

    /// Adds a document and waits until it is found. One that cannot be read is a failure.
    pub async fn add_and_wait(
        &self,
        collection: &str,
        new: NewDocument,
    ) -> Result<DocumentAddition> {
        let added = self.add(collection, new).await?;
        let job = match &added.job_id {
            Some(id) => self.finished_in_time(id).await?,
            None => None,
        };
        let is_late = job.is_none() && added.is_late;
        if let Some(job) = job.filter(|job| job.status != JobStatus::Done) {
            let called_off = || "the job of the document was called off".to_owned();
            let why = job.error.unwrap_or_else(called_off);
            return Err(Error {
                status: Some(UNPROCESSABLE),
                details: Some(Box::new(json!({"doc_id": added.doc_id}))),
                ..Error::new(ErrorCode::InvalidArgument, why)
            });
        }
        Ok(DocumentAddition {
            message: Some(match is_late {
                true => "the document is being read",
                false => "the document was added",
            }),
            collection_id: Some(collection.to_owned()),
            job_id: None,
            is_late,
            ..added
        })
    }

    /// Waits for a job; none where it takes too long.
    pub async fn finished_in_time(&self, job_id: &str) -> Result<Option<Job>> {
        let ended = timeout(WAIT, self.base.finished_job(&self.reach, job_id)).await;
        Ok(ended.ok().transpose()?)
    }

    /// Waits for jobs, for all of them together no longer than for one.
    pub async fn all_finished_in_time(&self, job_ids: &[String]) -> Result<()> {
        let ended = async {
            for id in job_ids {
                self.base.finished_job(&self.reach, id).await?;
            }
            Ok(())
        };
        timeout(WAIT, ended).await.unwrap_or(Ok(()))
    }

    /// Waits for the job of a removal; returns it where something is left to be erased after that.
    pub async fn unfinished_removal(&self, job_id: &str) -> Result<Option<Job>> {
        Ok(match self.finished_in_time(job_id).await? {
            Some(_) => None,
            None => Some(self.base.job(&self.reach, job_id).await?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{KnowledgeClient, WAIT};
    use crate::access::Authorized;
    use ambit_knowledge::{
        JobStatus, KnowledgeBase, KnowledgeSettings, NewCollection, NewDocument,
    };
    use ambit_storage::driver::DriverOptions;
    use ambit_storage::driver::memory::MemoryDriver;
    use std::sync::Arc;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_removal_is_waited_for_until_its_last_byte_is_gone_or_a_minute_has_passed() {
        let driver = Arc::new(MemoryDriver::new(DriverOptions::default()));
        // Nobody works on it but this test.
        let base = KnowledgeBase::open(KnowledgeSettings::new(driver));
        let who = Authorized {
            user_id: Some("ann".to_owned()),
            ..Authorized::default()
        };
        let client = KnowledgeClient::new(base, &who, Arc::default());
        let collection = NewCollection {
            id: "c".to_owned(),
            ..NewCollection::default()
        };
        client.create_collection(collection).await.unwrap();
        let new = NewDocument::text("a.md", "A heron.");
        let added = client.add("c", new).await.unwrap();
        client.base.work().await.unwrap();
        let (base, reach) = (&client.base, &client.reach);
        let job = base.remove_document(reach, &added.doc_id).await.unwrap();
        let begun = Instant::now();
        let left = client.unfinished_removal(&job).await.unwrap().unwrap();
        assert_eq!(begun.elapsed().as_secs(), WAIT.as_secs());
        assert_eq!((&left.job_id, left.status), (&job, JobStatus::Queued));
        let begun = Instant::now();
        let two = [job.clone(), job.clone()];
        client.all_finished_in_time(&two).await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), WAIT.as_secs());
        base.work().await.unwrap();
        let begun = Instant::now();
        assert_eq!(client.unfinished_removal(&job).await.unwrap(), None);
        assert!(begun.elapsed() < WAIT);
    }
}
