//! Chunks come into the index: small documents many at a time, large ones step by step, and each appears by one commit.

use super::collection_work::{SHARED_CHUNKS, WorkPlace};
use super::document_job::PreparedDocument;
use super::known_vectors::hashed;
use crate::error::{KnowledgeError, Result};
use crate::job::Job;
use crate::records::{ChunkRecord, ContentRecord, ErasureRecord, SectionMetadata, TextRecord};
use crate::stored::{self, StoredRecord, checked, put};
use ambit_search::index::{IndexChange, SearchIndex};
use ambit_search::manifest::{ChunkRange, ChunkTotals};
use ambit_search::terms::{ChunkTerms, TermCounter};
use ambit_storage::Error;
use ambit_storage::batch::BatchWrite;

/// Bytes of text in one value.
const BLOCK: usize = 1 << 20;
/// A document whose owner changes what is said of it more often while it is indexed is read again.
const RENEWALS: u32 = 16;

impl WorkPlace<'_> {
    /// The index that is made.
    pub(super) fn index(&self) -> SearchIndex {
        self.base.index(self.place(), self.index_record.version)
    }

    /// Indexes small documents by one commit; one after the other where one of them was changed meanwhile.
    pub(super) async fn index_together(&self, mut group: Vec<PreparedDocument>) -> Result<()> {
        let whole: Vec<&PreparedDocument> = group.iter().collect();
        match self.commit_together(&whole).await {
            Err(error) if error.is_race() => {}
            done => return done,
        }
        for document in &mut group {
            for _ in 0..RENEWALS {
                if !self.renew(document).await? {
                    break;
                }
                match self.commit_together(&[document]).await {
                    Err(error) if error.is_race() => {}
                    done => {
                        done?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn commit_together(&self, group: &[&PreparedDocument]) -> Result<()> {
        if group.is_empty() {
            return Ok(());
        }
        let chunks = group.iter().flat_map(|it| it.chunks.iter().cloned());
        let terms = self.terms_of(chunks.collect()).await?;
        let mut change = self.index().change().await?;
        let mut first = change.add(&terms)?.first;
        let mut lengths = terms.lengths();
        let (mut contents, mut writes) = (Vec::with_capacity(group.len()), Vec::new());
        for prepared in group {
            let (own, rest) = lengths.split_at(prepared.chunks.len());
            lengths = rest;
            let ranges = Vec::from_iter(range(first, own));
            let reused = self.reuse_vectors(&mut change, &prepared.chunks, first);
            writes.extend(reused.await?);
            first += own.len() as u32;
            contents.push(content(&prepared.chunks, ranges, own.to_vec()));
        }
        let mut addition = change.prepare()?;
        let batch = &mut addition.batch;
        batch.checks.push(self.lease.check());
        batch.writes.extend(writes);
        for (prepared, content) in group.iter().zip(contents) {
            batch
                .writes
                .extend(self.chunk_writes(&content, &prepared.chunks, 0)?);
            let (text, blocks) = text_blocks(&prepared.pending.job_id, &prepared.text);
            for (block, part) in (0..).zip(blocks) {
                batch
                    .writes
                    .push(put(self.place().text(&text.id, block), part)?);
            }
            if prepared.job.attempts > 1 {
                batch.writes.extend(self.abandoned(prepared).await?);
            }
            self.add_publication(prepared, content, text, batch).await?;
        }
        addition.commit().await?;
        Ok(())
    }

    /// Puts a large document aside step by step, then shows it. What an earlier attempt has put aside is gone on with.
    pub(super) async fn index_alone(&self, mut prepared: PreparedDocument) -> Result<()> {
        for _ in 0..RENEWALS {
            match self.stage_and_show(&prepared).await {
                Err(error) if error.is_race() => {}
                done => return done,
            }
            if !self.renew(&mut prepared).await? {
                break;
            }
        }
        Ok(())
    }

    async fn stage_and_show(&self, prepared: &PreparedDocument) -> Result<()> {
        let text = self.stage_text(prepared).await?;
        let (place, version) = (self.place(), self.index_record.version);
        let (mut lengths, mut staged_chunks) = (Vec::new(), 0);
        let job_id = &prepared.pending.job_id;
        for step in prepared.chunks.chunks(SHARED_CHUNKS) {
            let terms = self.terms_of(step.to_vec()).await?;
            let found = stored::get::<ErasureRecord>(self.base.driver(), place.staged(job_id));
            let Some(mut staged) = found.await? else {
                return Err(unwanted(job_id));
            };
            let ranges = staged.value.chunks.entry(version).or_default();
            let there: u32 = ranges.iter().map(|range| range.totals.chunks).sum();
            let first = staged_chunks;
            staged_chunks += step.len() as u32;
            lengths.extend(terms.lengths());
            if there >= staged_chunks {
                continue;
            }
            let mut change = self.index().change().await?;
            let added = change.add(&terms)?;
            ranges.push(added);
            let content = content(&[], ranges.clone(), lengths.clone());
            let number = added.first;
            let reused = self.reuse_vectors(&mut change, step, number).await?;
            let mut addition = change.prepare()?;
            let batch = &mut addition.batch;
            batch.writes.extend(reused);
            let checks = [
                staged.check(),
                prepared.document.check(),
                self.lease.check(),
            ];
            batch.checks.extend(checks);
            batch
                .writes
                .extend(self.chunk_writes(&content, step, first)?);
            let job = self.progress(prepared, staged_chunks);
            batch
                .writes
                .extend([staged.put()?, put(place.job(job_id), &job)?]);
            addition.commit().await?;
        }
        let found = stored::get::<ErasureRecord>(self.base.driver(), place.staged(job_id)).await?;
        let Some(mut staged) = found else {
            return Err(unwanted(job_id));
        };
        let mut batch = checked([staged.check(), self.lease.check()], []);
        let ranges = staged.value.chunks.remove(&version).unwrap_or_default();
        let content = content(&prepared.chunks, ranges, lengths);
        self.add_publication(prepared, content, text, &mut batch)
            .await?;
        self.base.driver().commit(batch).await?;
        Ok(())
    }

    /// Chunks with a text that has a vector get it at once; the first of them has this number.
    async fn reuse_vectors(
        &self,
        change: &mut IndexChange,
        chunks: &[ChunkRecord],
        first: u32,
    ) -> Result<Vec<BatchWrite>> {
        let record = self.index_record;
        let chunks = hashed(first, chunks);
        let known = self.known_vectors(record, &chunks).await?.vectors;
        if let Some(space) = record.space().filter(|_| !known.is_empty()) {
            change.add_vectors(&space, &known).await?;
        }
        self.vector_places(record.version, &chunks, &known)
    }

    fn progress(&self, prepared: &PreparedDocument, done: u32) -> Job {
        Job {
            step: Some("chunking".to_owned()),
            done: u64::from(done),
            total: prepared.chunks.len() as u64,
            updated_at: self.base.now(),
            ..prepared.job.clone()
        }
    }

    /// What an earlier attempt has put aside is erased where it had read something else. The record of it is written anew, or goes,
    /// by the same commit.
    async fn abandoned(&self, prepared: &PreparedDocument) -> Result<Option<BatchWrite>> {
        let (place, job_id) = (self.place(), &prepared.pending.job_id);
        let staged = stored::get::<ErasureRecord>(self.base.driver(), place.staged(job_id)).await?;
        let other = staged.filter(|staged| staged.value.digest != prepared.digest);
        let Some(StoredRecord { value: other, .. }) = other else {
            return Ok(None);
        };
        let key = place.erasure(&format!("{job_id}.{}", other.digest));
        Ok(Some(put(key, &other)?))
    }

    /// Stores what was read, in steps; from the first one on it is known what is to be erased if the job ends here.
    async fn stage_text(&self, prepared: &PreparedDocument) -> Result<TextRecord> {
        let place = self.place();
        let job_id = &prepared.pending.job_id;
        let id = format!("{job_id}.{}", prepared.digest);
        let (text, blocks) = text_blocks(&id, &prepared.text);
        let checks = || [prepared.document.check(), self.lease.check()];
        let mut begun = checked(checks(), self.abandoned(prepared).await?);
        let key = place.staged(job_id);
        let found = stored::get::<ErasureRecord>(self.base.driver(), key.clone()).await?;
        let found = found.filter(|_| begun.writes.is_empty());
        let staged = ErasureRecord {
            text: Some(text.clone()),
            digest: prepared.digest.clone(),
            ..found.map(|found| found.value).unwrap_or_default()
        };
        begun.writes.push(put(key, &staged)?);
        self.base.driver().commit(begun).await?;
        for (block, part) in (0..).zip(blocks) {
            let step = checked(checks(), [put(place.text(&text.id, block), part)?]);
            self.base.driver().commit(step).await?;
        }
        Ok(text)
    }

    pub(super) async fn terms_of(&self, chunks: Vec<ChunkRecord>) -> Result<ChunkTerms> {
        let analyzer = self.index_record.analyzer();
        let analysis = tokio::task::spawn_blocking(move || {
            let mut counter = TermCounter::new(analyzer);
            for chunk in &chunks {
                chunk.read_terms(&mut counter);
            }
            counter.take_chunks()
        });
        let ended = |error| Error::internal(format!("the terms of chunks ended early: {error}"));
        Ok(analysis.await.map_err(ended)?)
    }

    /// Chunks as values; the first of them has this place in its document.
    pub(super) fn chunk_writes(
        &self,
        content: &ContentRecord,
        chunks: &[ChunkRecord],
        first: u32,
    ) -> Result<Vec<BatchWrite>> {
        let version = self.index_record.version;
        let mut writes = Vec::with_capacity(chunks.len());
        for (place, chunk) in (first..).zip(chunks) {
            let number = content.number(place);
            let number = number.ok_or_else(|| Error::internal("a chunk has no number"))?;
            writes.push(put(self.place().chunk(version, number), chunk)?);
        }
        Ok(writes)
    }
}

/// Chunks side by side, as a range; nothing where there are none.
pub(super) fn range(first: u32, lengths: &[u32]) -> Option<ChunkRange> {
    let totals = ChunkTotals {
        chunks: lengths.len() as u32,
        length: lengths.iter().map(|length| u64::from(*length)).sum(),
    };
    (totals.chunks > 0).then_some(ChunkRange { first, totals })
}

/// What a document has in the index.
pub(super) fn content(
    chunks: &[ChunkRecord],
    ranges: Vec<ChunkRange>,
    lengths: Vec<u32>,
) -> ContentRecord {
    let mut sections: Vec<SectionMetadata> = Vec::new();
    for (from, chunk) in (0..).zip(chunks) {
        let last = sections.last().map(|section| &section.metadata);
        if last.map_or(!chunk.metadata.is_empty(), |last| *last != chunk.metadata) {
            let metadata = chunk.metadata.clone();
            sections.push(SectionMetadata { from, metadata });
        }
    }
    ContentRecord {
        ranges,
        lengths,
        ids: chunks.iter().map(|it| it.chunk.id.clone()).collect(),
        sections,
        text: None,
    }
}

/// A text in blocks, none of which cuts a character.
fn text_blocks<'a>(id: &str, text: &'a str) -> (TextRecord, Vec<&'a str>) {
    let (mut blocks, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (block, others) = rest.split_at(rest.floor_char_boundary(BLOCK));
        blocks.push(block);
        rest = others;
    }
    let record = TextRecord {
        id: id.to_owned(),
        blocks: blocks.len() as u32,
    };
    (record, blocks)
}

/// The document was replaced or removed meanwhile: this job is not wanted any more.
fn unwanted(job_id: &str) -> KnowledgeError {
    KnowledgeError::race(format!("job {job_id}"))
}
