//! Files on their way into a document, kept in blocks until they are read.

use super::KnowledgeBase;
use crate::document::NewContent;
use crate::error::{KnowledgeError, Result, Size};
use crate::names::CollectionPlace;
use crate::records::{CollectionRecord, ErasureRecord, PendingContent, TextRecord, WorkRecord};
use crate::stored::{self, StoredRecord, checked, delete, put};
use ambit_storage::Error;
use ambit_storage::address::hex;
use ambit_storage::batch::BatchWrite;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};

/// Bytes of an upload in one value.
const BLOCK: usize = 3 << 20;
/// Milliseconds that storing an upload takes at most.
const LONGEST_UPLOAD: i64 = 60 * 60 * 1000;

/// What a caller wants to add, looked at once.
pub(super) struct Upload {
    pub pending: PendingContent,
    /// The upload, in blocks.
    pub bytes: Vec<u8>,
}

impl KnowledgeBase {
    pub(super) fn upload(&self, content: NewContent) -> Result<Upload> {
        let job_id = self.new_id();
        let (name, media_type, url, bytes) = match content {
            NewContent::File {
                name,
                media_type,
                bytes,
            } => (name, media_type, None, bytes),
            NewContent::Url(url) => (url.clone(), None, Some(url), Vec::new()),
        };
        let size = bytes.len() as u64;
        let limit = self.settings().limits.file;
        let of = |count| Size {
            count,
            unit: "bytes",
        };
        if size > limit {
            return Err(KnowledgeError::TooLarge {
                what: format!("file \"{name}\""),
                actual: of(size),
                limit: of(limit),
            });
        }
        Ok(Upload {
            pending: PendingContent {
                job_id,
                name,
                media_type,
                hash: if url.is_some() {
                    String::new()
                } else {
                    hex(&Sha256::digest(&bytes))
                },
                bytes: size,
                blocks: bytes.len().div_ceil(BLOCK) as u32,
                url,
            },
            bytes,
        })
    }

    /// The writes that store an upload with its document. Of a large one all blocks are stored before: what no document names
    /// an hour later is erased.
    pub(super) async fn store_source(
        &self,
        collection: &StoredRecord<CollectionRecord>,
        upload: &Upload,
    ) -> Result<Vec<BatchWrite>> {
        let (place, job_id) = (&collection.value.place, &upload.pending.job_id);
        let block = |number, bytes: &[u8]| {
            let key = place.source(job_id, number);
            put(key, &STANDARD_NO_PAD.encode(bytes))
        };
        if upload.bytes.len() <= BLOCK {
            let blocks = upload.bytes.chunks(BLOCK).map(|bytes| block(0, bytes));
            return Ok(blocks.collect::<ambit_storage::Result<_>>()?);
        }
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
        self.driver().commit(batch).await?;
        for (number, bytes) in (0..).zip(upload.bytes.chunks(BLOCK)) {
            let batch = checked([collection.check()], [block(number, bytes)?]);
            self.driver().commit(batch).await?;
        }
        Ok(vec![delete(key)])
    }

    /// The bytes of an upload.
    pub(crate) async fn source(
        &self,
        place: &CollectionPlace,
        source: &TextRecord,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(source.blocks as usize * BLOCK);
        for block in 0..source.blocks {
            self.read_block(place, source, block, &mut bytes).await?;
        }
        Ok(bytes)
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
