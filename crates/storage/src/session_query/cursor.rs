//! Cursors: where a page ended, sealed so that nobody can make one up or use it elsewhere.

use crate::address::{DEFAULT_TENANT, Space, digest};
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::clock::{Millis, to_millis};
use crate::directory::{RowFilter, RowOrder, RowPosition, RowState};
use crate::driver::{Driver, ValuePart};
use crate::json::Json;
use crate::operation::Operation;
use crate::{Error, Result};
use serde::Serialize;
use std::time::Duration;

/// A cursor can be used for this long.
const LIFE: Duration = Duration::from_secs(24 * 3600);

/// What a cursor goes on with, and nothing else.
#[derive(Serialize)]
pub(super) struct CursorQuery<'a> {
    pub filter: &'a RowFilter,
    pub order: RowOrder,
    pub state: Option<RowState>,
}

/// The cursor for what follows this place.
pub(super) async fn seal(
    driver: &dyn Driver,
    query: &CursorQuery<'_>,
    place: RowPosition,
    now: Millis,
) -> Result<String> {
    let text = format!("{}.{}.{now}", place.at, place.ordinal);
    let seal = seal_of(driver, query, &text).await?;
    Ok(format!("{text}.{seal}"))
}

/// The place in a cursor; refused if it is forged, too old, or from another query or tenant.
pub(super) async fn open(
    driver: &dyn Driver,
    query: &CursorQuery<'_>,
    cursor: &str,
    now: Millis,
) -> Result<RowPosition> {
    let refused = || {
        Error::invalid(
            "cursor",
            "was not given out for this query, or is too old; start without one",
        )
    };
    let (text, seal) = cursor.rsplit_once('.').ok_or_else(refused)?;
    if seal_of(driver, query, text).await? != seal {
        return Err(refused());
    }
    let mut numbers = text.split('.');
    let mut next = || {
        numbers
            .next()
            .and_then(|number| number.parse::<i64>().ok())
            .ok_or_else(refused)
    };
    let (at, ordinal, made) = (next()?, next()?, next()?);
    if now - made > to_millis(LIFE) {
        return Err(refused());
    }
    Ok(RowPosition {
        at,
        ordinal: u64::try_from(ordinal).map_err(|_| refused())?,
    })
}

async fn seal_of(driver: &dyn Driver, query: &CursorQuery<'_>, text: &str) -> Result<String> {
    let secret = secret(driver).await?;
    let query = Json::of(query)?;
    // The secret comes first and last, and every part carries its length: nothing can be added to a sealed text.
    Ok(digest(&[&secret, query.as_str(), text, &secret])[..32].to_owned())
}

/// The store's secret for cursors, made at its first use.
async fn secret(driver: &dyn Driver) -> Result<String> {
    let key = Space::settings(DEFAULT_TENANT).key("cursor-secret");
    for _ in 0..2 {
        if let Some(entry) = driver.get(&key, ValuePart::Whole).await? {
            return entry.value.to();
        }
        let made = format!(
            "{:032x}{:032x}",
            rand::random::<u128>(),
            rand::random::<u128>()
        );
        let write = BatchWrite::apply(key.clone(), Operation::Set(Json::of(&made)?.into()), None);
        let batch = Batch::of([write]).checking(BatchCheck::version(key.clone(), None));
        match driver.commit(batch).await {
            Err(error) if !matches!(error, Error::Conflict { .. }) => return Err(error),
            _ => {}
        }
    }
    Err(Error::internal("the secret for cursors could not be made"))
}
