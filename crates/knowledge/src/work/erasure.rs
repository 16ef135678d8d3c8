//! What was removed or replaced is erased, byte by byte.

use super::collection_work::{WaitingItem, WorkPlace};
use crate::base::{KnowledgeBase, retried};
use crate::error::Result;
use crate::index_record::IndexRecord;
use crate::job::{Job, JobKind, JobStatus};
use crate::names::{
    CollectionPlace, DocumentKey, ERASURES, feedback_prefix, ratings_prefix, source_prefix,
    text_prefix,
};
use crate::rating::RatingsRecord;
use crate::records::{
    ChunkRecord, DocumentRecord, ErasureRecord, GoneChunks, RemovalRecord, WorkRecord,
};
use crate::stored::{self, StoredRecord, checked, delete};
use ambit_search::index::ChunkErasure;
use ambit_search::manifest::ChunkRange;
use ambit_search::terms::{ChunkTerms, TermCounter};
use ambit_storage::Json;
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::{ValuePages, ValuePart, ValueScan};
use ambit_storage::lease::Lease;
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use std::collections::HashSet;

/// So many values are deleted by one commit.
const STEP: usize = 500;
/// So many ranges of chunks are erased together, of at most 250 chunks each: each erasure writes most pages of a large document anew.
const TOGETHER: usize = 4;
/// A removal that is done is known for so long.
const KNOWN: i64 = 60 * 60 * 1000;

