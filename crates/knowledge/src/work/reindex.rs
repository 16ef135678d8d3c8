//! An index is made anew beside the one that is searched, document by document, and then takes its place by one commit.

use super::collection_work::{SHARED_CHUNKS, WaitingItem, WorkPlace};
use super::document_job::chunk_records;
use super::indexing::{content, range};
use crate::error::Result;
use crate::index_record::{ReindexRecord, ReindexedDocument};
use crate::job::{Job, JobStatus};
use crate::names::{DOCUMENTS, DocumentKey, content_prefix, reindex_prefix};
use crate::records::{ChunkRecord, ContentRecord, DocumentRecord, ErasureRecord, VectorTask};
use crate::reindex_records::ReindexTask;
use crate::stored::{self, StoredRecord, count_one, delete, put};
use crate::sums::{Sum, Sums, add_to_sums};
use ambit_search::index::PreparedCommit;
use ambit_search::manifest::ChunkRange;
use ambit_storage::Error;
use ambit_storage::batch::{Batch, BatchCheck};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;

/// The collection of a re-index, and what is made.
pub(super) struct ReindexPlace<'a> {
    /// Its index is the new one.
    pub work: WorkPlace<'a>,
    pub reindex: &'a ReindexRecord,
}

/// A document on its way into the new index.
struct ReindexDocument {
    key: DocumentKey,
    document: StoredRecord<DocumentRecord>,
    /// All of its chunks.
    chunks: Vec<ChunkRecord>,
    /// What the new index has of it.
    content: ContentRecord,
    /// What the new index has of a text that it had before.
    outdated: Vec<ChunkRange>,
    warnings: Vec<String>,
}

impl<'a> WorkPlace<'a> {
    /// Does some of a re-index. False where none is under way, or where its time has not come.
    pub(super) async fn reindex_some(&self) -> Result<bool> {
        let Some(reindex) = &self.collection.value.reindex else {
            return Ok(false);
        };
        let index_record = &reindex.index;
        let work: WorkPlace<'a> = WorkPlace {
            index_record,
            ..*self
        };
        match (ReindexPlace { work, reindex }).step().await {
            // A document, the collection or the re-index was changed first: the next round looks at it again.
            Err(error) if error.is_race() => Ok(true),
            done => done,
        }
    }
}

