//! `Upsert`: a new row, or changes of the one that is the same in some columns.

use super::sql::{self, RowUpsert};
use super::{MethodCall, ModelMethod, writes};
use crate::error::{Error, ErrorCode, Result};
use crate::model::definition::{RowObject, TableModel};
use crate::model::query::QueryParam;
use futures::FutureExt;
use serde_json::Value;

/// `row, uniqueBy[], columns[]?`
pub const UPSERT: ModelMethod = writes("Upsert", |call| upsert(call).boxed());

async fn upsert(call: &mut MethodCall<'_>) -> Result<Value> {
    let (row, same) = (call.row(0)?, call.texts(1, "uniqueBy")?);
    if !is_unique(call.model, &same) {
        let rule = format!(
            "must be columns that the model makes unique together, which {} are not",
            same.join(", ")
        );
        return Err(call.wrong("uniqueBy", &rule));
    }
    let missing = same
        .iter()
        .find(|name| row.get(*name).is_none_or(Value::is_null));
    if let Some(missing) = missing {
        return Err(call.wrong(missing, "is one of uniqueBy and missing in the row"));
    }
    let changes = changes(call, &row, &same)?;
    let changes = call.draft().update(changes).await?;
    let cells = call.draft().create(row).await?;
    let count = put(
        call,
        &RowUpsert {
            row: &cells,
            unique_by: &same,
            changes: &changes,
        },
    )
    .await?;
    Ok(count.into())
}

async fn put(call: &mut MethodCall<'_>, upsert: &RowUpsert<'_>) -> Result<u64> {
    let condition = QueryParam::of(call.model).condition(&mut call.reading, &call.model.table);
    let found = sql::upsert(call.transaction.as_mut(), call.model, upsert, condition).await;
    let found = found.map_err(|error| call.with_model_id(error))?;
    if found.is_empty() {
        let columns = upsert.unique_by.join(", ");
        let message = format!(
            "models.{}: there is already a row with the same {columns}",
            call.model.id
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let count = found.len() as u64;
    let ids = match call.model.key() {
        Some(key) => sql::keys(call.models, call.model, key, found)?,
        // Nobody can tell whether such a row stays within reach, which is refused where it matters.
        None => Vec::new(),
    };
    call.check_still_reachable(ids).await?;
    Ok(count)
}

/// What is changed of a row that is there: what is named, or all that is given, but not what makes it the same.
fn changes(call: &MethodCall<'_>, row: &RowObject, same: &[String]) -> Result<RowObject> {
    let named = match call.argument(2) {
        Value::Null => None,
        _ => Some(call.texts(2, "columns")?),
    };
    if let Some(name) = named.iter().flatten().find(|name| !row.contains_key(*name)) {
        return Err(call.wrong(
            "columns",
            &format!("names \"{name}\", which the row has not"),
        ));
    }
    let key = call.model.key().map(|key| key.name.as_str());
    let is_named = |key: &&str| named.iter().flatten().any(|name| name == key);
    let is_same = |key: &&str| same.iter().any(|name| name == key);
    if let Some(key) = key.filter(is_named).filter(|key| !is_same(key)) {
        return Err(call.wrong(key, "of a row cannot be changed"));
    }
    let is_changed = |name: &String| match &named {
        Some(named) => named.contains(name),
        None => !same.contains(name) && key != Some(name),
    };
    let changes = row.iter().filter(|(name, _)| is_changed(name));
    let changes = changes.map(|(name, value)| (name.clone(), value.clone()));
    Ok(changes.collect())
}

fn is_unique(model: &TableModel, same: &[String]) -> bool {
    let is_same = |columns: &[String]| {
        columns.len() == same.len() && columns.iter().all(|name| same.contains(name))
    };
    let single = model.columns.iter();
    let mut single = single.filter(|column| column.is_primary || column.is_unique);
    let mut indexes = model.indexes.iter().filter(|index| index.is_unique);
    single.any(|column| is_same(std::slice::from_ref(&column.name)))
        || indexes.any(|index| is_same(&index.columns))
}
