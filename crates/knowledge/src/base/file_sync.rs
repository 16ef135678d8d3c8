//! Collections of the app's files: made as their definitions say, and their documents equal to the files.

use super::ingestion::Contributor;
use super::lookup::AccessKind;
use super::{KnowledgeBase, retried};
use crate::collection::{Collection, NewCollection, check_collection_id};
use crate::document::{Document, DocumentUpdate, NewContent, NewDocument};
use crate::error::{KnowledgeError, Result};
use crate::files::{CollectionFiles, FileEntry, SyncReport};
use crate::index_record::IndexRecord;
use crate::job::JobStatus;
use crate::names::{self, CollectionPlace, DocumentKey};
use crate::reach::KnowledgeReach;
use crate::records::{CollectionRecord, DocumentRecord, FileStamp};
use crate::spooled_file::FileSpool;
use crate::stored::{self, StoredRecord, checked, delete, put};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::driver::ValuePart;
use ambit_storage::lease::{Lease, OnBusy};
use ambit_storage::operation::Operation;
use ambit_storage::{Error, Json, ids};
use std::collections::HashMap;

/// What a node says of a collection holds for so many milliseconds.
const DEFINED: i64 = 3 * 60 * 1000;

/// The app itself, which keeps its own files.
struct AppReach;

impl KnowledgeReach for AppReach {
    fn tenant(&self) -> &str {
        ""
    }

    fn user(&self) -> Option<&str> {
        None
    }

    fn team(&self) -> Option<&str> {
        None
    }

    fn may_use(&self, _: &Collection) -> bool {
        true
    }

    fn may_change(&self, _: &Collection) -> bool {
        true
    }

    fn may_read(&self, _: &Document) -> bool {
        true
    }
}

