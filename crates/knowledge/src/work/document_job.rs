//! The job of one document up to its chunks: begun, read, cut.

use super::collection_work::{WaitingItem, WorkPlace};
use super::reading::ReadFile;
use crate::document::DocumentStatus;
use crate::error::Result;
use crate::job::{Job, JobStatus};
use crate::names::{self, DocumentKey};
use crate::records::{ChunkRecord, DocumentRecord, PendingContent, QueueRecord};
use crate::sources::ForeignFile;
use crate::spooled_file::SpooledFile;
use crate::stored::{self, StoredRecord, checked, put};
use crate::sums::{Sum, Sums, add_to_sums};
use ambit_extract::ExtractedDocument;
use ambit_search::chunker::{BlockKind, Section, TextBlock, chunks};
use ambit_storage::Error;
use ambit_storage::address::digest;
use ambit_storage::batch::WriteOutcome;
use serde_json::{Map, Value};

/// A job whose node died so often is given up.
pub(super) const ATTEMPTS: u32 = 3;
/// Hex digits of the digest of what was read.
const DIGEST: usize = 16;

/// A document that has been read and is to be indexed.
pub(super) struct PreparedDocument {
    pub key: DocumentKey,
    /// As it will be.
    pub document: StoredRecord<DocumentRecord>,
    /// What it says of itself.
    pub own_metadata: Map<String, Value>,
    pub pending: PendingContent,
    pub job: Job,
    /// What was read of it, as it is stored.
    pub text: String,
    /// Of the text, and of how it is cut: another attempt may read something else.
    pub digest: String,
    pub chunks: Vec<ChunkRecord>,
}

/// A document whose job has begun.
struct BegunDocument {
    key: DocumentKey,
    document: StoredRecord<DocumentRecord>,
    pending: PendingContent,
    job: Job,
}

