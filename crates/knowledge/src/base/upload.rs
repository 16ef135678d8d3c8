//! Files on their way into a document, kept in blocks until they are read.

use super::KnowledgeBase;
use crate::document::NewContent;
use crate::error::{KnowledgeError, Result, Size};
use crate::names::CollectionPlace;
use crate::records::{CollectionRecord, ErasureRecord, PendingContent, TextRecord, WorkRecord};
use crate::spooled_file::{FileSpool, SpooledFile};
use crate::stored::{self, NAME_BYTES, StoredRecord, check_size, checked, delete, put};
use ambit_storage::Error;
use ambit_storage::batch::BatchWrite;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Bytes of an upload in one value: small, as several copies of it exist while it is stored or read.
const BLOCK: usize = 768 << 10;
/// Milliseconds that storing an upload takes at most.
const LONGEST_UPLOAD: i64 = 60 * 60 * 1000;

/// What a caller wants to add, looked at once.
pub(super) struct Upload {
    pub pending: PendingContent,
    /// None where it is a page that is to be fetched.
    file: Option<SpooledFile>,
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
                media_type,
                hash: file.hash().to_owned(),
                bytes,
                blocks: bytes.div_ceil(BLOCK as u64) as u32,
                url: None,
            },
            file: Some(file),
        })
    }

    /// The writes that store an upload with its document. Of a large one all blocks are stored before: what no document names
    /// an hour later is erased.
    pub(super) async fn store_source(
        &self,
        collection: &StoredRecord<CollectionRecord>,
        upload: &Upload,
    ) -> Result<Vec<BatchWrite>> {
        let Some(file) = upload.file.as_ref().filter(|file| file.bytes() > 0) else {
            return Ok(Vec::new());
        };
        let (place, job_id) = (&collection.value.place, &upload.pending.job_id);
        if upload.pending.blocks == 1 {
            return Ok(vec![block(place, upload, file, 0).await?]);
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
        for number in 0..upload.pending.blocks {
            let block = block(place, upload, file, number).await?;
            let batch = checked([collection.check()], [block]);
            self.driver().commit(batch).await?;
        }
        Ok(vec![delete(key)])
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
