//! Clearing and removing many sessions.

use super::SessionQuery;
use crate::directory::IndexRow;
use crate::erasure::RemovalAction;
use crate::identity::SessionIdentity;
use crate::kind::StorageKind;
use crate::removal::{self, RemovalPlan};
use crate::report::BulkReport;
use crate::session::ChatHistoryStorage;
use crate::{Result, memory};
use std::collections::HashMap;

impl SessionQuery {
    /// Clears the data of every match; rows stay.
    pub async fn clear(&self) -> Result<BulkReport> {
        let mut report = BulkReport::default();
        self.clear_each(|_, one| report.join(one)).await?;
        Ok(report)
    }

    /// Removes the data and the rows of exactly the matches.
    pub async fn remove(&self) -> Result<BulkReport> {
        let mut report = BulkReport::default();
        self.remove_each(|_, one| report.join(one)).await?;
        Ok(report)
    }

    /// As `clear`, in constant memory: what was done to each match is told with its row as it was before.
    pub async fn clear_each(&self, tell: impl FnMut(&IndexRow, BulkReport)) -> Result<()> {
        self.act(RemovalAction::Clear, tell).await
    }

    /// As `remove`, in constant memory: what was done to each match is told with its row as it was before.
    pub async fn remove_each(&self, tell: impl FnMut(&IndexRow, BulkReport)) -> Result<()> {
        self.act(RemovalAction::Remove, tell).await
    }

    async fn act(
        &self,
        action: RemovalAction,
        mut tell: impl FnMut(&IndexRow, BulkReport),
    ) -> Result<()> {
        let plan = RemovalPlan {
            action,
            agent: self.filter.agent.as_deref(),
            is_dry: self.is_dry,
            spares_wider_usage: self.filter.scope.is_none(),
        };
        let takes_memory = action == RemovalAction::Remove && !self.is_dry;
        let memories = if takes_memory && self.wants_scope(Some(ChatHistoryStorage::PREFIX)) {
            removal::memories(&self.ambit, &self.compiled()?).await?
        } else {
            HashMap::new()
        };
        let memory_of = |identity: &SessionIdentity| {
            let is_history = identity.scope() == Some(ChatHistoryStorage::PREFIX);
            let memory = identity.with_scope(memory::SCOPE).ok();
            memories.get(&memory.filter(|_| is_history)?.storage_key())
        };
        let mut rows = self.rows();
        while let Some(page) = rows.next().await? {
            for row in page {
                let mut report = BulkReport::default();
                let memory = memory_of(&row.identity);
                report.act(&self.ambit, &row, memory, plan).await;
                self.ambit
                    .stores()
                    .options()
                    .fault_points
                    .reach("bulk.step");
                tell(&row, report);
            }
        }
        Ok(())
    }
}
