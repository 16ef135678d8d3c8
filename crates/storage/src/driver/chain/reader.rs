//! Reads: the primary answers. What it lost is given back to it first; where it fails, the newest secondary answers
//! and the answer is marked.

use super::{ChainDriver, ChainMember};
use crate::Result;
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::ValueEntry;
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::driver::{LogPage, LogRange, ValuePart, ValueScan};

impl ChainDriver {
    pub(super) async fn read_log(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        let primary = &self.primary.driver;
        match primary.read(log, range).await {
            Ok(page) if page.head.is_none() && self.regain_log(log).await? => {
                primary.read(log, range).await
            }
            Err(error) if error.is_failure() => {
                let mut newest: Option<LogPage> = None;
                for member in self.believable(&log.space).await {
                    let Ok(page) = member.driver.read(log, range).await else {
                        continue;
                    };
                    if newest.as_ref().is_none_or(|best| page.head > best.head) {
                        newest = Some(page);
                    }
                }
                let mut page = newest.ok_or(error)?;
                page.stale_possible = true;
                Ok(page)
            }
            other => other,
        }
    }

    pub(super) async fn read_value(
        &self,
        key: &ValueKey,
        part: ValuePart,
    ) -> Result<Option<ValueEntry>> {
        let primary = &self.primary.driver;
        match primary.get(key, part).await {
            Ok(None) if self.regain_value(key).await? => primary.get(key, part).await,
            Err(error) if error.is_failure() => {
                let mut newest: Option<Option<ValueEntry>> = None;
                for member in self.believable(&key.space).await {
                    let Ok(found) = member.driver.get(key, part).await else {
                        continue;
                    };
                    let version =
                        |entry: &Option<ValueEntry>| entry.as_ref().map(|kept| kept.version);
                    if newest
                        .as_ref()
                        .is_none_or(|best| version(&found) > version(best))
                    {
                        newest = Some(found);
                    }
                }
                Ok(newest.ok_or(error)?.map(stale))
            }
            other => other,
        }
    }

    pub(super) async fn scan_values(
        &self,
        space: &Space,
        scan: &ValueScan,
    ) -> Result<Vec<(String, ValueEntry)>> {
        match self.primary.driver.scan(space, scan).await {
            Ok(found) if found.is_empty() && self.regain_values(space, scan).await? => {
                self.primary.driver.scan(space, scan).await
            }
            Err(error) if error.is_failure() => {
                for member in self.believable(space).await {
                    if let Ok(found) = member.driver.scan(space, scan).await {
                        let marked = found.into_iter().map(|(name, entry)| (name, stale(entry)));
                        return Ok(marked.collect());
                    }
                }
                Err(error)
            }
            other => other,
        }
    }

    pub(super) async fn list_logs(&self, space: &Space) -> Result<Vec<String>> {
        match self.primary.driver.logs(space).await {
            Ok(names) if names.is_empty() && self.regain_logs(space).await? => {
                self.primary.driver.logs(space).await
            }
            Err(error) if error.is_failure() => {
                for member in self.believable(space).await {
                    if let Ok(names) = member.driver.logs(space).await {
                        return Ok(names);
                    }
                }
                Err(error)
            }
            other => other,
        }
    }

    pub(super) async fn list_rows(
        &self,
        filter: &RowFilter,
        page: &PageRequest,
    ) -> Result<Vec<IndexRow>> {
        let primary = &self.primary.driver;
        match primary.identities(filter, page).await {
            Ok(rows) if rows.is_empty() && self.regain_row(filter).await? => {
                primary.identities(filter, page).await
            }
            Err(error) if error.is_failure() => {
                for member in &self.secondaries {
                    if let Ok(rows) = member.driver.identities(filter, page).await {
                        return Ok(self.believable_rows(member, rows).await);
                    }
                }
                Err(error)
            }
            other => other,
        }
    }

    pub(super) async fn count_rows(&self, filter: &RowFilter) -> Result<u64> {
        match self.primary.driver.count(filter).await {
            Err(error) if error.is_failure() => {
                for member in &self.secondaries {
                    if let Ok(count) = member.driver.count(filter).await {
                        return Ok(count);
                    }
                }
                Err(error)
            }
            other => other,
        }
    }

    /// The secondaries that may answer for a primary that is down.
    async fn believable(&self, space: &Space) -> Vec<&ChainMember> {
        let owing = self.members_with_pending_erasures(space).await;
        let believed = |member: &&ChainMember| !owing.contains(&member.name);
        self.secondaries.iter().filter(believed).collect()
    }

    async fn believable_rows(&self, member: &ChainMember, rows: Vec<IndexRow>) -> Vec<IndexRow> {
        let mut believed = Vec::with_capacity(rows.len());
        for row in rows {
            let space = Space::of(&row.tenant, &row.identity);
            if !self
                .members_with_pending_erasures(&space)
                .await
                .contains(&member.name)
            {
                believed.push(row);
            }
        }
        believed
    }

    async fn regain_log(&self, log: &LogKey) -> Result<bool> {
        if self.secondaries.is_empty() {
            return Ok(false);
        }
        let (_turn, stone) = self.lock_space(&log.space).await?;
        self.refill_log(log, &stone).await
    }

    async fn regain_logs(&self, space: &Space) -> Result<bool> {
        let mut is_regained = false;
        for member in &self.secondaries {
            for name in member.driver.logs(space).await.unwrap_or_default() {
                is_regained |= self.regain_log(&space.log(name)).await?;
            }
        }
        Ok(is_regained)
    }

    async fn regain_value(&self, key: &ValueKey) -> Result<bool> {
        if self.secondaries.is_empty() {
            return Ok(false);
        }
        let (_turn, stone) = self.lock_space(&key.space).await?;
        self.refill_value(key, &stone).await
    }

    /// Gives back the values that are asked for, where the primary has none of them.
    async fn regain_values(&self, space: &Space, scan: &ValueScan) -> Result<bool> {
        let names = ValueScan {
            part: ValuePart::Nothing,
            ..scan.clone()
        };
        let mut is_regained = false;
        for member in &self.secondaries {
            for (name, _) in member.driver.scan(space, &names).await.unwrap_or_default() {
                is_regained |= self.regain_value(&space.key(name)).await?;
            }
        }
        Ok(is_regained)
    }

    /// Only a question for one certain row is worth asking the secondaries.
    async fn regain_row(&self, filter: &RowFilter) -> Result<bool> {
        let asked = match (&filter.tenant, &filter.storage_key, &filter.id) {
            (Some(tenant), Some(path), _) => vec![Space::new(tenant.clone(), path.clone())],
            (_, _, Some(_)) => self.spaces_elsewhere(filter).await,
            _ => Vec::new(),
        };
        let mut is_regained = false;
        for space in asked.iter().filter(|_| !self.secondaries.is_empty()) {
            let (_turn, stone) = self.lock_space(space).await?;
            is_regained |= self.refill_row(space, &stone).await?;
        }
        Ok(is_regained)
    }

    async fn spaces_elsewhere(&self, filter: &RowFilter) -> Vec<Space> {
        let mut spaces = Vec::new();
        for member in &self.secondaries {
            let rows = member
                .driver
                .identities(filter, &PageRequest::first(1))
                .await;
            let rows = rows.unwrap_or_default();
            spaces.extend(rows.iter().map(|row| Space::of(&row.tenant, &row.identity)));
        }
        spaces
    }
}

fn stale(entry: ValueEntry) -> ValueEntry {
    ValueEntry {
        stale_possible: true,
        ..entry
    }
}