impl WorkPlace<'_> {
    /// Reads a document and cuts it into chunks. Nothing where it has no such job any more, or cannot be read; then that is
    /// written down.
    pub(super) async fn prepare(
        &self,
        waiting: WaitingItem<QueueRecord>,
    ) -> Result<Option<PreparedDocument>> {
        let attempts = waiting.record.value.attempts;
        let Some(begun) = self.begin(&waiting).await? else {
            return Ok(None);
        };
        let read = if attempts >= ATTEMPTS {
            let reason = format!("given up: whoever read it died {ATTEMPTS} times");
            Err(reason)
        } else {
            self.read(&begun).await?
        };
        let prepared = match read {
            Ok(file) => self.cut(&begun, file).await?,
            Err(reason) => Err(reason),
        };
        match prepared {
            Ok(prepared) => Ok(Some(prepared)),
            Err(reason) => {
                self.fail(begun, &reason).await?;
                Ok(None)
            }
        }
    }

    async fn begin(&self, waiting: &WaitingItem<QueueRecord>) -> Result<Option<BegunDocument>> {
        let (base, place) = (self.base, self.place());
        let key = waiting.record.value.document.clone();
        let stored = stored::get::<DocumentRecord>(base.driver(), place.document(&key)).await?;
        let job = stored::get::<Job>(base.driver(), place.job(&waiting.id)).await?;
        let (Some(mut document), Some(job)) = (stored, job) else {
            return Ok(None);
        };
        let pending = document.value.pending.clone();
        let Some(pending) = pending.filter(|pending| pending.job_id == waiting.id) else {
            return Ok(None);
        };
        document.value.document.status = DocumentStatus::Extracting;
        let job = Job {
            status: JobStatus::Running,
            step: Some("extracting".to_owned()),
            attempts: waiting.record.value.attempts + 1,
            updated_at: base.now(),
            ..job.value
        };
        let queued = QueueRecord {
            attempts: job.attempts,
            ..waiting.record.value.clone()
        };
        let batch = checked(
            [document.check(), self.lease.check()],
            [
                document.put()?,
                put(place.queued(&waiting.id), &queued)?,
                put(place.job(&waiting.id), &job)?,
            ],
        );
        let outcomes = match base.driver().commit(batch).await {
            Ok(outcomes) => outcomes,
            // It was replaced or removed just now.
            Err(Error::Conflict { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if let Some(WriteOutcome::Applied { version, .. }) = outcomes.first() {
            document.version = version.unwrap_or_default();
        }
        Ok(Some(BegunDocument {
            key,
            document,
            pending,
            job,
        }))
    }

    /// What its file holds, or why it cannot be read.
    async fn read(&self, begun: &BegunDocument) -> Result<std::result::Result<ReadFile, String>> {
        let pending = &begun.pending;
        let (content, media_type) = match &pending.url {
            None => {
                let file = self.base.source(self.place(), &pending.source()).await?;
                (file, pending.media_type.clone())
            }
            Some(url) => match self.fetch(url).await {
                Ok((bytes, media_type)) => (SpooledFile::from(bytes), media_type),
                Err(reason) => return Ok(Err(reason)),
            },
        };
        let file = ForeignFile {
            name: pending.name.clone(),
            media_type,
            url: pending.url.clone(),
            content,
        };
        Ok(self.base.read(file, &self.collection.value.owner()).await)
    }

    /// Takes over what was said of a document since it was read. False where this job is not wanted any more.
    pub(super) async fn renew(&self, prepared: &mut PreparedDocument) -> Result<bool> {
        let (driver, place) = (self.base.driver(), self.place());
        if stored::get::<bool>(driver, place.removed())
            .await?
            .is_some()
        {
            return Ok(false);
        }
        let now = stored::get::<DocumentRecord>(driver, place.document(&prepared.key)).await?;
        let is_wanted = |now: &StoredRecord<DocumentRecord>| {
            let pending = now.value.pending.as_ref();
            pending.is_some_and(|it| it.job_id == prepared.pending.job_id)
        };
        let Some(now) = now.filter(is_wanted) else {
            return Ok(false);
        };
        prepared.document.version = now.version;
        let record = &mut prepared.document.value;
        (record.given, record.stamp) = (now.value.given, now.value.stamp);
        record.document.access = now.value.document.access;
        let given_name = now.value.pending.and_then(|pending| pending.given_name);
        if let Some(name) = given_name {
            record.document.name = name;
        }
        record.document.metadata.clone_from(&prepared.own_metadata);
        record.document.metadata.extend(record.given.clone());
        Ok(true)
    }

    async fn fetch(&self, url: &str) -> std::result::Result<(Vec<u8>, Option<String>), String> {
        let Some(fetcher) = &self.base.settings().fetcher else {
            return Err(format!(
                "{url} cannot be fetched: there is no fetcher (set uses.fetch)"
            ));
        };
        let page = fetcher.fetch(url, &self.collection.value.owner()).await?;
        let limit = self.base.settings().limits.file;
        if page.bytes.len() as u64 > limit {
            return Err(format!("{url} has more than {limit} bytes"));
        }
        Ok((page.bytes, page.media_type))
    }

    /// The chunks of a document, and the document as it will be; or why it cannot be indexed.
    async fn cut(
        &self,
        begun: &BegunDocument,
        file: ReadFile,
    ) -> Result<std::result::Result<PreparedDocument, String>> {
        let extracted = file.extracted;
        let mut document = begun.document.clone();
        let shown = &mut document.value.document;
        shown.title = extracted
            .title
            .clone()
            .unwrap_or_else(|| begun.pending.shown_name().clone());
        shown.name.clone_from(begun.pending.shown_name());
        shown.media_type.clone_from(&begun.pending.media_type);
        shown.url.clone_from(&begun.pending.url);
        shown.format = file.format.map(str::to_owned);
        shown.language.clone_from(&extracted.language);
        shown.pages = extracted.pages;
        shown.warnings.clone_from(&extracted.warnings);
        let own_metadata = extracted.metadata.clone();
        shown.metadata.clone_from(&own_metadata);
        shown.metadata.extend(document.value.given.clone());
        (shown.hash, shown.bytes) = (file.hash, file.bytes);
        document.value.reindexed = None;
        document.value.has_no_vectors = false;
        let shown = &document.value.document;
        let title = shown.title.clone();
        let id = shown.document_id.clone();
        let settings = self.index_record.chunk.settings()?;
        let now = self.base.now();
        let cutting = tokio::task::spawn_blocking(move || {
            let chunks = chunk_records(&id, &extracted, settings, &title, now);
            let text = serde_json::to_string(&extracted);
            (chunks, text)
        });
        let ended =
            |error| Error::internal(format!("the cutting of a document ended early: {error}"));
        let (chunks, text) = cutting.await.map_err(ended)?;
        let text = text.map_err(|error| Error::internal(error.to_string()))?;
        let cut = format!("{:?} {}", settings, document.value.document.title);
        let mut digest = digest(&[&text, &cut]);
        digest.truncate(DIGEST);
        let no_room = self.no_room(begun, chunks.len() as u64, text.len() as u64);
        if let Some(reason) = no_room.await? {
            return Ok(Err(reason));
        }
        document.value.document.chunks = chunks.len() as u64;
        Ok(Ok(PreparedDocument {
            key: begun.key.clone(),
            document,
            own_metadata,
            pending: begun.pending.clone(),
            job: begun.job.clone(),
            text,
            digest,
            chunks,
        }))
    }

    /// Why there is no room for so many chunks and bytes of text in the place of what a document has.
    async fn no_room(
        &self,
        begun: &BegunDocument,
        chunks: u64,
        text: u64,
    ) -> Result<Option<String>> {
        let driver = self.base.driver();
        let limits = &self.base.settings().limits;
        let record = &begun.document.value;
        let sums = Sums::read(driver, self.place().sums()).await?;
        let others = sums.get(Sum::Chunks).saturating_sub(record.document.chunks);
        let reason = limits.no_room_for_chunks("it", chunks, others);
        if reason.is_some() {
            return Ok(reason);
        }
        // The app's files are no tenant's.
        let Some(tenant) = self.place().tenant.as_deref() else {
            return Ok(None);
        };
        let sums = Sums::read(driver, names::tenant_sums(Some(tenant))).await?;
        let own = record.counted + begun.pending.bytes;
        let others = sums.get(Sum::Bytes).saturating_sub(own);
        let most = limits.bytes;
        let reason =
            || format!("the tenant has room for {most} bytes of text (ambit.search.limits.bytes)");
        Ok((others + text > most).then(reason))
    }

    /// Writes down that a document cannot be read. What it was before stays.
    async fn fail(&self, begun: BegunDocument, reason: &str) -> Result<()> {
        let place = self.place();
        let mut document = begun.document;
        let called_off = self.base.superseded(place, &begun.key, &document.value);
        let mut batch = called_off.await?;
        let record = &mut document.value;
        record.pending = None;
        record.has_no_vectors = false;
        record.document.status = DocumentStatus::Failed;
        record.document.error = Some(reason.to_owned());
        record.document.updated_at = self.base.now();
        let job = Job {
            status: JobStatus::Failed,
            error: Some(reason.to_owned()),
            updated_at: self.base.now(),
            ..begun.job
        };
        let checks = [document.check(), self.lease.check(), place.not_removed()];
        batch.checks.extend(checks);
        batch.writes.extend([
            document.put()?,
            put(place.job(&job.job_id), &job)?,
            add_to_sums(place.sums(), &[Sum::Failed.more(1)])?,
        ]);
        match self.base.driver().commit(batch).await {
            Ok(_) | Err(Error::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl PendingContent {
    /// What the document is called behind its job.
    fn shown_name(&self) -> &String {
        self.given_name.as_ref().unwrap_or(&self.name)
    }
}

/// The chunks of what was read, as they are stored.
pub(super) fn chunk_records(
    id: &str,
    extracted: &ExtractedDocument,
    settings: ambit_search::chunker::ChunkSettings,
    title: &str,
    now: i64,
) -> Vec<ChunkRecord> {
    let sections: Vec<Section> = extracted.sections.iter().map(section).collect();
    let chunks = chunks(id, &extracted.text, &sections, settings);
    let records = chunks.into_iter().map(|chunk| ChunkRecord {
        title: title.to_owned(),
        metadata: extracted.sections[chunk.section].metadata.clone(),
        created_at: now,
        chunk,
    });
    records.collect()
}

/// A section as the chunker knows it.
fn section(section: &ambit_extract::Section) -> Section {
    let blocks = section.blocks.iter().map(|block| TextBlock {
        kind: match block.kind {
            ambit_extract::BlockKind::Paragraph | ambit_extract::BlockKind::ListItem => {
                BlockKind::Paragraph
            }
            ambit_extract::BlockKind::Code => BlockKind::Code,
            ambit_extract::BlockKind::TableRow => BlockKind::TableRow,
        },
        range: block.range.clone(),
        header: block.header.clone(),
    });
    Section {
        heading: section.heading.clone(),
        page: section.page,
        blocks: blocks.collect(),
    }
}
