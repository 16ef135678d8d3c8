//! Files on their way into a document, kept in blocks until they are read.

use super::KnowledgeBase;
use crate::document::NewContent;
use crate::error::{KnowledgeError, Result, Size};
use crate::names::CollectionPlace;
use crate::records::{CollectionRecord, ErasureRecord, PendingContent, TextRecord, WorkRecord};
use crate::spooled_file::{FileSpool, SpooledFile};
use crate::stored::{self, NAME_BYTES, StoredRecord, check_size, checked, delete, put};
use ambit_storage::Error;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Bytes of an upload in one value: small, as several copies of it exist while it is stored or read.
pub(super) const BLOCK: usize = 768 << 10;
/// Milliseconds that storing an upload takes at most.
const LONGEST_UPLOAD: i64 = 60 * 60 * 1000;

/// What a caller wants to add, looked at once.
pub(super) struct Upload {
    pub pending: PendingContent,
    /// None where it is a page that is to be fetched.
    file: Option<SpooledFile>,
}

/// Uploads whose blocks are there before their documents.
pub(super) struct StoredBlocks {
    pub place: CollectionPlace,
    /// Keeps the blocks, committed with their documents.
    pub batch: Batch,
}

impl Upload {
    /// The write of an upload that has one block; none where it has nothing.
    pub async fn only_block(&self, place: &CollectionPlace) -> Result<Option<BatchWrite>> {
        match self.file.as_ref().filter(|file| file.bytes() > 0) {
            Some(file) => Ok(Some(block(place, self, file, 0).await?)),
            None => Ok(None),
        }
    }
}

impl KnowledgeBase {
    pub(super) fn upload(&self, content: NewContent) -> Result<Upload> {
        let job_id = self.new_id();
        let (name, media_type, file) = match content {
            NewContent::File {
                name,
                media_type,
                content,
            } => (name, media_type, content),
            NewContent::Url(url) => {
                check_size("url of a document", &url, NAME_BYTES)?;
                let pending = PendingContent {
                    job_id,
                    name: url.clone(),
                    given_name: None,
                    media_type: None,
                    hash: String::new(),
                    bytes: 0,
                    blocks: 0,
                    url: Some(url),
                };
                return Ok(Upload {
                    pending,
                    file: None,
                });
            }
        };
        check_size("name of a document", &name, NAME_BYTES)?;
        let (bytes, limit) = (file.bytes(), self.settings().limits.file);
        let of = |count| Size {
            count,
            unit: "bytes",
        };
        if bytes > limit {
            return Err(KnowledgeError::TooLarge {
                what: format!("file \"{name}\""),
                actual: of(bytes),
                limit: of(limit),
            });
        }
        Ok(Upload {
            pending: PendingContent {
                job_id,
                name,
                given_name: None,
                media_type,
                hash: file.hash().to_owned(),
                bytes,
                blocks: bytes.div_ceil(BLOCK as u64) as u32,
                url: None,
            },
            file: Some(file),
        })
    }

    /// What stores an upload with its document. Of a large one all blocks are stored before.
    pub(super) async fn store_source(
        &self,
        collection: &StoredRecord<CollectionRecord>,
        upload: &Upload,
    ) -> Result<Batch> {
        if upload.pending.blocks > 1 {
            return self.store_blocks(collection, upload).await;
        }
        let only = upload.only_block(&collection.value.place).await?;
        Ok(Batch::of(only))
    }

    /// Stores all blocks of an upload, and returns the batch by which they stay, as long as they are there: what no document names
    /// an hour later is erased.
    pub(super) async fn store_blocks(
        &self,
        collection: &StoredRecord<CollectionRecord>,
        upload: &Upload,
    ) -> Result<Batch> {
        let Some(file) = upload.file.as_ref().filter(|file| file.bytes() > 0) else {
            return Ok(Batch::default());
        };
        let (place, job_id) = (&collection.value.place, &upload.pending.job_id);
        let abandoned = ErasureRecord {
            sources: vec![upload.pending.source()],
            not_before: self.now() + LONGEST_UPLOAD,
            ..ErasureRecord::default()
        };
        let key = place.erasure(job_id);
        let writes = [
            put(key.clone(), &abandoned)?,
            put(place.work(), &WorkRecord::of(place))?,
        ];
        let batch = checked([collection.check()], writes);
        let version = match self.driver().commit(batch).await?.first() {
            Some(WriteOutcome::Applied { version, .. }) => *version,
            _ => None,
        };
        for number in 0..upload.pending.blocks {
            let block = block(place, upload, file, number).await?;
            let batch = checked([collection.check()], [block]);
            self.driver().commit(batch).await?;
        }
        let is_there = BatchCheck::version(key.clone(), version);
        Ok(checked([is_there], [delete(key)]))
    }

    /// An upload.
    pub(crate) async fn source(
        &self,
        place: &CollectionPlace,
        source: &TextRecord,
    ) -> Result<SpooledFile> {
        let mut spool = FileSpool::default();
        let mut bytes = Vec::new();
        for block in 0..source.blocks {
            bytes.clear();
            self.read_block(place, source, block, &mut bytes).await?;
            spool.write(&bytes).await?;
        }
        spool.finish().await
    }

    /// Reads a part of an upload behind what there is.
    pub(super) async fn read_block(
        &self,
        place: &CollectionPlace,
        source: &TextRecord,
        block: u32,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let key = place.source(&source.id, block);
        let what = key.to_string();
        let text = stored::get::<String>(self.driver(), key).await?;
        let lost = || Error::corrupt(what.clone(), "a block of an upload is lost");
        let text = text.ok_or_else(lost)?.value;
        let decoded = STANDARD_NO_PAD.decode_vec(text, bytes);
        Ok(decoded.map_err(|error| Error::corrupt(&what, error))?)
    }
}

/// The write of a block of an upload.
async fn block(
    place: &CollectionPlace,
    upload: &Upload,
    file: &SpooledFile,
    number: u32,
) -> Result<BatchWrite> {
    let key = place.source(&upload.pending.job_id, number);
    let bytes = file.part(u64::from(number) * BLOCK as u64, BLOCK).await?;
    Ok(put(key, &STANDARD_NO_PAD.encode(bytes))?)
}
