//! Whether there is room for what is to be added.

use super::KnowledgeBase;
use super::intake::Contributor;
use super::lookup::AccessKind;
use crate::error::{KnowledgeError, Result};
use crate::names;
use crate::reach::KnowledgeReach;
use crate::records::CollectionRecord;
use crate::stored::{StoredRecord, Sums};

/// What was free when it was looked for: what is written holds only as long as it is.
pub(super) struct FreePlace {
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

impl KnowledgeBase {
    /// Refuses what could not be added: so many documents, with so many bytes together. So nothing of it needs to be read.
    pub async fn check_room(
        &self,
        reach: &dyn KnowledgeReach,
        collection: &str,
        documents: u64,
        bytes: u64,
    ) -> Result<()> {
        let by = Contributor {
            reach,
            access: AccessKind::Change,
            stamp: None,
        };
        let wanted = NewSums::of(documents, bytes);
        self.free_place(&by, collection, &wanted).await?;
        Ok(())
    }

    /// Refuses what there is no room for.
    pub(super) async fn free_place(
        &self,
        by: &Contributor<'_>,
        collection: &str,
        more: &NewSums,
    ) -> Result<FreePlace> {
        let collection = self
            .find_collection(by.reach, collection, by.access)
            .await?;
        let place = &collection.value.place;
        let tenant = names::tenant_sums(place.tenant.as_deref());
        let tenant_sums = Sums::read(self.driver(), tenant).await?;
        let sums = Sums::read(self.driver(), place.sums()).await?;
        let limits = &self.settings().limits;
        let whole = "of the tenant";
        let of_it = format!("of collection \"{}\"", place.id);
        let wanted = [
            (
                "documents",
                &sums,
                more.documents,
                limits.documents,
                of_it.as_str(),
            ),
            ("jobs", &tenant_sums, more.jobs, limits.jobs, whole),
            ("bytes", &tenant_sums, more.bytes, limits.bytes, whole),
        ];
        for (setting, sums, more, limit, whose) in wanted {
            // The app's files are no tenant's.
            let is_judged = by.access != AccessKind::AppFiles || whose != whole;
            if is_judged && sums.get(setting).saturating_add(more) > limit {
                let what = format!("{setting} {whose}");
                return Err(KnowledgeError::LimitExceeded {
                    what,
                    limit,
                    setting,
                });
            }
        }
        Ok(FreePlace {
            collection,
            sums,
            tenant_sums,
        })
    }
}
