//! A person is erased: the documents that they added and what they said of others go, in every collection.

use super::{KnowledgeBase, retried};
use crate::error::Result;
use crate::rating::Voter;
use crate::records::CollectionRecord;
use ambit_storage::ids;

impl KnowledgeBase {
    /// Removes what a person has added to the collections of a tenant, and their votes and hits in all that they could use. Nothing of it is
    /// found when this returns; the jobs, whose ids are returned, erase it.
    pub async fn erase_person(&self, tenant: &str, user: &str) -> Result<Vec<String>> {
        let person = Voter { tenant, user };
        let mut jobs = Vec::new();
        for owner in [Some(tenant), None] {
            for collection in self.collection_records(owner).await? {
                jobs.extend(self.erase_person_from(&collection, &person).await?);
            }
        }
        self.shared.wake.notify_waiters();
        Ok(jobs)
    }

    async fn erase_person_from(
        &self,
        collection: &CollectionRecord,
        person: &Voter<'_>,
    ) -> Result<Vec<String>> {
        let tenant = collection.place.tenant.as_deref();
        let mut jobs = Vec::new();
        for record in self.document_records(&collection.place).await? {
            let created_by = record.document.created_by.as_deref();
            let is_own = tenant.is_some() && created_by == Some(person.user);
            let job_id = ids::ordered(&self.settings().clock);
            let has_job = retried!(async {
                let found = self.document_at(&collection.place, record.key());
                let Some(found) = found.await? else {
                    return Ok(false);
                };
                match is_own {
                    true => self.drop_document(&found, &job_id).await?,
                    false => self.forget_feedback_of(found, person).await?,
                }
                Ok(is_own)
            });
            if has_job? {
                jobs.push(job_id);
            }
        }
        Ok(jobs)
    }
}
