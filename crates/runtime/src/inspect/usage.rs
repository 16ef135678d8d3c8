//! What was spent.

use crate::access::{Authorized, DataAccess};
use crate::error::Result;
use ambit_storage::{Ambit, Usage};

/// Usage as far as the caller may see it: their own, or for callers without constraints the whole tenant's. With the id of a
/// row of the index, only what is booked under its identity.
pub async fn visible(ambit: &Ambit, who: &Authorized, context: Option<&str>) -> Result<Usage> {
    let access = DataAccess::of(who);
    let usage = Usage::all(access.ambit(ambit));
    let Some(id) = context else {
        return Ok(usage);
    };
    let row = access.row(ambit, id).await?;
    Ok(usage.for_identity(&row.identity)?)
}
