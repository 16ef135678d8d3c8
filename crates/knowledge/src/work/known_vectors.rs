//! Vectors that chunks of a collection have: no text is embedded twice.

use super::collection_work::WorkPlace;
use crate::error::Result;
use crate::index_record::IndexRecord;
use crate::names::vector_places;
use crate::records::ChunkRecord;
use crate::stored::put;
use ambit_search::index::PreparedCommit;
use ambit_search::vectors::ChunkVector;
use ambit_storage::Error;
use ambit_storage::batch::BatchWrite;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;

/// A chunk of an index, and what its text is hashed to.
pub(super) struct HashedChunk {
    pub number: u32,
    pub hash: String,
}

/// Vectors for some chunks.
#[derive(Default)]
pub(super) struct NewVectors {
    pub vectors: Vec<ChunkVector>,
    /// The model that was asked for them; none where they were there.
    pub model: Option<String>,
    pub refused: Vec<RefusedChunk>,
}

/// A chunk whose text was refused.
pub(super) struct RefusedChunk {
    pub chunk: u32,
    pub reason: String,
}

/// Chunks side by side, of which the first has this number.
pub(super) fn hashed(first: u32, chunks: &[ChunkRecord]) -> Vec<HashedChunk> {
    let numbered = (first..).zip(chunks);
    let hashed = numbered.map(|(number, record)| HashedChunk {
        number,
        hash: record.chunk.hash.clone(),
    });
    hashed.collect()
}

impl WorkPlace<'_> {
    /// The vectors that chunks with the same texts have in an index of the collection.
    pub(super) async fn known_vectors(
        &self,
        record: &IndexRecord,
        chunks: &[HashedChunk],
    ) -> Result<NewVectors> {
        let mut known = NewVectors::default();
        let Some(space) = record.space() else {
            return Ok(known);
        };
        let (driver, values) = (self.base.driver(), self.place().values());
        let index = self.base.index(self.place(), record.version);
        let snapshot = index.snapshot().await?;
        for chunk in chunks {
            let prefix = vector_places(record.version, Some(&chunk.hash));
            let names = Pattern::parse(&format!("{prefix}*"));
            let mut scan = ValueScan::first(names, 1, ValuePart::Nothing);
            // Of a chunk that is being erased the vector goes first.
            while let Some((name, _)) = driver.scan(&values, &scan).await?.pop() {
                let number = u32::from_str_radix(&name[prefix.len()..], 16);
                let number = number.map_err(|_| Error::corrupt(&name, "names no chunk"))?;
                let vector = index.vector_of_chunk(&snapshot, &space, number).await?;
                if let Some(vector) = vector {
                    known.vectors.push(ChunkVector {
                        chunk: chunk.number,
                        vector: vector.to_vec(),
                    });
                    break;
                }
                scan.after = Some(name);
            }
        }
        Ok(known)
    }

    /// Adds vectors to an index that is made, and notes by their texts which chunks have them. With the first ones it is known of
    /// which model they are.
    pub(super) async fn add_vectors(
        &self,
        record: &mut IndexRecord,
        chunks: &[HashedChunk],
        new: &NewVectors,
    ) -> Result<PreparedCommit> {
        if let (Some(model), Some(first)) = (&new.model, new.vectors.first()) {
            record.model = Some(model.clone());
            record.dimension = Some(first.vector.len() as u32);
        }
        let mut change = self
            .base
            .index(self.place(), record.version)
            .change()
            .await?;
        if let Some(space) = record.space() {
            change.add_vectors(&space, &new.vectors).await?;
        }
        let mut addition = change.prepare()?;
        let places = self.vector_places(record.version, chunks, &new.vectors);
        addition.batch.writes.extend(places?);
        Ok(addition)
    }

    /// What says that these of the chunks have vectors.
    pub(super) fn vector_places(
        &self,
        version: u32,
        chunks: &[HashedChunk],
        vectors: &[ChunkVector],
    ) -> Result<Vec<BatchWrite>> {
        let mut writes = Vec::with_capacity(vectors.len());
        for HashedChunk { number, hash } in chunks {
            if vectors.iter().any(|vector| vector.chunk == *number) {
                let key = self.place().vector_place(version, hash, *number);
                writes.push(put(key, &true)?);
            }
        }
        Ok(writes)
    }
}