impl WorkPlace<'_> {
    /// Erases what a task names. It can be gone on with from wherever it was left.
    pub(super) async fn erase(&self, task: &WaitingItem<ErasureRecord>) -> Result<()> {
        let place = self.place();
        let key = place.erasure(&task.id);
        while let Some(mut stored) =
            stored::get::<ErasureRecord>(self.base.driver(), key.clone()).await?
        {
            // What an index had that is gone by now went with it.
            let chunks = &mut stored.value.chunks;
            chunks
                .retain(|version, ranges| !ranges.is_empty() && self.made_with(*version).is_some());
            if let Some(mut ranges) = chunks.last_entry() {
                let version = *ranges.key();
                let left = ranges.get_mut().len().saturating_sub(TOGETHER);
                let mut together = ranges.get_mut().split_off(left);
                together.sort_unstable_by_key(|range| range.first);
                self.erase_chunks(version, together, &stored).await?;
                continue;
            }
            if let Some(version) = stored.value.index {
                self.erase_index(version).await?;
            }
            if let Some(gone) = &stored.value.gone {
                self.erase_ratings(gone).await?;
            }
            if let Some(document) = &stored.value.document {
                let said = format!("{}*", feedback_prefix(&document.key, None));
                let (space, said) = (place.values(), Pattern::parse(&said));
                self.base.erase_values(&space, said, self.lease).await?;
            }
            self.end_erasure(&task.id, &stored).await?;
        }
        Ok(())
    }

    /// Erases chunks; the task without them is part of the commit that erases the last of them.
    async fn erase_chunks(
        &self,
        version: u32,
        ranges: Vec<ChunkRange>,
        task: &StoredRecord<ErasureRecord>,
    ) -> Result<()> {
        let place = self.place();
        let index = self.base.index(place, version);
        let mut change = index.change().await?;
        ranges.iter().for_each(|range| change.hide(range));
        let mut hiding = change.batch()?;
        hiding.checks.extend([task.check(), self.lease.check()]);
        self.base.driver().commit(hiding).await?;
        let made_with = self.made_with(version);
        let mut counter = made_with.map(|record| TermCounter::new(record.analyzer()));
        let mut beside = checked([task.check(), self.lease.check()], [task.put()?]);
        for number in ranges.iter().flat_map(ChunkRange::numbers) {
            let key = place.chunk(version, number);
            if let Some(chunk) = stored::get::<ChunkRecord>(self.base.driver(), key).await? {
                if let Some(counter) = &mut counter {
                    chunk.value.read_terms(counter);
                }
                let hash = &chunk.value.chunk.hash;
                let vector = delete(place.vector_place(version, hash, number));
                beside.writes.extend([delete(chunk.key), vector]);
            }
        }
        let read = counter.map(|mut it| it.take_chunks());
        let terms = read.iter().flat_map(ChunkTerms::terms);
        let erasure = ChunkErasure {
            ranges,
            terms: Some(terms.map(str::to_owned).collect()),
        };
        index.erase(&erasure, &beside).await?;
        Ok(())
    }

    /// What is thought and said of chunks that are gone goes with them.
    pub(super) async fn erase_ratings(&self, gone: &GoneChunks) -> Result<()> {
        if gone.ids.is_empty() {
            return Ok(());
        }
        let serving = self.collection.value.index.version;
        let now = self.base.content(self.place(), serving, &gone.document);
        let now = now.await?.map(|now| now.value.ids).unwrap_or_default();
        let there: HashSet<&String> = now.iter().collect();
        let ids = gone.ids.iter().filter(|id| !there.contains(id));
        let ids: HashSet<&str> = ids.map(String::as_str).collect();
        self.erase_feedback(&gone.document, &ids).await?;
        let (space, prefix) = (self.place().values(), ratings_prefix(&gone.document));
        let names = stored::entries(self.base.driver(), &space, &prefix, ValuePart::Nothing);
        for (name, _) in names.await? {
            let key = space.key(format!("{prefix}{name}"));
            // Whoever says something meanwhile writes there too.
            retried!(self.erase_ratings_at(&key, &ids))?;
        }
        Ok(())
    }

    async fn erase_ratings_at(&self, key: &ValueKey, gone: &HashSet<&str>) -> Result<()> {
        let found = stored::get::<RatingsRecord>(self.base.driver(), key.clone()).await?;
        let Some(mut ratings) = found else {
            return Ok(());
        };
        let chunks = &mut ratings.value.chunks;
        let before = chunks.len();
        chunks.retain(|id, _| !gone.contains(id.as_str()));
        if chunks.len() < before {
            let checks = [ratings.check(), self.lease.check()];
            let batch = checked(checks, [ratings.put()?]);
            self.base.driver().commit(batch).await?;
        }
        Ok(())
    }

    /// Erases the votes on chunks and the uses of them, also where nothing counts them any more: whoever says something of another
    /// chunk leaves out of the sums what is gone.
    async fn erase_feedback(&self, document: &DocumentKey, gone: &HashSet<&str>) -> Result<()> {
        let (space, prefix) = (self.place().values(), feedback_prefix(document, None));
        let all = Pattern::parse(&format!("{prefix}*"));
        let mut pages = ValuePages::of(self.base.driver(), &space, all, ValuePart::Nothing);
        while let Some(page) = pages.next().await? {
            let is_gone = |name: &String| {
                let chunk = name[prefix.len()..].split('/').next();
                chunk.is_some_and(|chunk| gone.contains(chunk))
            };
            let names = page.into_iter().map(|(name, _)| name).filter(is_gone);
            let mut erased = Batch::of(names.map(|name| delete(space.key(name))));
            if !erased.writes.is_empty() {
                erased.checks.push(self.lease.check());
                self.base.driver().commit(erased).await?;
            }
        }
        Ok(())
    }

    /// What an index is made with; none where it is gone.
    fn made_with(&self, version: u32) -> Option<&IndexRecord> {
        let mut indexes = self.collection.value.indexes();
        indexes.find(|index| index.version == version)
    }

    /// Texts and uploads go, and with them the task.
    async fn end_erasure(&self, id: &str, task: &StoredRecord<ErasureRecord>) -> Result<()> {
        let (place, driver) = (self.place(), self.base.driver());
        let checks = || [task.check(), self.lease.check()];
        let mut last = checked(checks(), self.last_wipes(&task.value));
        if let Some(document) = &task.value.document {
            // The removal is done once the store has answered that nothing is left.
            driver.commit(last).await?;
            let done = self.base.removal_done(place, &document.job_id)?;
            last = checked(checks(), [done]);
        }
        last.writes.push(delete(place.erasure(id)));
        driver.commit(last).await?;
        Ok(())
    }

    /// The last that is erased of what was removed or replaced is wiped, which stores know for a removal: of it and of what was
    /// deleted before no byte is left. The upload of a document that stays is no such thing, or each that is added would cost a
    /// removal.
    fn last_wipes(&self, task: &ErasureRecord) -> Vec<BatchWrite> {
        let place = self.place();
        let wipe = |prefix: String| BatchWrite::Wipe {
            space: place.values(),
            pattern: Pattern::starting_with(prefix),
        };
        let texts = task.text.iter().map(|text| wipe(text_prefix(&text.id)));
        let mut writes: Vec<BatchWrite> = texts.collect();
        for source in &task.sources {
            match task.gone {
                None => writes.push(wipe(source_prefix(&source.id))),
                Some(_) => {
                    let blocks = 0..source.blocks;
                    writes.extend(blocks.map(|block| delete(place.source(&source.id, block))));
                }
            }
        }
        let document = task.document.iter();
        writes.extend(document.map(|document| wipe(ratings_prefix(&document.key))));
        writes
    }
}

