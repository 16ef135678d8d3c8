//! Collections are made, shown, changed and removed.

use super::lookup::AccessKind;
use super::{KnowledgeBase, retried, some_at_once};
use crate::collection::{
    Collection, CollectionStatus, CollectionUpdate, NewCollection, check_collection_id,
};
use crate::document::DocumentStatus;
use crate::error::{KnowledgeError, Result};
use crate::job::JobKind;
use crate::names::{self, CollectionPlace};
use crate::reach::KnowledgeReach;
use crate::records::{CollectionRecord, DocumentRecord, RemovalRecord, WorkRecord};
use crate::stored::{
    self, METADATA_BYTES, NAME_BYTES, StoredRecord, check_size, checked, count_one, delete, put,
};
use crate::sums::{Sum, Sums, TENANT, add_to_sums};
use ambit_storage::address::Space;
use ambit_storage::batch::BatchCheck;
use ambit_storage::ids;
use serde_json::{Map, Value};

/// Which collections are listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectionFilter {
    /// Texts that id, name and description have among them, whatever their case.
    pub keywords: Option<String>,
    /// What they are doing.
    pub status: Option<CollectionStatus>,
}

impl KnowledgeBase {
    /// Makes a collection, which belongs to the caller.
    pub async fn create_collection(
        &self,
        reach: &dyn KnowledgeReach,
        new: NewCollection,
    ) -> Result<Collection> {
        check_collection_id(&new.id)?;
        check_metadata(&new.metadata)?;
        check_size("name of a collection", &new.name, NAME_BYTES)?;
        check_size("description of a collection", &new.description, NAME_BYTES)?;
        let tenant = Some(reach.tenant());
        let place = CollectionPlace {
            tenant: tenant.map(str::to_owned),
            id: new.id.clone(),
            key: ids::unguessable(),
        };
        let mut record = CollectionRecord::new(place, new, self.now())?;
        record.created_by = reach.user().map(str::to_owned);
        record.team_id = reach.team().map(str::to_owned);
        let _turn = self.shared.ingestion.lock().await;
        retried!(async {
            let sums = self.collection_quota(tenant).await?;
            self.check_is_free(&record.place).await?;
            self.store_new(&record, &sums).await
        })?;
        Ok(record.shown(&Sums::default()))
    }

    async fn collection_quota(&self, tenant: Option<&str>) -> Result<Sums> {
        let sums = Sums::read(self.driver(), names::tenant_sums(tenant)).await?;
        sums.check_quota(
            Sum::Collections,
            1,
            self.settings().limits.collections,
            TENANT,
        )?;
        Ok(sums)
    }

    /// Ids of the app's files are taken too.
    async fn check_is_free(&self, place: &CollectionPlace) -> Result<()> {
        for tenant in [place.tenant.as_deref(), None] {
            if self.collection_record(tenant, &place.id).await?.is_some() {
                let reason = format!("collection \"{}\" is taken, choose another id", place.id);
                return Err(KnowledgeError::Conflict { reason });
            }
        }
        Ok(())
    }

    async fn store_new(&self, record: &CollectionRecord, sums: &Sums) -> Result<()> {
        let tenant = record.place.tenant.as_deref();
        let key = names::collection(tenant, &record.place.id);
        let counted = names::tenant_sums(tenant);
        let batch = checked(
            [
                BatchCheck::version(key.clone(), None),
                BatchCheck::version(counted.clone(), sums.version),
            ],
            [
                put(key, record)?,
                add_to_sums(counted, &[Sum::Collections.more(1)])?,
            ],
        );
        self.driver().commit(batch).await?;
        Ok(())
    }

