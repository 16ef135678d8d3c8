//! Conversations that turns work on now, by the notes of open turns.

use crate::access::DataAccess;
use crate::chats::index_rows;
use crate::error::Result;
use crate::journal::OpenTurn;
use ambit_storage::Ambit;
use ambit_storage::address::Space;
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use std::collections::BTreeSet;

/// The rows of histories that are wanted, that the caller reaches, and that a turn works on. Temporary conversations have none.
pub(super) async fn rows(
    ambit: &Ambit,
    access: &DataAccess,
    wanted: &RowFilter,
) -> Result<Vec<IndexRow>> {
    let anybodys = RowFilter {
        visible_to: None,
        ..wanted.clone()
    };
    let mut rows = Vec::new();
    for path in open_spaces(ambit, access.tenant()).await? {
        let filter = RowFilter {
            storage_key: Some(path),
            ..RowFilter::tenant(access.tenant())
        };
        let Some(row) = index_rows::first(ambit, &filter).await? else {
            continue;
        };
        if anybodys.matches(&row) && access.sees(ambit, &row).await? {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The paths of the tenant's conversations with open turns.
async fn open_spaces(ambit: &Ambit, tenant: &str) -> Result<BTreeSet<String>> {
    let space = Space::turns();
    let mut paths = BTreeSet::new();
    for driver in ambit.stores().drivers().values() {
        let mut pages = ValuePages::of(driver.as_ref(), &space, Pattern::all(), ValuePart::Whole);
        while let Some(page) = pages.next().await? {
            for (_, entry) in page {
                let open: OpenTurn = entry.value.to()?;
                if open.tenant == tenant {
                    paths.insert(open.space.path);
                }
            }
        }
    }
    Ok(paths)
}
