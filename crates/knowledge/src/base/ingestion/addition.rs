//! Documents are added, several of them by one commit.

use super::{Contributor, check_metadata};
use crate::base::lookup::FoundDocument;
use crate::base::quota::{NewSums, QuotaSnapshot};
use crate::base::upload::{BLOCK, StoredBlocks, Upload};
use crate::base::{KnowledgeBase, retried};
use crate::document::{AcceptedDocument, Document, NewDocument};
use crate::error::{KnowledgeError, Result};
use crate::names::{CollectionPlace, DocumentPlace};
use crate::reach::KnowledgeReach;
use crate::records::DocumentRecord;
use crate::stored::{METADATA_BYTES, check_size, put};
use crate::sums::{Sum, add_to_sums};
use ambit_storage::batch::{Batch, BatchCheck};

/// The longest id of a document, in bytes.
const LONGEST_ID: usize = 1024;

/// A document that is to be added, of which nothing is stored yet.
struct CheckedDocument {
    record: DocumentRecord,
    upload: Upload,
}

impl KnowledgeBase {
    /// Adds a document. It is found once its job is done.
    pub async fn add_document(
        &self,
        reach: &dyn KnowledgeReach,
        collection: &str,
        new: NewDocument,
    ) -> Result<AcceptedDocument> {
        let by = Contributor::caller(reach);
        self.add(&by, collection, new).await
    }

    /// Adds documents of different ids, all of them or none.
    pub async fn add_documents(
        &self,
        reach: &dyn KnowledgeReach,
        collection: &str,
        new: Vec<NewDocument>,
    ) -> Result<Vec<AcceptedDocument>> {
        let by = Contributor::caller(reach);
        let all = new
            .into_iter()
            .map(|new| self.prepared(&by, collection, new))
            .collect::<Result<Vec<CheckedDocument>>>()?;
        self.add_all(&by, collection, &all).await?;
        Ok(all.iter().map(CheckedDocument::accepted).collect())
    }

    pub(in crate::base) async fn add(
        &self,
        by: &Contributor<'_>,
        collection: &str,
        new: NewDocument,
    ) -> Result<AcceptedDocument> {
        let new = self.prepared(by, collection, new)?;
        let all = std::slice::from_ref(&new);
        self.add_all(by, collection, all).await?;
        Ok(new.accepted())
    }

    fn prepared(
        &self,
        by: &Contributor<'_>,
        collection: &str,
        new: NewDocument,
    ) -> Result<CheckedDocument> {
        let id = new.id.unwrap_or_else(|| self.new_id());
        check_document_id(&id)?;
        check_metadata(&new.metadata)?;
        check_size("access of a document", &new.access, METADATA_BYTES)?;
        let upload = self.upload(new.content)?;
        let document = Document {
            metadata: new.metadata.clone(),
            access: new.access,
            ..self.new_document(&id, collection, by.reach, &upload.pending)
        };
        let record = DocumentRecord {
            document,
            order: self.new_id(),
            given: new.metadata,
            text: None,
            file: None,
            counted: 0,
            pending: None,
            stamp: by.stamp,
            reindexed: None,
            has_no_vectors: false,
        };
        Ok(CheckedDocument { record, upload })
    }

    /// Stores documents and their jobs by one commit.
    async fn add_all(
        &self,
        by: &Contributor<'_>,
        collection: &str,
        all: &[CheckedDocument],
    ) -> Result<()> {
        let bytes: u64 = all.iter().map(|new| new.upload.pending.bytes).sum();
        let wanted = NewSums::of(all.len() as u64, bytes);
        let ahead: Option<StoredBlocks> = match bytes > BLOCK as u64 {
            true => Some(self.store_ahead(by, collection, &wanted, all).await?),
            false => None,
        };
        let _turn = self.shared.ingestion.lock().await;
        let stored: Result<()> = retried!(async {
            let free = self.quota(by, collection, &wanted).await?;
            let place = &free.collection.value.place;
            let mut batch = match &ahead {
                None => Batch::default(),
                Some(blocks) if blocks.place == *place => blocks.batch.clone(),
                // It was removed meanwhile, and another one made.
                Some(_) => return Err(KnowledgeError::not_found("collection", collection)),
            };
            for new in all {
                self.check_is_new(by, place, &new.record).await?;
                if ahead.is_none() {
                    batch.writes.extend(new.upload.only_block(place).await?);
                }
                let added = self.added(&free, new)?;
                batch.checks.extend(added.checks);
                batch.writes.extend(added.writes);
            }
            self.driver().commit(batch).await?;
            Ok(())
        });
        stored?;
        self.wake();
        Ok(())
    }

    /// Stores the files of documents that are too large for one commit, where there is room for them.
    async fn store_ahead(
        &self,
        by: &Contributor<'_>,
        collection: &str,
        wanted: &NewSums,
        all: &[CheckedDocument],
    ) -> Result<StoredBlocks> {
        let free = self.quota(by, collection, wanted).await?;
        let place = free.collection.value.place;
        for new in all {
            self.check_is_new(by, &place, &new.record).await?;
        }
        let mut batch = Batch::default();
        for new in all {
            let stored = retried!(async {
                let found = self.find_collection(by.reach, collection, by.access);
                let found = found.await?;
                match found.value.place == place {
                    true => self.store_blocks(&found, &new.upload).await,
                    false => Err(KnowledgeError::not_found("collection", collection)),
                }
            })?;
            batch.checks.extend(stored.checks);
            batch.writes.extend(stored.writes);
        }
        Ok(StoredBlocks { place, batch })
    }

    /// A new document and its job, as they are stored beside its file.
    fn added(&self, free: &QuotaSnapshot, new: &CheckedDocument) -> Result<Batch> {
        let place = &free.collection.value.place;
        let mut batch = self.queued(free, new.record.clone(), &new.upload)?;
        let there = DocumentPlace {
            collection: place.clone(),
            document: new.record.key(),
        };
        let id = &new.record.document.document_id;
        let key = place.document_place(&there.document, id);
        batch.checks.push(BatchCheck::version(key.clone(), None));
        batch.writes.push(put(key, &there)?);
        let sums = [Sum::Documents.more(1), Sum::Waiting.more(1)];
        batch.writes.push(add_to_sums(place.sums(), &sums)?);
        Ok(batch)
    }

    /// Refuses an id that the caller sees in use. One that others use unseen is free, so that nobody learns of it.
    async fn check_is_new(
        &self,
        by: &Contributor<'_>,
        place: &CollectionPlace,
        new: &DocumentRecord,
    ) -> Result<()> {
        let id = &new.document.document_id;
        let there = self.documents_of(place.tenant.as_deref(), id).await?;
        let is_same = |found: &FoundDocument| {
            found.collection.value.place == *place && found.key == new.key()
        };
        let mut there = there.iter();
        if there.any(|found| found.is_visible(by.reach) || is_same(found)) {
            let reason = format!("document \"{id}\" is there already, replace it by PUT");
            return Err(KnowledgeError::Conflict { reason });
        }
        Ok(())
    }
}

impl CheckedDocument {
    fn accepted(&self) -> AcceptedDocument {
        AcceptedDocument {
            document_id: self.record.document.document_id.clone(),
            job_id: Some(self.upload.pending.job_id.clone()),
        }
    }
}

fn check_document_id(id: &str) -> Result<()> {
    let is_plain = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains(char::is_control);
    if is_plain {
        return Ok(());
    }
    let reason = format!("must be 1 to {LONGEST_ID} bytes without control characters");
    Err(KnowledgeError::invalid("document id", reason))
}