impl KnowledgeBase {
    /// The job of a removal as it is known when it is over: it names nothing of what is gone.
    fn removal_done(&self, place: &CollectionPlace, job_id: &str) -> Result<BatchWrite> {
        let job = Job {
            status: JobStatus::Done,
            ..self.new_job(job_id, JobKind::Remove, &place.id)
        };
        let set = Operation::Set(Json::of(&job)?.into());
        Ok(BatchWrite::apply(place.job(job_id), set, Some(KNOWN)))
    }

    /// Deletes the values of a space whose names match, in steps.
    pub(super) async fn erase_values(
        &self,
        space: &Space,
        pattern: Pattern,
        lease: &Lease,
    ) -> Result<()> {
        let scan = ValueScan::first(pattern, STEP, ValuePart::Nothing);
        loop {
            let found = self.driver().scan(space, &scan).await?;
            let is_over = found.len() < STEP;
            let names = found.into_iter().map(|(name, _)| delete(space.key(name)));
            let batch = checked([lease.check()], names);
            self.driver().commit(batch).await?;
            if is_over {
                return Ok(());
            }
        }
    }

    /// Removes a space, what is in it in steps.
    pub(super) async fn erase_space(&self, space: Space, lease: &Lease) -> Result<()> {
        self.erase_values(&space, Pattern::all(), lease).await?;
        let whole = checked([lease.check()], [BatchWrite::Remove { space }]);
        self.driver().commit(whole).await?;
        Ok(())
    }

    /// Notes which removals of documents are under way, so that they end once all is erased.
    async fn note_removals(
        &self,
        work: &StoredRecord<WorkRecord>,
        removal: &RemovalRecord,
        lease: &Lease,
    ) -> Result<()> {
        let space = work.value.place.values();
        let erasures: Vec<ErasureRecord> = stored::all(self.driver(), &space, ERASURES).await?;
        let documents = erasures.into_iter().filter_map(|erasure| erasure.document);
        let mut noted = work.clone();
        noted.value.removal = Some(RemovalRecord {
            others: Some(documents.map(|document| document.job_id).collect()),
            ..removal.clone()
        });
        let checks = [work.check(), lease.check()];
        self.driver()
            .commit(checked(checks, [noted.put()?]))
            .await?;
        Ok(())
    }

    /// Erases all of a collection that was removed, in steps.
    pub(super) async fn erase_collection(
        &self,
        work: &StoredRecord<WorkRecord>,
        removal: &RemovalRecord,
        lease: &Lease,
    ) -> Result<()> {
        let place = &work.value.place;
        let Some(others) = &removal.others else {
            return self.note_removals(work, removal, lease).await;
        };
        for record in self.document_records(place).await? {
            let key = record.key();
            let DocumentRecord { document, .. } = record;
            let known = place.document_place(&key, &document.document_id);
            let mut gone = checked(
                [lease.check()],
                [delete(place.document(&key)), delete(known)],
            );
            gone.writes
                .extend(document.job_id.map(|job| delete(place.job(&job))));
            self.driver().commit(gone).await?;
        }
        let indexes = (1..=removal.version).map(|version| place.index(version));
        for space in indexes.chain([place.values()]) {
            self.erase_space(space, lease).await?;
        }
        for others in others.chunks(STEP) {
            let done = others.iter().map(|job| self.removal_done(place, job));
            let done = checked([lease.check()], done.collect::<Result<Vec<_>>>()?);
            self.driver().commit(done).await?;
        }
        let done = self.removal_done(place, &removal.job_id)?;
        let batch = checked(
            [work.check(), lease.check()],
            [delete(work.key.clone()), done],
        );
        self.driver().commit(batch).await?;
        Ok(())
    }
}
