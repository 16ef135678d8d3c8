//! Reads: the primary answers. What it lost is given back to it first; where it fails, the newest secondary answers
//! and the answer is marked.

use super::{ChainDriver, ChainMember};
use crate::Result;
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::ValueEntry;
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::driver::{LogPage, LogRange, ValuePart, ValueScan, first_row};

impl ChainDriver {
    pub(super) async fn read_log(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        let primary = &self.primary.driver;
        match primary.read(log, range).await {
            Ok(page) if page.head.is_none() && self.regain_log(log).await? => {
                primary.read(log, range).await
            }
            Err(error) if error.is_failure() => {
                let members = self.believable(&log.space).await;
                let pages = answers(members, |member| member.driver.read(log, range)).await;
                let newest = newest(pages, |page| page.head);
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
                let members = self.believable(&key.space).await;
                let found = answers(members, |member| member.driver.get(key, part)).await;
                let newest = newest(found, |entry| entry.as_ref().map(|entry| entry.version));
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
                let members = self.believable(space).await;
                let found = first_answer(members, |member| member.driver.scan(space, scan)).await;
                let found = found.ok_or(error)?.into_iter();
                Ok(found.map(|(name, entry)| (name, stale(entry))).collect())
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
                let members = self.believable(space).await;
                let names = first_answer(members, |member| member.driver.logs(space)).await;
                names.ok_or(error)
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
                let count = first_answer(&self.secondaries, |member| member.driver.count(filter));
                count.await.ok_or(error)
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
            let space = row.space();
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
            let found = first_row(&*member.driver, filter).await;
            spaces.extend(found.unwrap_or_default().iter().map(IndexRow::space));
        }
        spaces
    }
}

/// What these answer; one that fails is passed over.
async fn answers<'a, T, F: Future<Output = Result<T>>>(
    members: Vec<&'a ChainMember>,
    ask: impl Fn(&'a ChainMember) -> F,
) -> Vec<T> {
    let mut found = Vec::new();
    for member in members {
        found.extend(ask(member).await);
    }
    found
}

/// What the first of these that can says.
async fn first_answer<'a, T, F: Future<Output = Result<T>>>(
    members: impl IntoIterator<Item = &'a ChainMember>,
    ask: impl Fn(&'a ChainMember) -> F,
) -> Option<T> {
    for member in members {
        if let Ok(answer) = ask(member).await {
            return Some(answer);
        }
    }
    None
}

/// The first of those with the greatest number.
fn newest<T, N: PartialOrd>(found: Vec<T>, number: impl Fn(&T) -> N) -> Option<T> {
    let newer = |best: T, next: T| {
        if number(&next) > number(&best) {
            next
        } else {
            best
        }
    };
    found.into_iter().reduce(newer)
}

fn stale(entry: ValueEntry) -> ValueEntry {
    ValueEntry {
        stale_possible: true,
        ..entry
    }
}
