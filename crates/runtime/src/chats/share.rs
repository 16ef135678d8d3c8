//! Conversations of one person that they share with their team: named in a list beside the index, by the ids of rows,
//! which are never used again.

use crate::access::DataAccess;
use crate::chats::index_rows;
use crate::error::Result;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Ambit, Json};
use serde::{Deserialize, Serialize};

/// What the list says of a conversation, so that a name is found without reading its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SharedChat {
    /// The chat's name.
    chat: Option<String>,
}

/// Whether the row's owner shares it with the team of this caller.
pub(super) async fn is_shared_with(
    ambit: &Ambit,
    access: &DataAccess,
    row: &IndexRow,
) -> Result<bool> {
    let Some(team) = access
        .team()
        .filter(|team| row.team.as_deref() == Some(team))
    else {
        return Ok(false);
    };
    is_shared(ambit, access.tenant(), team, &row.id).await
}

async fn is_shared(ambit: &Ambit, tenant: &str, team: &str, id: &str) -> Result<bool> {
    let key = Space::shares(tenant, team).key(id);
    let index = ambit.stores().index()?;
    Ok(index
        .driver()
        .get(&key, ValuePart::Nothing)
        .await?
        .is_some())
}

/// The rows that others share with the caller's team: all, or those of one chat name. Rows that are gone are passed over.
pub(super) async fn rows(
    ambit: &Ambit,
    access: &DataAccess,
    chat: Option<&str>,
) -> Result<Vec<IndexRow>> {
    let Some(team) = access.team() else {
        return Ok(Vec::new());
    };
    let space = Space::shares(access.tenant(), team);
    let index = ambit.stores().index()?;
    let driver = index.driver().as_ref();
    let mut values = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Whole);
    let mut rows = Vec::new();
    while let Some(page) = values.next().await? {
        for (id, entry) in page {
            let shared: SharedChat = entry.value.to()?;
            if chat.is_none_or(|chat| shared.chat.as_deref() == Some(chat)) {
                rows.extend(row(ambit, access, id).await?);
            }
        }
    }
    Ok(rows)
}

/// The row if it is there, of the team still, and not the caller's own, whom the index shows it to anyway.
async fn row(ambit: &Ambit, access: &DataAccess, id: String) -> Result<Option<IndexRow>> {
    let filter = RowFilter {
        id: Some(id),
        ..RowFilter::tenant(access.tenant())
    };
    let row = index_rows::first(ambit, &filter).await?;
    let own = access.filter();
    Ok(row.filter(|row| row.team.as_deref() == access.team() && !own.matches(row)))
}

/// Shares the row with this team, or takes that back.
pub(super) async fn set(ambit: &Ambit, row: &IndexRow, team: &str, is_shared: bool) -> Result<()> {
    let chat = row.identity.chat_name().map(str::to_owned);
    let op = match is_shared {
        true => Operation::Set(Json::of(&SharedChat { chat })?.into()),
        false => Operation::Del,
    };
    let write = BatchWrite::Apply {
        key: Space::shares(&row.tenant, team).key(row.id.as_str()),
        op,
        life: None,
    };
    let index = ambit.stores().index()?;
    index.driver().commit(Batch::of([write])).await?;
    Ok(())
}
