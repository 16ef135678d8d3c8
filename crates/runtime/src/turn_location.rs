//! Which conversation a request belongs to, so that anybody who may use it can follow or stop the turn.

use crate::access::{Authorized, DataAccess};
use crate::chats::{first, is_nobodys};
use crate::error::{Error, Result};
use ambit_storage::address::Space;
use ambit_storage::batch::BatchWrite;
use ambit_storage::clock::to_millis;
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::{Ambit, Context, Json};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where a request's turn is kept.
#[derive(Clone)]
pub struct TurnLocation {
    /// The index row of the conversation's history; none for a temporary conversation.
    pub row: Option<IndexRow>,
    /// The space that holds the turn's logs and values.
    pub space: Space,
    /// What keeps it.
    pub driver: Arc<dyn Driver>,
}

/// What is noted of a request. It outlives the conversation, so it holds nothing of it: not even its name.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RequestNote {
    /// The index row of the conversation's history.
    Row {
        /// Its id.
        row: String,
    },
    /// A temporary conversation has no row; its store is as short-lived as the note.
    Temporary {
        space: Space,
        /// The person whose it is.
        user: Option<String>,
    },
    /// The first turn of a conversation, until the row that its first save makes is known.
    Fresh { fresh: Space },
}

/// The write that makes a request (or any other id of a turn) findable for so long, or until it is written again, in the
/// conversation's own store. It can be repeated, and is repeated when the conversation's row is known: before that it names the
/// conversation itself.
pub fn note(context: &Context, request_id: &str, life: Option<Duration>) -> Result<BatchWrite> {
    let note = match context.row_id() {
        Some(row) => RequestNote::Row { row },
        None if context.is_temporary() => RequestNote::Temporary {
            space: context.place().0,
            user: context.identity().user_id().map(str::to_owned),
        },
        None => RequestNote::Fresh {
            fresh: context.place().0,
        },
    };
    noting(&note, context.ambit().caller().tenant(), request_id, life)
}

/// The same where the conversation's row is known from elsewhere.
pub(crate) fn note_of(
    row: &str,
    tenant: &str,
    request_id: &str,
    life: Duration,
) -> Result<BatchWrite> {
    let row = row.to_owned();
    noting(&RequestNote::Row { row }, tenant, request_id, Some(life))
}

fn noting(
    note: &RequestNote,
    tenant: &str,
    request_id: &str,
    life: Option<Duration>,
) -> Result<BatchWrite> {
    Ok(BatchWrite::Apply {
        key: Space::requests(tenant).key(request_id),
        op: Operation::Set(Json::of(note)?.into()),
        life: life.map(to_millis),
    })
}

/// Where the turn of a request is kept. One that is unknown, over for too long or somebody else's is the same
/// `not_found`.
pub async fn find(ambit: &Ambit, who: &Authorized, request_id: &str) -> Result<TurnLocation> {
    let unknown = || Error::not_found("request", request_id);
    let note = noted(ambit, who.tenant(), request_id).await?;
    let note = note.ok_or_else(unknown)?;
    let found = match note {
        RequestNote::Row { row } => tracked(ambit, who, |filter| filter.id = Some(row)).await?,
        RequestNote::Fresh { fresh } => {
            tracked(ambit, who, |filter| filter.storage_key = Some(fresh.path)).await?
        }
        RequestNote::Temporary { space, user } => temporary(ambit, who, space, user.as_deref())?,
    };
    found.ok_or_else(unknown)
}

/// The note, in whichever store the conversation is.
async fn noted(ambit: &Ambit, tenant: &str, request_id: &str) -> Result<Option<RequestNote>> {
    let limit = ambit.stores().options().limits.name;
    if request_id.is_empty() || request_id.len() > limit || request_id.contains('\0') {
        return Ok(None);
    }
    let key = Space::requests(tenant).key(request_id);
    let mut answer = Ok(None);
    for driver in ambit.stores().drivers().values() {
        match driver.get(&key, ValuePart::Whole).await {
            Ok(Some(entry)) => return Ok(Some(entry.value.to()?)),
            Ok(None) => {}
            // Another store may know it; only if none does, nobody can tell.
            Err(error) => answer = Err(error.into()),
        }
    }
    answer
}

/// A temporary conversation is its person's alone; nobody's is open to nobody in particular.
fn temporary(
    ambit: &Ambit,
    who: &Authorized,
    space: Space,
    owner: Option<&str>,
) -> Result<Option<TurnLocation>> {
    let access = DataAccess::of(who);
    let is_nobodys = owner.is_none() && who.user_id.as_ref().is_none_or(String::is_empty);
    let is_own = owner.is_some() && owner == access.user();
    if !is_nobodys && !is_own && !access.is_whole() {
        return Ok(None);
    }
    Ok(Some(TurnLocation {
        row: None,
        space,
        driver: ambit.stores().temporary()?.driver().clone(),
    }))
}

async fn tracked(
    ambit: &Ambit,
    who: &Authorized,
    narrow: impl FnOnce(&mut RowFilter),
) -> Result<Option<TurnLocation>> {
    let access = DataAccess::of(who);
    let mut filter = RowFilter::tenant(access.tenant());
    narrow(&mut filter);
    let Some(row) = first(ambit, &filter).await? else {
        return Ok(None);
    };
    let is_nameless = who.user_id.as_ref().is_none_or(String::is_empty);
    let is_open = is_nameless && is_nobodys(&row);
    if !is_open && !access.sees(ambit, &row).await? {
        return Ok(None);
    }
    let driver = ambit.stores().chain(&row.placement)?.driver().clone();
    Ok(Some(TurnLocation {
        space: Space::of(&row.tenant, &row.identity),
        row: Some(row),
        driver,
    }))
}

impl fmt::Debug for TurnLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TurnLocation")
            .field("space", &self.space.to_string())
            .finish_non_exhaustive()
    }
}
