//! Collections and documents as one caller can find them. What they may not see is not there.

use super::KnowledgeBase;
use crate::error::{KnowledgeError, Result};
use crate::job::Job;
use crate::names::{self, CollectionPlace, DocumentKey, DocumentPlace};
use crate::rating::RatingsRecord;
use crate::reach::KnowledgeReach;
use crate::records::{CollectionRecord, ContentRecord, DocumentRecord};
use crate::stored::{self, StoredRecord};
use ambit_storage::address::Space;

/// A document and its collection.
pub(crate) struct FoundDocument {
    pub collection: StoredRecord<CollectionRecord>,
    pub document: StoredRecord<DocumentRecord>,
    pub key: DocumentKey,
}

/// What is not visible, and what may not be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// To find and to read.
    Read,
    /// To change what belongs to a tenant.
    Change,
    /// To make what the app's files say so: they are nobody's.
    AppFiles,
}

impl AccessKind {
    /// Where to look, the first one first.
    fn tenants(self, reach: &dyn KnowledgeReach) -> Vec<Option<&str>> {
        match self {
            Self::Read | Self::Change => vec![Some(reach.tenant()), None],
            Self::AppFiles => vec![None],
        }
    }
}

impl KnowledgeBase {
    pub(crate) async fn collection_record(
        &self,
        tenant: Option<&str>,
        id: &str,
    ) -> Result<Option<StoredRecord<CollectionRecord>>> {
        Ok(stored::get(self.driver(), names::collection(tenant, id)).await?)
    }

    /// A collection of the caller's tenant, else one of the app's files.
    pub(crate) async fn find_collection(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        access: AccessKind,
    ) -> Result<StoredRecord<CollectionRecord>> {
        for tenant in access.tenants(reach) {
            let found = self.collection_record(tenant, id).await?;
            if let Some(found) = found.filter(|found| found.value.is_usable(reach)) {
                check_access(&found.value, reach, access)?;
                return Ok(found);
            }
        }
        Err(KnowledgeError::not_found("collection", id))
    }

    /// A document of the caller's tenant, else one of the app's files.
    pub(crate) async fn find_document(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
        access: AccessKind,
    ) -> Result<FoundDocument> {
        self.find_document_in(reach, None, id, access).await
    }

    /// The same, of one collection if it is named.
    pub(crate) async fn find_document_in(
        &self,
        reach: &dyn KnowledgeReach,
        collection: Option<&str>,
        id: &str,
        access: AccessKind,
    ) -> Result<FoundDocument> {
        for tenant in access.tenants(reach) {
            let found = self.visible_documents(reach, tenant, id).await?;
            let is_meant = |found: &FoundDocument| {
                collection.is_none_or(|id| found.collection.value.place.id == id)
            };
            if let Some(found) = found.into_iter().find(is_meant) {
                check_access(&found.collection.value, reach, access)?;
                return Ok(found);
            }
        }
        Err(KnowledgeError::not_found("document", id))
    }

    /// All documents of an id that the caller can read, those of the tenant first.
    pub(crate) async fn readable_documents(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
    ) -> Result<Vec<FoundDocument>> {
        let mut all = Vec::new();
        for tenant in AccessKind::Read.tenants(reach) {
            all.extend(self.visible_documents(reach, tenant, id).await?);
        }
        match all.is_empty() {
            true => Err(KnowledgeError::not_found("document", id)),
            false => Ok(all),
        }
    }

    /// The documents of a tenant with this id that the caller can find, their own first, then the oldest. There are several where
    /// people have added them who did not see each other's.
    async fn visible_documents(
        &self,
        reach: &dyn KnowledgeReach,
        tenant: Option<&str>,
        id: &str,
    ) -> Result<Vec<FoundDocument>> {
        let mut found = self.documents_of(tenant, id).await?;
        found.retain(|found| found.is_visible(reach));
        found.sort_by_key(|found| !found.is_of(reach));
        Ok(found)
    }

    /// The documents of a tenant with this id, whoever asks, the oldest first.
    pub(crate) async fn documents_of(
        &self,
        tenant: Option<&str>,
        id: &str,
    ) -> Result<Vec<FoundDocument>> {
        let (space, prefix) = (Space::collections(tenant), names::document_places(id));
        let mut found = Vec::new();
        for place in stored::all::<DocumentPlace>(self.driver(), &space, &prefix).await? {
            let document = self.document_at(&place.collection, place.document);
            found.extend(document.await?);
        }
        found.sort_by(|one, other| one.order().cmp(other.order()));
        Ok(found)
    }

    /// A document by its place; none where it is gone, or its collection.
    pub(crate) async fn document_at(
        &self,
        place: &CollectionPlace,
        key: DocumentKey,
    ) -> Result<Option<FoundDocument>> {
        let tenant = place.tenant.as_deref();
        let found = self.collection_record(tenant, &place.id).await?;
        let Some(collection) = found.filter(|found| found.value.place == *place) else {
            return Ok(None);
        };
        let document = stored::get(self.driver(), place.document(&key)).await?;
        Ok(document.map(|document| FoundDocument {
            collection,
            document,
            key,
        }))
    }

    /// The document on which a job works.
    pub(super) async fn document_of_job(
        &self,
        tenant: Option<&str>,
        job: &Job,
    ) -> Result<Option<FoundDocument>> {
        let Some(id) = &job.document_id else {
            return Ok(None);
        };
        let mut found = self.documents_of(tenant, id).await?.into_iter();
        Ok(found.find(|found| found.document.value.document.job_id.as_ref() == Some(&job.job_id)))
    }

    /// What a document has in an index.
    pub(crate) async fn content(
        &self,
        place: &CollectionPlace,
        version: u32,
        document: &DocumentKey,
    ) -> Result<Option<StoredRecord<ContentRecord>>> {
        Ok(stored::get(self.driver(), place.content(version, document)).await?)
    }

    /// What a tenant's people think of the chunks of a document.
    pub(super) async fn ratings(
        &self,
        found: &FoundDocument,
        tenant: &str,
    ) -> Result<RatingsRecord> {
        let key = found.collection.value.place.ratings(&found.key, tenant);
        let stored = stored::get(self.driver(), key).await?;
        Ok(stored.map(|stored| stored.value).unwrap_or_default())
    }
}

impl FoundDocument {
    /// Whether the caller may find and read it.
    pub fn is_visible(&self, reach: &dyn KnowledgeReach) -> bool {
        let is_usable = self.collection.value.is_usable(reach);
        is_usable && reach.may_read(&self.document.value.document)
    }

    fn is_of(&self, reach: &dyn KnowledgeReach) -> bool {
        self.document.value.document.created_by.as_deref() == reach.user()
    }

    fn order(&self) -> &str {
        &self.document.value.order
    }
}

fn check_access(
    record: &CollectionRecord,
    reach: &dyn KnowledgeReach,
    access: AccessKind,
) -> Result<()> {
    if access != AccessKind::Change || record.is_changeable(reach) {
        return Ok(());
    }
    let id = &record.place.id;
    Err(KnowledgeError::Denied {
        reason: match record.place.tenant {
            None => format!("collection \"{id}\" is a file of the app, change kb/{id}.kb.yao"),
            Some(_) => format!("collection \"{id}\" belongs to somebody else"),
        },
    })
}