    /// A collection that the caller may use.
    pub async fn collection(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<Collection> {
        let found = self.find_collection(reach, id, AccessKind::Read).await?;
        self.shown(reach, &found.value).await
    }

    /// How many documents of a collection are not read yet. An index that is made anew beside the one that is searched is none of them.
    pub async fn unread_documents(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<u64> {
        let found = self.find_collection(reach, id, AccessKind::Read).await?;
        let sums = Sums::read(self.driver(), found.value.place.sums()).await?;
        let reindexed = u64::from(found.value.reindex.is_some());
        Ok(sums.get(Sum::Waiting).saturating_sub(reindexed))
    }

    /// A collection as the caller sees it: where some may not read all of its documents, what the caller may read is counted.
    async fn shown(
        &self,
        reach: &dyn KnowledgeReach,
        record: &CollectionRecord,
    ) -> Result<Collection> {
        let sums = self.counted(reach, record).await?;
        let mut reindex = self.reindex_progress(record).await?;
        if let Some(reindex) = &mut reindex {
            reindex.total = reindex.total.min(sums.get(Sum::Documents));
            reindex.done = reindex.done.min(reindex.total);
        }
        Ok(Collection {
            reindex,
            ..record.shown(&sums)
        })
    }

    /// The sums of what the caller may read of a collection.
    pub(super) async fn counted(
        &self,
        reach: &dyn KnowledgeReach,
        record: &CollectionRecord,
    ) -> Result<Sums> {
        let mut sums = Sums::read(self.driver(), record.place.sums()).await?;
        if sums.get(Sum::Restricted) > 0 {
            sums = Sums::default();
            for record in self.document_records(&record.place).await? {
                if reach.may_read(&record.document) {
                    record.add_to(&mut sums);
                }
            }
        }
        Ok(sums)
    }

    /// The collections that the caller may use, by id.
    pub async fn collections(
        &self,
        reach: &dyn KnowledgeReach,
        filter: &CollectionFilter,
    ) -> Result<Vec<Collection>> {
        let mut records = Vec::new();
        for tenant in [Some(reach.tenant()), None] {
            records.extend(self.collection_records(tenant).await?);
        }
        records.retain(|record| record.is_usable(reach));
        let shown = records.iter().map(|record| self.shown(reach, record));
        let shown = some_at_once(shown.collect::<Vec<_>>()).await;
        let mut found = shown.into_iter().collect::<Result<Vec<Collection>>>()?;
        found.retain(|collection| filter.matches(collection));
        found.sort_by(|one, other| one.collection_id.cmp(&other.collection_id));
        // A tenant's own is found in the place of one of the app's files, and stands before it.
        found.dedup_by(|one, other| one.collection_id == other.collection_id);
        Ok(found)
    }

    pub(crate) async fn collection_records(
        &self,
        tenant: Option<&str>,
    ) -> Result<Vec<CollectionRecord>> {
        let space = Space::collections(tenant);
        Ok(stored::all(self.driver(), &space, names::COLLECTIONS).await?)
    }

    /// Changes what is said of a collection.
    pub async fn update_collection(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        update: &CollectionUpdate,
    ) -> Result<Collection> {
        check_metadata(update.metadata.as_ref().unwrap_or(&Map::new()))?;
        check_size("name of a collection", &update.name, NAME_BYTES)?;
        check_size(
            "description of a collection",
            &update.description,
            NAME_BYTES,
        )?;
        let changed = retried!(async {
            let mut found = self.find_collection(reach, id, AccessKind::Change).await?;
            let record = &mut found.value;
            update.apply_to(record);
            record.updated_at = self.now();
            let batch = checked([found.check()], [found.put()?]);
            self.driver().commit(batch).await?;
            Ok(found.value)
        });
        self.shown(reach, &changed?).await
    }

    /// Removes a collection: from now on it is not found. The job erases what it had; it is not shown to others.
    pub async fn remove_collection(&self, reach: &dyn KnowledgeReach, id: &str) -> Result<String> {
        let job_id = self.new_id();
        retried!(async {
            let found = self.find_collection(reach, id, AccessKind::Change).await?;
            self.drop_collection(&found, &job_id).await
        })?;
        self.wake();
        Ok(job_id)
    }

    /// The commit behind which a collection is not found any more.
    pub(crate) async fn drop_collection(
        &self,
        found: &StoredRecord<CollectionRecord>,
        job_id: &str,
    ) -> Result<()> {
        let place = &found.value.place;
        let work = WorkRecord {
            place: place.clone(),
            removal: Some(RemovalRecord {
                job_id: job_id.to_owned(),
                version: found.value.last_version,
                others: None,
            }),
        };
        let mut job = self.new_job(job_id, JobKind::Remove, &place.id);
        job.step = Some("erasing".to_owned());
        let sums = Sums::read(self.driver(), place.sums()).await?;
        let gone = [
            Sum::Collections.less(1),
            Sum::Bytes.less(sums.get(Sum::Bytes)),
            Sum::Jobs.less(sums.get(Sum::Waiting)),
        ];
        let mut batch = checked(
            [
                found.check(),
                BatchCheck::version(place.sums(), sums.version),
            ],
            [
                delete(found.key.clone()),
                delete(place.sums()),
                count_one(place.changes()),
                put(place.work(), &work)?,
                put(place.removed(), &true)?,
                put(place.job(job_id), &job)?,
                add_to_sums(place.tenant_sums(), &gone)?,
            ],
        );
        let reindex = found.value.reindex_job.iter();
        batch
            .writes
            .extend(reindex.map(|job| delete(place.job(job))));
        self.driver().commit(batch).await?;
        Ok(())
    }

    /// That a collection has something to be done.
    pub(crate) async fn work_record(
        &self,
        place: &CollectionPlace,
    ) -> Result<Option<StoredRecord<WorkRecord>>> {
        Ok(stored::get(self.driver(), place.work()).await?)
    }
}

impl CollectionFilter {
    fn matches(&self, collection: &Collection) -> bool {
        let texts = [
            &collection.collection_id,
            &collection.name,
            &collection.description,
        ];
        let has = |words: &String| contains(&texts, words);
        self.keywords.as_ref().is_none_or(has)
            && self.status.is_none_or(|status| collection.status == status)
    }
}

fn check_metadata(metadata: &Map<String, Value>) -> Result<()> {
    check_size("metadata of a collection", metadata, METADATA_BYTES)
}

/// Whether one of the texts has these words in it, whatever their case.
pub(super) fn contains(texts: &[&String], words: &str) -> bool {
    let words = words.to_lowercase();
    texts
        .iter()
        .any(|text| text.to_lowercase().contains(&words))
}

impl DocumentRecord {
    /// Counts it, as the sums of a collection do.
    fn add_to(&self, sums: &mut Sums) {
        let pending = self.pending.as_ref();
        let counts = [
            Sum::Documents.more(1),
            Sum::Chunks.more(self.document.chunks),
            Sum::Bytes.more(self.counted + pending.map_or(0, |it| it.bytes)),
            Sum::Failed.more(u64::from(self.document.status == DocumentStatus::Failed)),
            Sum::Waiting.more(u64::from(pending.is_some())),
        ];
        for count in counts {
            sums.add(count);
        }
    }
}

impl CollectionUpdate {
    fn apply_to(&self, record: &mut CollectionRecord) {
        if let Some(name) = &self.name {
            record.name.clone_from(name);
        }
        if let Some(description) = &self.description {
            record.description.clone_from(description);
        }
        record.public = self.public.unwrap_or(record.public);
        record.share = self.share.unwrap_or(record.share);
        if let Some(metadata) = &self.metadata {
            record.metadata.clone_from(metadata);
        }
    }
}
