//! Collections and documents as one caller can find them. What they may not see is not there.

use super::KnowledgeBase;
use crate::error::{KnowledgeError, Result};
use crate::names::{self, CollectionPlace, DocumentKey};
use crate::opinion::OpinionsRecord;
use crate::reach::KnowledgeReach;
use crate::records::{CollectionRecord, ContentRecord, DocumentRecord};
use crate::stored::{self, StoredRecord};

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
        for tenant in access.tenants(reach) {
            let found = self.document_of(tenant, id).await?;
            let is_visible = |found: &FoundDocument| {
                found.collection.value.is_usable(reach)
                    && reach.may_read(&found.document.value.document)
            };
            if let Some(found) = found.filter(is_visible) {
                check_access(&found.collection.value, reach, access)?;
                return Ok(found);
            }
        }
        Err(KnowledgeError::not_found("document", id))
    }

    /// Where a document is, or was before its collection was removed.
    pub(crate) async fn document_place(
        &self,
        tenant: Option<&str>,
        id: &str,
    ) -> Result<Option<StoredRecord<CollectionPlace>>> {
        Ok(stored::get(self.driver(), names::document_place(tenant, id)).await?)
    }

    /// A document of a tenant, whoever asks.
    pub(crate) async fn document_of(
        &self,
        tenant: Option<&str>,
        id: &str,
    ) -> Result<Option<FoundDocument>> {
        let known = self.document_place(tenant, id).await?;
        let Some(place) = known.map(|known| known.value) else {
            return Ok(None);
        };
        let found = self.collection_record(tenant, &place.id).await?;
        let Some(collection) = found.filter(|found| found.value.place == place) else {
            return Ok(None);
        };
        let key = DocumentKey::of(id);
        let document = collection.value.place.document(&key);
        let document = stored::get(self.driver(), document).await?;
        Ok(document.map(|document| FoundDocument {
            collection,
            document,
            key,
        }))
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
    pub(super) async fn opinions(
        &self,
        found: &FoundDocument,
        tenant: &str,
    ) -> Result<OpinionsRecord> {
        let key = found.collection.value.place.opinions(&found.key, tenant);
        let stored = stored::get(self.driver(), key).await?;
        Ok(stored.map(|stored| stored.value).unwrap_or_default())
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
