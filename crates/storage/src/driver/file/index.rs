//! Walks over the files, one at a time: index rows, expired values, damage.

use super::counter::CommitCounter;
use super::folder::{self, ROWS, SPACES, StoreFolder};
use super::{format, redo};
use crate::Result;
use crate::address::Space;
use crate::clock::Millis;
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::driver::state;

/// One page of rows. A damaged row fails the question for just that row, and is passed over (and logged) in a list.
pub fn identities(
    folder: &StoreFolder,
    filter: &RowFilter,
    page: &PageRequest,
) -> Result<Vec<IndexRow>> {
    let mut rows = Vec::new();
    let mut keep = |row: IndexRow| {
        let is_behind = |after| page.order.is_behind(row.position(), after);
        if page.after.is_none_or(is_behind) {
            rows.push(row);
        }
        // Twice the page at most is held, however many rows there are.
        if rows.len() > page.limit.saturating_mul(2) {
            page.order.sort(&mut rows);
            rows.truncate(page.limit);
        }
    };
    walk(folder, filter, &mut keep)?;
    page.order.sort(&mut rows);
    rows.truncate(page.limit);
    Ok(rows.iter().map(|row| current_row(folder, row)).collect())
}

pub fn count(folder: &StoreFolder, filter: &RowFilter) -> Result<u64> {
    let mut count = 0;
    walk(folder, filter, &mut |_| count += 1)?;
    Ok(count)
}

/// Spaces with expired values, at most `limit`.
pub fn expired(folder: &StoreFolder, now: Millis, limit: usize) -> Result<Vec<Space>> {
    let mut spaces = Vec::new();
    for file in folder.files(SPACES)? {
        if spaces.len() == limit {
            break;
        }
        // A damaged file is left to `check`; it must not keep the others from being swept.
        let Ok(Some(header)) = format::read_header(folder, &file?) else {
            continue;
        };
        if header.first_end.is_some_and(|end| end <= now) {
            spaces.push(header.space());
        }
    }
    Ok(spaces)
}

/// What is damaged, each finding with its file.
pub fn check(folder: &StoreFolder) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut note = |finding: Option<crate::Error>| {
        found.extend(finding.map(|error| error.to_string()));
    };
    note(CommitCounter::read(folder).err());
    note(redo::pending(folder).err());
    for file in folder.files(SPACES)? {
        note(format::read_space_file(folder, &file?).err());
    }
    for file in folder.files(ROWS)? {
        note(format::read_row_file(folder, &file?).err());
    }
    Ok(found)
}

fn walk(folder: &StoreFolder, filter: &RowFilter, keep: &mut dyn FnMut(IndexRow)) -> Result<()> {
    let mut take = |row: Option<IndexRow>| {
        if let Some(row) = row.filter(|row| filter.matches(row)) {
            keep(row);
        }
    };
    if let (Some(tenant), Some(path)) = (&filter.tenant, &filter.storage_key) {
        let (tenant, path) = (tenant.clone(), path.clone());
        let file = folder::row_file(&Space { tenant, path });
        take(format::read_row_file(folder, &file)?);
        return Ok(());
    }
    for file in folder.files(ROWS)? {
        match format::read_row_file(folder, &file?) {
            Ok(row) => take(row),
            Err(error) => {
                tracing::error!(store.name = %folder.root().display(), error.message = %error, "an index row is left out");
            }
        }
    }
    Ok(())
}

/// The row with what its space says; where that is damaged, the row as it was made (whoever opens it is told).
fn current_row(folder: &StoreFolder, row: &IndexRow) -> IndexRow {
    match format::read_items_head(folder, &row.space()) {
        Ok(head) => state::rows::row_with_head(row, head),
        Err(error) => {
            tracing::error!(store.name = %folder.root().display(), error.message = %error, "an index row is not up to date");
            row.clone()
        }
    }
}
