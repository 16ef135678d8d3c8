//! Methods that write one row, or several of one kind.

use super::{MethodCall, ModelMethod, writes};
use crate::error::Result;
use crate::model::definition::RowObject;
use crate::model::query::QueryParam;
use crate::model::row_draft::ColumnValues;
use futures::FutureExt;
use serde_json::Value;

/// A new row.
pub const CREATE: ModelMethod = writes("Create", |call| create(call).boxed());
/// Changes of a row.
pub const UPDATE: ModelMethod = writes("Update", |call| update(call).boxed());
/// Changes of a row that is there, or else a new one.
pub const SAVE: ModelMethod = writes("Save", |call| save(call).boxed());
/// New rows, all or none.
pub const INSERT: ModelMethod = writes("Insert", |call| insert(call).boxed());
/// Deletes a row, so that it can be undone by hand if the model is so.
pub const DELETE: ModelMethod = writes("Delete", |call| remove(call, false).boxed());
/// Deletes a row for good.
pub const DESTROY: ModelMethod = writes("Destroy", |call| remove(call, true).boxed());

async fn create(call: &mut MethodCall<'_>) -> Result<Value> {
    let row = call.row(0)?;
    call.create(row).await
}

async fn update(call: &mut MethodCall<'_>) -> Result<Value> {
    let (id, row) = (call.argument(0), call.row(1)?);
    let select = call.one(id)?;
    let row = call.without_key(id, row)?;
    match call.change(select, row).await? {
        0 => Err(call.absent(id)),
        _ => Ok(Value::Null),
    }
}

async fn save(call: &mut MethodCall<'_>) -> Result<Value> {
    let row = call.row(0)?;
    call.save(row).await
}

async fn insert(call: &mut MethodCall<'_>) -> Result<Value> {
    let columns = call.texts(0, "columns")?;
    let (rows, draft) = (call.list(1, "rows")?, call.draft());
    let mut drafts: Vec<ColumnValues> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let values = row.as_array().filter(|row| row.len() == columns.len());
        let values = values.ok_or_else(|| {
            let rule = format!("must be a list of {} values", columns.len());
            call.wrong(&format!("rows[{at}]"), &rule)
        })?;
        let cells = columns.iter().cloned().zip(values.iter().cloned());
        drafts.push(draft.create(cells.collect()).await?);
    }
    call.insert(&drafts).await?;
    Ok(Value::Null)
}

async fn remove(call: &mut MethodCall<'_>, is_for_good: bool) -> Result<Value> {
    let id = call.argument(0);
    let select = call.one(id)?;
    let condition = select.condition(&mut call.reading, &call.model.table);
    match call.remove(condition, is_for_good).await? {
        0 => Err(call.absent(id)),
        _ => Ok(Value::Null),
    }
}

impl MethodCall<'_> {
    /// A new row; the answer is its id.
    pub(super) async fn create(&mut self, row: RowObject) -> Result<Value> {
        let cells = self.draft().create(row).await?;
        let ids = self.insert(&[cells]).await?;
        Ok(ids.into_iter().next().unwrap_or_default())
    }

    /// Changes the rows that are selected.
    pub(super) async fn change(&mut self, select: QueryParam, row: RowObject) -> Result<u64> {
        let cells = self.draft().update(row).await?;
        let condition = select.condition(&mut self.reading, &self.model.table);
        self.update(&cells, condition).await
    }

    /// A row that is there is changed, else there is a new one; the answer is its id.
    pub(super) async fn save(&mut self, row: RowObject) -> Result<Value> {
        let key = self.model.key().map(|key| key.name.clone());
        let id = key.and_then(|key| row.get(&key).cloned());
        let Some(id) = id.filter(|id| !id.is_null()) else {
            return self.create(row).await;
        };
        let select = self.one(&id)?;
        let changes = self.without_key(&id, row.clone())?;
        match self.change(select, changes).await? {
            0 => self.create(row).await,
            _ => Ok(id),
        }
    }

    /// A row keeps the id that it has.
    fn without_key(&self, id: &Value, mut row: RowObject) -> Result<RowObject> {
        let Some(key) = self.model.key() else {
            return Ok(row);
        };
        let Some(given) = row.remove(&key.name) else {
            return Ok(row);
        };
        let bind = |value: &Value| self.models.bind(self.model, key, value);
        match bind(&given).is_ok() && bind(&given) == bind(id) {
            true => Ok(row),
            false => Err(self.wrong(&key.name, "of a row cannot be changed")),
        }
    }
}
