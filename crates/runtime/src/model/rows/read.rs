//! Methods that read.

use super::{MethodCall, ModelMethod, reads};
use crate::error::Result;
use crate::model::query::{MOST_ROWS, QueryParam, whole};
use futures::FutureExt;
use serde_json::{Value, json};

/// Options of a choice where nobody says how many.
const OPTIONS: u64 = 20;

/// The row of an id.
pub const FIND: ModelMethod = reads("Find", |call| find(call).boxed());
/// Rows.
pub const GET: ModelMethod = reads("Get", |call| get(call).boxed());
/// A page of rows.
pub const PAGINATE: ModelMethod = reads("Paginate", |call| paginate(call).boxed());
/// How many rows there are.
pub const COUNT: ModelMethod = reads("Count", |call| count(call).boxed());
/// Rows as the options of a choice.
pub const SELECT_OPTION: ModelMethod = reads("SelectOption", |call| options(call).boxed());

async fn find(call: &mut MethodCall<'_>) -> Result<Value> {
    let id = call.argument(0);
    let select = call.select(1)?.with_key(call.models, id)?;
    let row = select
        .first(call.transaction.as_mut(), &mut call.reading)
        .await?;
    row.ok_or_else(|| call.absent(id))
}

async fn get(call: &mut MethodCall<'_>) -> Result<Value> {
    let select = call.select(0)?;
    let rows = select.load(call.transaction.as_mut(), &mut call.reading);
    Ok(Value::Array(rows.await?))
}

async fn paginate(call: &mut MethodCall<'_>) -> Result<Value> {
    let mut select = call.select(0)?;
    let (page, size) = (number(call, 1, "page")?, number(call, 2, "pagesize")?);
    if size.is_some_and(|size| size > MOST_ROWS) {
        let rule = format!("must be at most {MOST_ROWS}; ask for pages");
        return Err(call.wrong("pagesize", &rule));
    }
    select.page = page.or(select.page);
    select.pagesize = size.or(select.pagesize);
    if select.limit.is_some() {
        return Err(call.wrong("limit", "has no meaning for pages; give a pagesize"));
    }
    let page = select.paginate(call.transaction.as_mut(), &mut call.reading);
    page.await
}

async fn count(call: &mut MethodCall<'_>) -> Result<Value> {
    let select = call.select(0)?;
    let count = select.count(call.transaction.as_mut(), &mut call.reading);
    Ok(count.await?.into())
}

fn number(call: &MethodCall<'_>, at: usize, name: &str) -> Result<Option<u64>> {
    let given = call.argument(at);
    if given.is_null() {
        return Ok(None);
    }
    let number = whole(given).filter(|number| *number > 0);
    let wrong = || call.wrong(name, "must be a whole number from 1 on");
    number.map(Some).ok_or_else(wrong)
}

async fn options(call: &mut MethodCall<'_>) -> Result<Value> {
    let name = text(call, 1, "name")?.unwrap_or("name");
    let key = call.model.key().map_or("id", |key| key.name.as_str());
    let value = text(call, 2, "value")?.unwrap_or(key);
    let limit = number(call, 3, "limit")?.unwrap_or(OPTIONS);
    let wheres = match text(call, 0, "keyword")? {
        Some(keyword) => json!([{"column": name, "op": "match", "value": keyword}]),
        None => json!([]),
    };
    let query = json!({
        "select": if name == value { vec![name] } else { vec![name, value] },
        "wheres": wheres,
        "orders": [{"column": name, "option": "asc"}],
        "limit": limit,
    });
    let select = QueryParam::parse(call.models, call.model, &query)?;
    let rows = select.load(call.transaction.as_mut(), &mut call.reading);
    let options = rows.await?.into_iter();
    let options = options.map(|row| json!({"name": row[name], "id": row[value]}));
    Ok(options.collect())
}

fn text<'a>(call: &MethodCall<'a>, at: usize, name: &str) -> Result<Option<&'a str>> {
    match call.argument(at) {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(call.wrong(name, "must be a string")),
    }
}