impl ReindexPlace<'_> {
    async fn step(&self) -> Result<bool> {
        if !self.reindex.is_listed {
            self.attempt(self.list_documents()).await?;
            return Ok(true);
        }
        let prefix = reindex_prefix(self.version());
        let tasks = self.work.base.waiting(self.work.place(), &prefix, |_| true);
        let tasks: Vec<WaitingItem<ReindexTask>> = tasks.await?;
        let (embedding, wordless): (Vec<_>, Vec<_>) = tasks
            .into_iter()
            .partition(|task| task.record.value.vectors.is_some());
        if !wordless.is_empty() {
            self.attempt(self.index_words(wordless)).await?;
        } else if let Some(task) = embedding.into_iter().next() {
            if !self.embed(task).await? {
                return Ok(false);
            }
        } else {
            self.switch().await?;
            return Ok(true);
        }
        let index = self.work.index();
        while index.keep_up().await? {}
        Ok(true)
    }

    pub(super) fn version(&self) -> u32 {
        self.reindex.index.version
    }

    /// What holds as long as the re-index goes on, and here.
    pub(super) fn checks(&self) -> [BatchCheck; 2] {
        [self.work.collection.check(), self.work.lease.check()]
    }

    pub(super) async fn commit(&self, mut batch: Batch) -> Result<()> {
        batch.checks.extend(self.checks());
        self.work.base.driver().commit(batch).await?;
        Ok(())
    }

    /// The same for what is added to the index.
    pub(super) async fn commit_addition(&self, mut addition: PreparedCommit) -> Result<()> {
        addition.batch.checks.extend(self.checks());
        addition.commit().await?;
        Ok(())
    }

    /// Gives each document its task. Those that get another text from now on get theirs with it.
    async fn list_documents(&self) -> Result<()> {
        let place = self.work.place();
        let (space, documents) = (place.values(), Pattern::parse(&format!("{DOCUMENTS}*")));
        let driver = self.work.base.driver();
        let mut pages = ValuePages::of(driver, &space, documents, ValuePart::Nothing);
        let mut total = 0;
        while let Some(page) = pages.next().await? {
            let mut batch = Batch::default();
            total += page.len() as u64;
            for (name, _) in page {
                let key = DocumentKey::named(&name[DOCUMENTS.len()..]);
                let task = place.reindex_task(self.version(), &key);
                batch.writes.push(put(task, &ReindexTask::default())?);
            }
            self.commit(batch).await?;
        }
        let mut collection = self.work.collection.clone();
        if let Some(reindex) = &mut collection.value.reindex {
            reindex.is_listed = true;
        }
        let job = Job {
            status: JobStatus::Running,
            step: Some("chunking".to_owned()),
            total,
            updated_at: self.work.base.now(),
            ..self.job().await?
        };
        let writes = [collection.put()?, put(place.job(&job.job_id), &job)?];
        self.commit(Batch::of(writes)).await
    }

    pub(super) async fn job(&self) -> Result<Job> {
        let key = self.work.place().job(&self.reindex.job_id);
        let stored = stored::get::<Job>(self.work.base.driver(), key).await?;
        let lost = || Error::corrupt(&self.reindex.job_id, "the job of a re-index is lost");
        Ok(stored.ok_or_else(lost)?.value)
    }

    /// Puts the words of documents into the new index: small ones together, large ones step by step.
    async fn index_words(&self, tasks: Vec<WaitingItem<ReindexTask>>) -> Result<()> {
        let mut group: Vec<ReindexDocument> = Vec::new();
        for task in tasks {
            let Some(document) = self.read(&task.id).await? else {
                continue;
            };
            if let Some(reason) = self.too_many(&document).await? {
                return self.fail(reason).await;
            }
            if document.missing() > SHARED_CHUNKS {
                let mut alone = [document];
                while alone[0].missing() > 0 {
                    self.add(&mut alone).await?;
                }
                continue;
            }
            let chunks: usize = group.iter().map(ReindexDocument::missing).sum();
            if chunks + document.missing() > SHARED_CHUNKS {
                self.add(&mut group).await?;
                group.clear();
            }
            group.push(document);
        }
        self.add(&mut group).await
    }

    /// The chunks of a document, and how many of them are there. Nothing where there is no such text.
    async fn read(&self, name: &str) -> Result<Option<ReindexDocument>> {
        let (base, place) = (self.work.base, self.work.place());
        let key = DocumentKey::named(name);
        let stored = stored::get::<DocumentRecord>(base.driver(), place.document(&key)).await?;
        let text = stored.as_ref().and_then(|it| it.value.text.clone());
        let (Some(document), Some(text)) = (stored, text) else {
            let over = delete(place.reindex_task(self.version(), &key));
            self.commit(Batch::of([over])).await?;
            return Ok(None);
        };
        let extracted = base.extracted(place, &text).await?;
        let warnings = extracted.warnings.clone();
        let settings = self.work.index_record.chunk.settings()?;
        let shown = &document.value.document;
        let (id, title, now) = (shown.document_id.clone(), shown.title.clone(), base.now());
        let cutting = tokio::task::spawn_blocking(move || {
            chunk_records(&id, &extracted, settings, &title, now)
        });
        let ended =
            |error| Error::internal(format!("the cutting of a document ended early: {error}"));
        let chunks = cutting.await.map_err(ended)?;
        let there = base.content(place, self.version(), &key).await?;
        let there = there.map(|there| there.value).unwrap_or_default();
        let mut read = ReindexDocument {
            key,
            document,
            chunks,
            content: there,
            outdated: Vec::new(),
            warnings,
        };
        if read.content.text.as_ref() != Some(&text.id) {
            let before = std::mem::take(&mut read.content);
            read.outdated = before.ranges;
            read.content.text = Some(text.id);
        }
        Ok(Some(read))
    }

    /// Why a document does not fit.
    async fn too_many(&self, document: &ReindexDocument) -> Result<Option<String>> {
        let snapshot = self.work.index().snapshot().await?;
        let there = u64::from(snapshot.manifest.totals.chunks) + document.missing() as u64;
        let chunks = document.chunks.len() as u64;
        let id = &document.document.value.document.document_id;
        let what = format!("document \"{id}\"");
        let limits = &self.work.base.settings().limits;
        Ok(limits.no_room_for_chunks(&what, chunks, there.saturating_sub(chunks)))
    }

    /// Adds the next chunks of documents by one commit.
    async fn add(&self, group: &mut [ReindexDocument]) -> Result<()> {
        if group.is_empty() {
            return Ok(());
        }
        let steps: Vec<std::ops::Range<usize>> = group.iter().map(ReindexDocument::next).collect();
        let chunks = group.iter().zip(&steps);
        let chunks = chunks.flat_map(|(document, step)| &document.chunks[step.clone()]);
        let terms = self.work.terms_of(chunks.cloned().collect()).await?;
        let mut change = self.work.index().change().await?;
        let mut first = change.add(&terms)?.first;
        let mut lengths = terms.lengths();
        let mut addition = change.prepare()?;
        let mut whole = 0;
        for (document, step) in group.iter_mut().zip(steps) {
            let (own, rest) = lengths.split_at(step.len());
            lengths = rest;
            document.grow(first, own);
            first += own.len() as u32;
            whole += u64::from(self.write(document, step, &mut addition.batch)?);
        }
        self.write_progress(whole, "chunking", &mut addition.batch)
            .await?;
        self.commit_addition(addition).await
    }

    /// Writes the newest chunks of a document. True where all is done for it.
    fn write(
        &self,
        document: &mut ReindexDocument,
        step: std::ops::Range<usize>,
        batch: &mut Batch,
    ) -> Result<bool> {
        let (work, version) = (&self.work, self.version());
        let (place, content) = (work.place(), &document.content);
        let task = place.reindex_task(version, &document.key);
        let newest = &document.chunks[step.clone()];
        let newest = work.chunk_writes(content, newest, step.start as u32)?;
        batch.checks.push(document.document.check());
        batch.writes.extend(newest);
        batch
            .writes
            .push(put(place.content(version, &document.key), content)?);
        if !document.outdated.is_empty() {
            let outdated = std::mem::take(&mut document.outdated);
            let erasure = ErasureRecord {
                chunks: [(version, outdated)].into(),
                ..ErasureRecord::default()
            };
            let id = work.base.new_id();
            batch.writes.push(put(place.erasure(&id), &erasure)?);
        }
        if document.missing() > 0 {
            return Ok(false);
        }
        let serving = work.collection.value.index.version;
        let record = &mut document.document.value;
        record.settle(serving);
        record.reindexed = Some(ReindexedDocument {
            version,
            chunks: document.chunks.len() as u64,
            warnings: document.warnings.clone(),
        });
        batch.writes.push(document.document.put()?);
        let gets_vectors = work.index_record.embedding.is_some() && !document.chunks.is_empty();
        let vectors = gets_vectors.then(|| VectorTask::new(&self.reindex.job_id, work.base.now()));
        batch.writes.push(match vectors {
            Some(_) => put(task, &ReindexTask { vectors })?,
            None => delete(task),
        });
        Ok(!gets_vectors)
    }

    pub(super) async fn write_progress(
        &self,
        whole: u64,
        step: &str,
        batch: &mut Batch,
    ) -> Result<()> {
        let mut job = self.job().await?;
        // One that is replaced meanwhile is done twice.
        job.done = (job.done + whole).min(job.total);
        job.step = Some(step.to_owned());
        job.updated_at = self.work.base.now();
        let key = self.work.place().job(&job.job_id);
        batch.writes.push(put(key, &job)?);
        Ok(())
    }

    /// The commit from which on the new index is searched.
    async fn switch(&self) -> Result<()> {
        let (base, place) = (self.work.base, self.work.place());
        let sums = Sums::read(base.driver(), place.sums()).await?;
        let chunks = self.chunks().await?;
        let mut collection = self.work.collection.clone();
        let record = &mut collection.value;
        record.reindex = None;
        record.index = self.reindex.index.clone();
        let old = self.work.collection.value.index.version;
        let job = self.job().await?;
        let job = Job {
            status: JobStatus::Done,
            step: None,
            done: job.total,
            attempts: job.attempts + 1,
            updated_at: base.now(),
            ..job
        };
        let more = Sum::Chunks.changed(sums.get(Sum::Chunks), chunks);
        let mut batch = Batch::of([
            collection.put()?,
            count_one(place.changes()),
            add_to_sums(place.sums(), &[more])?,
        ]);
        // A document that is removed meanwhile changes the sums.
        batch
            .checks
            .push(BatchCheck::version(place.sums(), sums.version));
        batch
            .writes
            .extend(base.end_reindex(&collection.value, &job, old)?);
        self.commit(batch).await
    }

    /// How many chunks the new index has.
    async fn chunks(&self) -> Result<u64> {
        let space = self.work.place().values();
        let contents = Pattern::parse(&format!("{}*", content_prefix(self.version())));
        let driver = self.work.base.driver();
        let mut pages = ValuePages::of(driver, &space, contents, ValuePart::Whole);
        let mut chunks = 0;
        while let Some(page) = pages.next().await? {
            for (_, entry) in page {
                chunks += u64::from(entry.value.to::<ContentRecord>()?.chunks());
            }
        }
        Ok(chunks)
    }

    /// The re-index cannot be done: the collection stays as it is, and the job says why.
    pub(super) async fn fail(&self, reason: String) -> Result<()> {
        let mut collection = self.work.collection.clone();
        let (base, failed) = (self.work.base, JobStatus::Failed);
        let ended = base.abandon_reindex(&mut collection.value, failed, Some(reason));
        let mut batch = Batch::of(ended.await?);
        batch.writes.push(collection.put()?);
        self.commit(batch).await
    }
}

impl ReindexDocument {
    /// How many of its chunks are not there.
    fn missing(&self) -> usize {
        self.chunks.len().saturating_sub(self.content.ids.len())
    }

    /// The chunks that come next.
    fn next(&self) -> std::ops::Range<usize> {
        let there = self.content.ids.len().min(self.chunks.len());
        there..there + self.missing().min(SHARED_CHUNKS)
    }

    /// Counts its next chunks, of which the first has this number.
    fn grow(&mut self, first: u32, lengths: &[u32]) {
        let before = std::mem::take(&mut self.content);
        let (mut ranges, mut all) = (before.ranges, before.lengths);
        ranges.extend(range(first, lengths));
        all.extend(lengths);
        let chunks = &self.chunks[..all.len()];
        self.content = ContentRecord {
            text: before.text,
            ..content(chunks, ranges, all)
        };
    }
}
