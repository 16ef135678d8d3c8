//! Which chunks of an index have vectors: all up to one, but for those whose text is gone or was refused. So nothing is embedded
//! twice, and whoever adds vectors needs no other note.

use super::IndexEmbedding;
use crate::error::{Error, Result, StorageError};
use crate::log_words::EchoFilter;
use ambit_knowledge::{EmbeddedBatch, EmbeddingTokens};
use ambit_search::index::{IndexChange, SearchIndex};
use ambit_search::vectors::{ChunkVector, EmbeddingSpace};
use ambit_storage::Json;
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// So often vectors are added again because a search has changed the index meanwhile.
const TRIES: usize = 16;
/// The name of what is known of an index's vectors, beside its pages.
const VECTORS: &str = "embedding";

/// What is known of an index's vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct VectorProgress {
    /// Of the index.
    incarnation: u64,
    connector: String,
    /// What they are, once there are any.
    space: Option<EmbeddingSpace>,
    /// The first chunk that nobody has looked at.
    next: u32,
}

/// The vectors of an index, as far as there are any.
pub struct IndexVectors {
    index: SearchIndex,
    driver: Arc<dyn Driver>,
    key: ValueKey,
    stored: Option<VectorProgress>,
    version: Option<u64>,
}

/// The text of a chunk.
pub struct ChunkText {
    pub chunk: u32,
    pub text: String,
}

/// Texts whose vectors are due.
#[derive(Default)]
pub struct DueTexts {
    /// Of chunks in ascending order, without those whose text is gone.
    pub texts: Vec<ChunkText>,
    /// The first chunk behind those that were looked at.
    pub next: u32,
    /// Hold as long as the chunks are what they were.
    pub checks: Vec<BatchCheck>,
}

/// What became of texts whose vectors were due.
pub struct AddedVectors {
    /// What they took.
    pub used: Option<EmbeddingTokens>,
    /// Where they are now.
    pub outcome: VectorOutcome,
}

/// Where vectors are that were made.
pub enum VectorOutcome {
    /// In the index.
    Stored,
    /// Nowhere: they are of another model or length than those that are there, so that the index has to be made anew.
    OtherSpace,
    /// Nowhere: the index is gone, another one or could not be written.
    Lost(Error),
}

impl IndexVectors {
    /// Those of an index in the space of this key.
    pub async fn of(index: &SearchIndex, driver: &Arc<dyn Driver>, space: &Space) -> Result<Self> {
        let key = space.key(VECTORS);
        let found = driver.get(&key, ValuePart::Whole).await?;
        Ok(Self {
            index: index.clone(),
            driver: driver.clone(),
            key,
            version: found.as_ref().map(|entry| entry.version),
            stored: found.map(|entry| entry.value.to()).transpose()?,
        })
    }

    /// Whether they are another connector's.
    pub fn are_of_another(&self, connector: &str) -> bool {
        let stored = self.stored.as_ref();
        stored.is_some_and(|stored| stored.connector != connector)
    }

    /// Whether nothing is known of them yet.
    pub fn are_unknown(&self) -> bool {
        self.stored.is_none()
    }

    /// What they are, where there are any.
    pub fn space(&self) -> Option<&EmbeddingSpace> {
        self.stored.as_ref()?.space.as_ref()
    }

    /// The first chunk that nobody has looked at.
    pub fn next(&self) -> u32 {
        self.stored.as_ref().map_or(0, |stored| stored.next)
    }

    /// Makes the vectors of texts and adds them to the index of this incarnation, as long as the lease is held.
    pub async fn add(
        &mut self,
        embedding: &IndexEmbedding,
        incarnation: u64,
        due: DueTexts,
        lease: BatchCheck,
    ) -> Result<AddedVectors> {
        let mut progress = VectorProgress {
            incarnation,
            connector: embedding.connector.clone(),
            space: self.space().cloned(),
            next: due.next,
        };
        let (mut used, mut vectors) = (None, Vec::new());
        if !due.texts.is_empty() {
            let texts = due.texts.iter().map(|due| due.text.clone());
            let made = embedding.embed(texts.collect()).await?;
            let space = made.space(&embedding.connector);
            used = tokens(&embedding.connector, &made);
            if progress.space.is_some() && space.is_some() && progress.space != space {
                let outcome = VectorOutcome::OtherSpace;
                return Ok(AddedVectors { used, outcome });
            }
            progress.space = progress.space.or(space);
            vectors = given(&due.texts, made.vectors);
        }
        let mut checks = due.checks;
        checks.push(lease);
        let outcome = match self.store(progress, &vectors, &checks).await {
            Ok(()) => VectorOutcome::Stored,
            Err(error) => VectorOutcome::Lost(error),
        };
        Ok(AddedVectors { used, outcome })
    }

    async fn store(
        &mut self,
        progress: VectorProgress,
        vectors: &[ChunkVector],
        checks: &[BatchCheck],
    ) -> Result<()> {
        for _ in 0..TRIES {
            let mut change = self.index.change().await?;
            if change.manifest.incarnation != progress.incarnation {
                break;
            }
            if let Some(space) = &progress.space {
                change.add_vectors(space, vectors).await?;
            }
            match self.commit(change, &progress, checks).await {
                Ok(version) => {
                    self.version = version;
                    self.stored = Some(progress);
                    return Ok(());
                }
                // A search has added to it: nothing is embedded again for that.
                Err(StorageError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(has_changed())
    }

    async fn commit(
        &self,
        change: IndexChange,
        progress: &VectorProgress,
        checks: &[BatchCheck],
    ) -> ambit_storage::Result<Option<u64>> {
        let mut batch: Batch = change.batch()?;
        batch.checks.extend(checks.iter().cloned());
        let own = BatchCheck::version(self.key.clone(), self.version);
        batch.checks.push(own);
        let set = Operation::Set(Json::of(progress)?.into());
        batch
            .writes
            .push(BatchWrite::apply(self.key.clone(), set, None));
        let outcomes = self.driver.commit(batch).await?;
        Ok(match outcomes.last() {
            Some(WriteOutcome::Applied { version, .. }) => *version,
            _ => None,
        })
    }
}

fn tokens(connector: &str, made: &EmbeddedBatch) -> Option<EmbeddingTokens> {
    (made.tokens > 0).then(|| EmbeddingTokens {
        connector: connector.to_owned(),
        model: made.model.clone(),
        tokens: made.tokens,
    })
}

/// The vectors of texts; one whose text was refused has none.
fn given(
    texts: &[ChunkText],
    vectors: Vec<std::result::Result<Vec<f32>, String>>,
) -> Vec<ChunkVector> {
    let mut given = Vec::with_capacity(vectors.len());
    for (ChunkText { chunk, text }, vector) in texts.iter().zip(vectors) {
        match vector {
            Ok(vector) => given.push(ChunkVector {
                chunk: *chunk,
                vector,
            }),
            Err(reason) => {
                let reason = EchoFilter::of(&Value::from(text.as_str())).apply(&reason);
                tracing::warn!(reason, "a text is found by words alone");
            }
        }
    }
    given
}

fn has_changed() -> Error {
    let changed = StorageError::Conflict {
        what: "an index that gets vectors".to_owned(),
        expected: "what its texts were read from".to_owned(),
        found: "what others have made of it".to_owned(),
    };
    changed.into()
}
