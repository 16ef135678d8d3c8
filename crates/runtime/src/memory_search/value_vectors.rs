//! The indexes of memories follow these, and get the vectors that they lack.

use super::index_note::MemoryIndexNote;
use super::indexed_search::IndexFollower;
use super::value_index::ValueIndex;
use super::{MemorySearch, text_of};
use crate::error::{ErrorCode, Result};
use crate::index_vectors::{
    ChunkText, DueTexts, IndexEmbedding, IndexJob, TEXT_BYTES, TEXTS, UpkeepTask, VectorBooking,
    VectorPayer, work_under,
};
use ambit_storage::Stores;
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePages, ValuePart, ValueScan};
use ambit_storage::memory::MemoryLocation;
use ambit_storage::pattern::Pattern;
use std::collections::BTreeSet;
use std::sync::Arc;

/// So often an index is looked at again that others change meanwhile, before it is left for the next time.
const TRIES: usize = 4;
/// So often in a row more values are taken into it than one search takes in.
const PASSES: usize = 64;

/// Makes the vectors that indexes of memories lack, in each store in which no other node is at it. An embedder that is down is the
/// failure that this returns; what else fails is told, and tried again the next time.
pub async fn embed_values(
    stores: &Stores,
    embedding: &IndexEmbedding,
    book: &VectorBooking,
) -> Result<()> {
    let mut done = Ok(());
    for (name, driver) in stores.drivers() {
        let lease = match UpkeepTask::EmbedValues.take(driver).await {
            Ok(Some(lease)) => lease,
            Ok(None) => continue,
            // Another store may be there.
            Err(error) => {
                done = Err(error);
                continue;
            }
        };
        let work = ValueVectors {
            stores,
            store: name,
            search: MemorySearch::default().embedding(Some(embedding.clone())),
            job: IndexJob {
                embedding,
                book,
                lease: &lease,
            },
        };
        done = done.and(work_under(lease.clone(), work.embed_all(driver)).await);
    }
    done
}

/// The work in one store.
struct ValueVectors<'a> {
    stores: &'a Stores,
    store: &'a str,
    /// For all values.
    search: MemorySearch,
    job: IndexJob<'a>,
}

impl ValueVectors<'_> {
    async fn embed_all(&self, driver: &Arc<dyn Driver>) -> Result<()> {
        let notes = Space::memory_indexes();
        let mut pages = ValuePages::of(driver.as_ref(), &notes, Pattern::all(), ValuePart::Whole);
        while let Some(page) = pages.next().await? {
            for (_, entry) in page {
                match self.embed_noted(entry.value.to()?).await {
                    Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
                    Err(error) => {
                        tracing::warn!(store.name = self.store, %error, "the index of a memory gets no vectors for now");
                    }
                    Ok(()) => {}
                }
            }
        }
        Ok(())
    }

    async fn embed_noted(&self, note: MemoryIndexNote) -> Result<()> {
        let Some(location) = note.location(self.stores, self.store)? else {
            return Ok(());
        };
        let (mut tries, mut passes) = (0, 0);
        loop {
            match self.embed_memory(&location).await {
                // More values have changed than one search takes in.
                Err(error) if error.code == ErrorCode::LimitExceeded && passes < PASSES => {
                    passes += 1;
                }
                Err(error) if error.code == ErrorCode::Conflict && tries < TRIES => tries += 1,
                Err(error) if error.code == ErrorCode::Conflict => return Ok(()),
                done => return done,
            }
        }
    }

    async fn embed_memory(&self, location: &MemoryLocation) -> Result<()> {
        if is_empty(location).await? {
            // Upkeep drops the index.
            return Ok(());
        }
        let mut follower = IndexFollower::of(&self.search, location, 1).await?;
        follower.follow().await?;
        let payer = VectorPayer {
            tenant: location.space.tenant.clone(),
            user: location.user.clone(),
        };
        // Read again, since erasing goes by the versions of its records.
        let connector = self.job.embedding.connector.as_str();
        let mut index = ValueIndex::open(location.clone(), Some(connector)).await?;
        let (Some(incarnation), Some(mut vectors)) = (index.incarnation, index.vectors.take())
        else {
            return Ok(());
        };
        loop {
            let due = due_texts(&index, vectors.next()).await?;
            if due.next == vectors.next() {
                return Ok(());
            }
            let fits = self.job.add(&mut vectors, incarnation, due, &payer).await?;
            if !fits {
                index.forget().await?;
                return Err(index.has_changed());
            }
        }
    }
}

async fn is_empty(location: &MemoryLocation) -> Result<bool> {
    let any = ValueScan::first(Pattern::all(), 1, ValuePart::Nothing);
    let found = location.driver.scan(&location.space, &any).await?;
    Ok(found.is_empty())
}

/// The next texts of an index without vectors.
async fn due_texts(index: &ValueIndex, next: u32) -> Result<DueTexts> {
    let (driver, space) = (&index.location.driver, &index.location.space);
    let mut due = DueTexts {
        next,
        ..DueTexts::default()
    };
    let (mut bytes, mut records) = (0, BTreeSet::new());
    for numbered in index.values_from(next) {
        if due.texts.len() == TEXTS || bytes >= TEXT_BYTES {
            break;
        }
        due.next = numbered.chunk + 1;
        let Some(value) = numbered.value else {
            continue;
        };
        let now = driver
            .get(&space.key(value.key.as_str()), ValuePart::Whole)
            .await?;
        // What is gone, or another value by now, is not embedded any more.
        if let Some(now) = now.filter(|now| now.version == value.version) {
            let text = text_of(&value.key, &now.value.to()?);
            let chunk = numbered.chunk;
            bytes += text.len();
            records.insert(numbered.record);
            due.texts.push(ChunkText { chunk, text });
        }
    }
    due.checks = records.iter().map(|record| index.check(*record)).collect();
    Ok(due)
}
