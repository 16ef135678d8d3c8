//! Methods that write whatever rows a query finds.

use super::{MethodCall, ModelMethod, writes};
use crate::error::Result;
use crate::model::query::QueryParam;
use futures::FutureExt;
use serde_json::Value;

/// Changes rows.
pub const UPDATE_WHERE: ModelMethod = writes("UpdateWhere", |call| update(call).boxed());
/// Deletes rows.
pub const DELETE_WHERE: ModelMethod = writes("DeleteWhere", |call| remove(call, false).boxed());
/// Deletes rows for good.
pub const DESTROY_WHERE: ModelMethod = writes("DestroyWhere", |call| remove(call, true).boxed());

async fn update(call: &mut MethodCall<'_>) -> Result<Value> {
    let (select, row) = (wheres(call)?, call.row(1)?);
    let key = call.model.key().map(|key| key.name.as_str());
    if let Some(key) = key.filter(|key| row.contains_key(*key)) {
        return Err(call.wrong(key, "of rows cannot be changed"));
    }
    Ok(call.change(select, row).await?.into())
}

async fn remove(call: &mut MethodCall<'_>, is_for_good: bool) -> Result<Value> {
    let select = wheres(call)?;
    let condition = select.condition(&mut call.reading, &call.model.table);
    Ok(call.remove(condition, is_for_good).await?.into())
}

/// A query that says nothing means a mistake more often than all rows.
fn wheres(call: &MethodCall<'_>) -> Result<QueryParam> {
    let select = QueryParam::parse_wheres(call.models, call.model, call.argument(0))?;
    if select.wheres.is_empty() && !select.all {
        let rule = "has no wheres; give some, or {all: true} for all rows";
        return Err(call.wrong("query", rule));
    }
    Ok(select)
}
