//! What a driver holds, a page at a time.

use super::{Driver, LogRange, ValuePart, ValueScan};
use crate::Result;
use crate::address::{LogKey, Space};
use crate::batch::{LogEntry, ValueEntry};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::pattern::Pattern;

/// Entries, values or rows that are read in one go.
const PAGE: usize = 500;

/// The live values of a space whose name matches, in order of their names.
pub struct ValuePages<'a> {
    driver: &'a dyn Driver,
    space: &'a Space,
    scan: ValueScan,
    is_over: bool,
}

impl<'a> ValuePages<'a> {
    /// Those with such a name, and this part of each.
    pub fn of(driver: &'a dyn Driver, space: &'a Space, pattern: Pattern, part: ValuePart) -> Self {
        Self {
            driver,
            space,
            scan: ValueScan::first(pattern, PAGE, part),
            is_over: false,
        }
    }

    /// Only those whose names come behind this one.
    pub fn after(mut self, name: Option<String>) -> Self {
        self.scan.after = name;
        self
    }

    /// The next ones; `None` at the end. What is written meanwhile is seen where it stands behind them.
    pub async fn next(&mut self) -> Result<Option<Vec<(String, ValueEntry)>>> {
        if self.is_over {
            return Ok(None);
        }
        let found = self.driver.scan(self.space, &self.scan).await?;
        self.is_over = found.len() < PAGE;
        self.scan.after = found.last().map(|(name, _)| name.clone());
        Ok(Some(found))
    }
}

/// The entries of a log, in order of their sequences.
pub(crate) struct LogPages<'a> {
    driver: &'a dyn Driver,
    log: LogKey,
    next: u64,
}

impl<'a> LogPages<'a> {
    pub(crate) fn of(driver: &'a dyn Driver, log: LogKey) -> Self {
        let next = 1;
        Self { driver, log, next }
    }

    /// The next ones; `None` where there are no more.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<LogEntry>>> {
        let range = LogRange::from(self.next, PAGE);
        let entries = self.driver.read(&self.log, range).await?.entries;
        self.next = entries.last().map_or(self.next, |last| last.seq + 1);
        Ok(Some(entries).filter(|entries| !entries.is_empty()))
    }
}

/// The first row that a filter wants.
pub async fn first_row(driver: &dyn Driver, filter: &RowFilter) -> Result<Option<IndexRow>> {
    let rows = driver.identities(filter, &PageRequest::first(1)).await?;
    Ok(rows.into_iter().next())
}

/// The index rows that a filter wants, in order of their creation.
pub struct RowPages<'a> {
    driver: &'a dyn Driver,
    filter: RowFilter,
    page: PageRequest,
}

impl<'a> RowPages<'a> {
    /// Those of this filter.
    pub fn of(driver: &'a dyn Driver, filter: RowFilter) -> Self {
        Self {
            driver,
            filter,
            page: PageRequest::first(PAGE),
        }
    }

    /// Reads this many at once. One damaged row fails the whole page that it is on.
    pub fn in_steps(mut self, rows: usize) -> Self {
        self.page.limit = rows;
        self
    }

    /// The next ones; `None` where there are no more. A chain whose primary is down may give fewer than are wanted before
    /// its end.
    pub async fn next(&mut self) -> Result<Option<Vec<IndexRow>>> {
        let rows = self.driver.identities(&self.filter, &self.page).await?;
        self.page.after = rows.last().map(IndexRow::position);
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }
}
