//! Methods that save rows one by one, all or none.

use super::{MethodCall, ModelMethod, writes};
use crate::error::Result;
use futures::FutureExt;
use serde_json::{Map, Value};

/// Saves rows.
pub const EACH_SAVE: ModelMethod = writes("EachSave", |call| save(call, 0).boxed());
/// Deletes rows, then saves others.
pub const EACH_SAVE_AFTER_DELETE: ModelMethod =
    writes("EachSaveAfterDelete", |call| after_delete(call).boxed());

async fn after_delete(call: &mut MethodCall<'_>) -> Result<Value> {
    for id in call.list(0, "ids")? {
        let select = call.one(id)?;
        let condition = select.condition(&mut call.reading, &call.model.table);
        call.remove(condition, false).await?;
    }
    save(call, 1).await
}

/// `rows, defaults?` from this argument on.
async fn save(call: &mut MethodCall<'_>, at: usize) -> Result<Value> {
    let rows = call.list(at, "rows")?;
    let defaults = match call.argument(at + 1) {
        Value::Null => Map::new(),
        Value::Object(defaults) => defaults.clone(),
        _ => return Err(call.wrong("defaults", "must be an object")),
    };
    let mut ids = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let Value::Object(own) = row else {
            return Err(call.wrong(&format!("rows[{at}]"), "must be an object"));
        };
        let mut row = defaults.clone();
        row.extend(own.clone());
        ids.push(call.save(row).await?);
    }
    Ok(Value::Array(ids))
}
