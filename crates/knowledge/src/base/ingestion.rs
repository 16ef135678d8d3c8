//! Content comes in: limits are judged before anything is stored, then document, job and upload are one commit.

mod addition;

use super::lookup::{AccessKind, FoundDocument};
use super::quota::{NewSums, QuotaSnapshot, TenantRoom};
use super::upload::Upload;
use super::{KnowledgeBase, retried};
use crate::document::{AcceptedDocument, Document, DocumentStatus, DocumentUpdate};
use crate::error::Result;
use crate::job::{Job, JobKind};
use crate::reach::KnowledgeReach;
use crate::records::{DocumentRecord, FileStamp, PendingContent, QueueRecord, WorkRecord};
use crate::stored::{METADATA_BYTES, NAME_BYTES, check_size, checked, count_one, put};
use crate::sums::{Sum, Sums, add_to_sums};
use ambit_storage::batch::{Batch, BatchCheck};
use serde_json::{Map, Value};

/// Who brings content in.
pub(super) struct Contributor<'a> {
    pub reach: &'a dyn KnowledgeReach,
    pub access: AccessKind,
    /// The file that it comes from, where it is one of the app's.
    pub stamp: Option<FileStamp>,
}

impl<'a> Contributor<'a> {
    /// A caller, who brings content of their own.
    pub fn caller(reach: &'a dyn KnowledgeReach) -> Self {
        Self {
            reach,
            access: AccessKind::Change,
            stamp: None,
        }
    }
}

