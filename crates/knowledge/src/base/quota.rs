//! Whether there is room for what is to be added.

use super::KnowledgeBase;
use super::ingestion::Contributor;
use super::lookup::AccessKind;
use crate::error::Result;
use crate::reach::KnowledgeReach;
use crate::records::CollectionRecord;
use crate::stored::StoredRecord;
use crate::sums::{Sum, Sums, TENANT};

/// What was free when it was looked for: what is written holds only as long as it is.
pub(super) struct QuotaSnapshot {
    pub collection: StoredRecord<CollectionRecord>,
    pub sums: Sums,
    pub tenant_sums: Sums,
}

/// What is to be added to the sums of a collection and its tenant.
pub(super) struct NewSums {
    pub documents: u64,
    pub jobs: u64,
    pub bytes: u64,
}

impl NewSums {
    /// So many new documents, with so many bytes together.
    pub fn of(documents: u64, bytes: u64) -> Self {
        Self {
            documents,
            jobs: documents,
            bytes,
        }
    }
}

/// How many more bytes a tenant may have.
#[derive(Clone, Debug)]
pub struct TenantRoom {
    sums: Sums,
    limit: u64,
}

impl TenantRoom {
    /// Refuses more bytes than there is room for.
    pub fn check(&self, bytes: u64) -> Result<()> {
        self.sums.check_quota(Sum::Bytes, bytes, self.limit, TENANT)
    }
}

impl KnowledgeBase {
    /// Refuses what could not be added: so many documents, with so many bytes together. So nothing of it needs to be read. Returns
    /// the room of the tenant.
    pub async fn check_quota(
        &self,
        reach: &dyn KnowledgeReach,
        collection: &str,
        documents: u64,
        bytes: u64,
    ) -> Result<TenantRoom> {
        let by = Contributor::caller(reach);
        let wanted = NewSums::of(documents, bytes);
        let free = self.quota(&by, collection, &wanted).await?;
        Ok(self.room(free.tenant_sums))
    }

    /// The room of the tenant that has these sums.
    pub(super) fn room(&self, sums: Sums) -> TenantRoom {
        let limit = self.settings().limits.bytes;
        TenantRoom { sums, limit }
    }

    /// Refuses what there is no room for.
    pub(super) async fn quota(
        &self,
        by: &Contributor<'_>,
        collection: &str,
        more: &NewSums,
    ) -> Result<QuotaSnapshot> {
        let collection = self
            .find_collection(by.reach, collection, by.access)
            .await?;
        let place = &collection.value.place;
        let tenant = place.tenant_sums();
        let tenant_sums = Sums::read(self.driver(), tenant).await?;
        let sums = Sums::read(self.driver(), place.sums()).await?;
        let limits = &self.settings().limits;
        let whose = format!("of collection \"{}\"", place.id);
        sums.check_quota(Sum::Documents, more.documents, limits.documents, &whose)?;
        // The app's files are no tenant's.
        if by.access != AccessKind::AppFiles {
            tenant_sums.check_quota(Sum::Jobs, more.jobs, limits.jobs, TENANT)?;
            tenant_sums.check_quota(Sum::Bytes, more.bytes, limits.bytes, TENANT)?;
        }
        Ok(QuotaSnapshot {
            collection,
            sums,
            tenant_sums,
        })
    }
}