impl KnowledgeBase {
    /// Makes a collection of the app as its file says, and its documents equal to its files: new and changed ones are read, those that
    /// are gone are removed, all others stay untouched. Nothing is done where another node is at it.
    pub async fn sync(
        &self,
        definition: &NewCollection,
        files: &dyn CollectionFiles,
    ) -> Result<Option<SyncReport>> {
        let record = self.defined(definition).await?;
        let place = &record.place;
        let driver = self.settings().driver.clone();
        let lease = match Lease::take(driver, place.files_lease(), OnBusy::Reject).await {
            Ok(lease) => lease,
            Err(Error::Busy { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let report = self.compare(place, files).await;
        match lease.release().await {
            Ok(()) | Err(Error::Fenced { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.wake();
        report.map(Some)
    }

    /// Says that the files of this node define these collections of the app, which is to be said again each minute, and removes
    /// those that the files of no node define: while an app is brought to another version, nodes have different files.
    pub async fn keep_file_collections(&self, ids: &[&str]) -> Result<()> {
        let node = &self.shared.node;
        let said = ids.iter().map(|id| {
            let set = Operation::Set(Json::of(&true)?.into());
            let key = names::definition(id, node);
            Ok(BatchWrite::apply(key, set, Some(DEFINED)))
        });
        let said: Vec<BatchWrite> = said.collect::<ambit_storage::Result<_>>()?;
        if !said.is_empty() {
            self.driver().commit(Batch::of(said)).await?;
        }
        for record in self.collection_records(None).await? {
            let id = record.place.id.as_str();
            if ids.contains(&id) {
                continue;
            }
            let unsaid = Batch::of([delete(names::definition(id, node))]);
            self.driver().commit(unsaid).await?;
            let (space, prefix) = (Space::collections(None), names::definitions(id));
            let others = stored::entries(self.driver(), &space, &prefix, ValuePart::Nothing);
            if !others.await?.is_empty() {
                continue;
            }
            let job_id = self.new_id();
            retried!(async {
                match self.collection_record(None, id).await? {
                    Some(found) => self.drop_collection(&found, &job_id).await,
                    None => Ok(()),
                }
            })?;
        }
        self.wake();
        Ok(())
    }

    /// Whether these collections of the app are all there: a node that was away may have lost some to one that has other files.
    pub async fn has_file_collections(&self, ids: &[&str]) -> Result<bool> {
        for id in ids {
            if self.collection_record(None, id).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The collection of a definition, made or changed where it is not as that says.
    async fn defined(&self, definition: &NewCollection) -> Result<CollectionRecord> {
        check_collection_id(&definition.id)?;
        retried!(async {
            let known = self.collection_record(None, &definition.id).await?;
            let place = CollectionPlace {
                tenant: None,
                id: definition.id.clone(),
                key: ids::unguessable(),
            };
            let place = known
                .as_ref()
                .map_or(place, |known| known.value.place.clone());
            let mut record = CollectionRecord::new(place, definition.clone(), self.now())?;
            let mut writes = Vec::new();
            if let Some(known) = &known {
                let wanted = record.continues(&known.value);
                writes = self.index_as_defined(&mut record, wanted).await?;
                if record == known.value {
                    return Ok(record);
                }
                record.updated_at = self.now();
            }
            let key = names::collection(None, &definition.id);
            let version = known.map(|known: StoredRecord<_>| known.version);
            let check = BatchCheck::version(key.clone(), version);
            let mut batch = checked([check], [put(key, &record)?]);
            batch.writes.extend(writes);
            self.driver().commit(batch).await?;
            Ok(record)
        })
    }

    /// Lets the index of a collection become what its file says, where it neither is nor becomes that.
    async fn index_as_defined(
        &self,
        record: &mut CollectionRecord,
        wanted: IndexRecord,
    ) -> Result<Vec<BatchWrite>> {
        let becomes = record.reindex.as_ref().map(|reindex| &reindex.index);
        if becomes.unwrap_or(&record.index).is_made_like(&wanted) {
            return Ok(Vec::new());
        }
        let cancelled = JobStatus::Cancelled;
        let mut writes = self.abandon_reindex(record, cancelled, None).await?;
        if !record.index.is_made_like(&wanted) {
            let (_, begun) = self.begin_reindex(record, wanted)?;
            writes.extend(begun);
        }
        Ok(writes)
    }

    async fn compare(
        &self,
        place: &CollectionPlace,
        files: &dyn CollectionFiles,
    ) -> Result<SyncReport> {
        let records = self.document_records(place).await?.into_iter();
        let mut known: HashMap<String, DocumentRecord> = records
            .map(|record| (record.document.document_id.clone(), record))
            .collect();
        let listed = files
            .list()
            .await
            .map_err(|error| unreadable(&place.id, &error))?;
        let mut report = SyncReport::default();
        for file in listed {
            let id = format!("{}:{}", place.id, file.path);
            let before = known.remove(&id);
            match self.take_in(&id, &file, before.as_ref(), files).await {
                Ok(FileChange::New) => report.added += 1,
                Ok(FileChange::Changed) => report.changed += 1,
                Ok(FileChange::Same) => report.unchanged += 1,
                Err(error @ KnowledgeError::Store(_)) => return Err(error),
                Err(error) => report.failed.push((file.path, error.to_string())),
            }
        }
        for id in known.into_keys() {
            self.drop_file(place, &id).await?;
            report.removed += 1;
        }
        Ok(report)
    }
}

impl KnowledgeBase {
    /// Reads a file, if it may have changed, and takes in what it holds, if that is something else.
    async fn take_in(
        &self,
        id: &str,
        file: &FileEntry,
        before: Option<&DocumentRecord>,
        files: &dyn CollectionFiles,
    ) -> Result<FileChange> {
        let stamp = Some(FileStamp {
            size: file.size,
            modified: file.modified,
        });
        if before.is_some_and(|before| before.stamp == stamp) {
            return Ok(FileChange::Same);
        }
        let mut spool = FileSpool::default();
        let read = files.read(&file.path, &mut spool).await;
        read.map_err(|error| unreadable(&file.path, &error))?;
        let by = Contributor {
            reach: &AppReach,
            access: AccessKind::AppFiles,
            stamp,
        };
        let content = NewContent::File {
            name: file.path.clone(),
            media_type: None,
            content: spool.finish().await?,
        };
        let Some(before) = before else {
            let new = NewDocument {
                id: Some(id.to_owned()),
                ..NewDocument::of(content)
            };
            let collection = id.split_once(':').map_or(id, |(collection, _)| collection);
            self.add(&by, collection, new).await?;
            return Ok(FileChange::New);
        };
        let update = DocumentUpdate {
            content: Some(content),
            ..DocumentUpdate::default()
        };
        let id = &before.document.document_id;
        let accepted = self.update(&by, id, update).await?;
        Ok(match accepted.job_id {
            Some(_) => FileChange::Changed,
            None => FileChange::Same,
        })
    }

    async fn drop_file(&self, place: &CollectionPlace, id: &str) -> Result<()> {
        let job_id = self.new_id();
        retried!(async {
            let key = DocumentKey::of(None, id);
            match self.document_at(place, key).await? {
                Some(found) => self.drop_document(&found, &job_id).await,
                None => Ok(()),
            }
        })
    }
}

impl CollectionRecord {
    /// Takes over what a definition does not say. Returns the index as the definition wants it.
    fn continues(&mut self, known: &Self) -> IndexRecord {
        self.created_at = known.created_at;
        self.updated_at = known.updated_at;
        self.reindex.clone_from(&known.reindex);
        self.reindex_job.clone_from(&known.reindex_job);
        self.last_version = known.last_version;
        std::mem::replace(&mut self.index, known.index.clone())
    }
}

/// What has become of a file.
enum FileChange {
    New,
    Changed,
    Same,
}

fn unreadable(what: &str, error: &std::io::Error) -> KnowledgeError {
    KnowledgeError::invalid(what, format!("cannot be read: {error}"))
}