impl KnowledgeBase {
    /// Refuses changes of a document that the caller may not change, and returns the room of its tenant.
    pub async fn check_change(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<TenantRoom> {
        let found = self.find_document(reach, id, AccessKind::Change).await?;
        let tenant = found.collection.value.place.tenant_sums();
        Ok(self.room(Sums::read(self.driver(), tenant).await?))
    }

    /// Changes a document. With new content it is searched as it was until the new one is there as a whole; equal content
    /// changes nothing.
    pub async fn update_document(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        update: DocumentUpdate,
    ) -> Result<AcceptedDocument> {
        let by = Contributor::caller(reach);
        self.update(&by, id, update).await
    }

    pub(super) async fn update(
        &self,
        by: &Contributor<'_>,
        id: &str,
        mut update: DocumentUpdate,
    ) -> Result<AcceptedDocument> {
        check_metadata(update.metadata.as_ref().unwrap_or(&Map::new()))?;
        check_size("access of a document", &update.access, METADATA_BYTES)?;
        check_size("name of a document", &update.name, NAME_BYTES)?;
        let content = update.content.take();
        let upload = content.map(|content| self.upload(content));
        let mut upload = upload.transpose()?;
        if let Some(upload) = &mut upload {
            upload.pending.given_name.clone_from(&update.name);
        }
        let _turn = self.shared.ingestion.lock().await;
        retried!(async {
            let mut found = self.find_document(by.reach, id, by.access).await?;
            let record = &mut found.document.value;
            let before = record.clone();
            apply(&update, record);
            let has_changed = *record != before;
            record.stamp = by.stamp;
            if has_changed {
                record.document.updated_at = self.now();
            }
            let job_id = match &upload {
                Some(upload) if !is_same(&found.document.value, upload) => {
                    self.replace(by, &found, upload).await?;
                    Some(upload.pending.job_id.clone())
                }
                _ if found.document.value == before => None,
                _ => {
                    let place = &found.collection.value.place;
                    let checks = [found.collection.check(), found.document.check()];
                    let is_restricted = found.document.value.document.access.is_some();
                    let mut writes = vec![found.document.put()?];
                    if has_changed {
                        let sums = add_to_sums(
                            place.sums(),
                            &[Sum::Restricted.more(u64::from(is_restricted))],
                        )?;
                        writes.extend([count_one(place.changes()), sums]);
                    }
                    let batch = checked(checks, writes);
                    self.driver().commit(batch).await?;
                    None
                }
            };
            Ok(AcceptedDocument {
                document_id: id.to_owned(),
                job_id,
            })
        })
        .inspect(|_| self.wake())
    }

    /// The new content waits beside the old one.
    async fn replace(
        &self,
        by: &Contributor<'_>,
        found: &FoundDocument,
        upload: &Upload,
    ) -> Result<()> {
        let collection = &found.collection.value.place.id;
        let wanted = NewSums {
            documents: 0,
            ..NewSums::of(1, upload.pending.bytes)
        };
        let free = self.quota(by, collection, &wanted).await?;
        let place = &free.collection.value.place;
        let source = self.store_source(&free.collection, upload).await?;
        let mut record = found.document.value.clone();
        let before = self.superseded(place, &found.key, &record).await?;
        record.document.status = DocumentStatus::Queued;
        record.document.error = None;
        record.document.job_id = Some(upload.pending.job_id.clone());
        let mut batch = self.queued(&free, record, upload)?;
        batch.checks.push(found.document.check());
        for more in [before, source] {
            batch.checks.extend(more.checks);
            batch.writes.extend(more.writes);
        }
        let has_failed = found.document.value.document.status == DocumentStatus::Failed;
        let changes = [
            Sum::Waiting.more(1),
            Sum::Failed.less(u64::from(has_failed)),
        ];
        let sums = add_to_sums(place.sums(), &changes)?;
        batch.writes.extend([sums, count_one(place.changes())]);
        self.driver().commit(batch).await?;
        Ok(())
    }

    /// The document and its job, as they are stored with whatever else goes with them.
    fn queued(
        &self,
        free: &QuotaSnapshot,
        mut record: DocumentRecord,
        upload: &Upload,
    ) -> Result<Batch> {
        let place = &free.collection.value.place;
        let tenant = place.tenant_sums();
        let pending = upload.pending.clone();
        let (job_id, reserved) = (pending.job_id.clone(), pending.bytes);
        let queued = QueueRecord {
            document: record.key(),
            attempts: 0,
        };
        let job = Job {
            document_id: Some(record.document.document_id.clone()),
            ..self.new_job(&job_id, JobKind::Document, &place.id)
        };
        let bytes = Sum::Bytes.more(reserved);
        let restricted = Sum::Restricted.more(u64::from(record.document.access.is_some()));
        record.pending = Some(pending);
        let checks = [
            free.collection.check(),
            BatchCheck::version(place.sums(), free.sums.version),
            BatchCheck::version(tenant.clone(), free.tenant_sums.version),
        ];
        let writes = [
            put(place.document(&queued.document), &record)?,
            put(place.queued(&job_id), &queued)?,
            put(place.job(&job_id), &job)?,
            put(place.work(), &WorkRecord::of(place))?,
            add_to_sums(tenant, &[Sum::Jobs.more(1), bytes])?,
            add_to_sums(place.sums(), &[bytes, restricted])?,
        ];
        Ok(checked(checks, writes))
    }

    fn new_document(
        &self,
        id: &str,
        collection: &str,
        reach: &dyn KnowledgeReach,
        pending: &PendingContent,
    ) -> Document {
        let now = self.now();
        Document {
            document_id: id.to_owned(),
            collection_id: collection.to_owned(),
            name: pending.name.clone(),
            title: pending.name.clone(),
            format: None,
            media_type: pending.media_type.clone(),
            bytes: pending.bytes,
            hash: pending.hash.clone(),
            status: DocumentStatus::Queued,
            error: None,
            warnings: Vec::new(),
            job_id: Some(pending.job_id.clone()),
            done: 0,
            total: 0,
            chunks: 0,
            pages: None,
            language: None,
            url: pending.url.clone(),
            metadata: Map::new(),
            access: None,
            created_by: reach.user().map(str::to_owned),
            created_at: now,
            updated_at: now,
            indexed_at: None,
        }
    }
}

/// Whether a document has this content already, be its vectors there or not.
fn is_same(record: &DocumentRecord, upload: &Upload) -> bool {
    let (document, pending) = (&record.document, &upload.pending);
    let is_read = [DocumentStatus::Embedding, DocumentStatus::Ready].contains(&document.status);
    let is_there = is_read && record.pending.is_none();
    is_there && pending.url.is_none() && document.hash == pending.hash
}

fn apply(update: &DocumentUpdate, record: &mut DocumentRecord) {
    if let Some(name) = &update.name {
        record.document.name.clone_from(name);
        if let Some(pending) = &mut record.pending {
            pending.given_name = Some(name.clone());
        }
    }
    if let Some(given) = &update.metadata {
        for key in record.given.keys() {
            record.document.metadata.remove(key);
        }
        record.given.clone_from(given);
        record.document.metadata.extend(given.clone());
    }
    if let Some(access) = &update.access {
        record.document.access.clone_from(access);
    }
}

fn check_metadata(metadata: &Map<String, Value>) -> Result<()> {
    check_size("metadata of a document", metadata, METADATA_BYTES)
}
