//! Columns that rows get by themselves: who and when.

use super::database::MOMENT;
use super::definition::{
    CREATED_AT, CREATED_BY, DELETED_AT, RowObject, TEAM, TENANT, TRACKINGS, TableModel, UPDATED_AT,
    UPDATED_BY,
};
use crate::access::Authorized;
use crate::error::{Error, ErrorCode, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// The present moment, as columns hold it.
pub fn now() -> String {
    let now = Timestamp::now().to_zoned(TimeZone::UTC).datetime();
    now.strftime(MOMENT).to_string()
}

/// For a new row. Nobody in particular makes the first rows of tables.
pub fn create(model: &TableModel, who: Option<&Authorized>, row: &mut RowObject) -> Result<()> {
    if let Some(who) = who.filter(|_| model.options.permission.is_some()) {
        for (column, stamp) in stamps(who) {
            check(column, &stamp, who, row)?;
            row.entry(column).or_insert(stamp);
        }
    }
    if model.options.timestamps {
        for column in [CREATED_AT, UPDATED_AT] {
            row.entry(column).or_insert_with(|| now().into());
        }
    }
    if let Some(user) = user(model, who) {
        let [created, updated, _] = TRACKINGS;
        for column in [created, updated] {
            row.insert(column.to_owned(), user.into());
        }
    }
    Ok(())
}

/// For a row that is changed. Whose it is stays as it was.
pub fn update(model: &TableModel, who: Option<&Authorized>, row: &mut RowObject) -> Result<()> {
    if let Some(who) = who.filter(|_| model.options.permission.is_some()) {
        for (column, stamp) in stamps(who) {
            check(column, &stamp, who, row)?;
            let is_free = is_free(who) && column != TENANT && row.contains_key(column);
            if column == UPDATED_BY && !is_free {
                row.insert(column.to_owned(), stamp);
            } else if !is_free {
                row.remove(column);
            }
        }
    }
    if model.options.timestamps {
        row.insert(UPDATED_AT.to_owned(), now().into());
    }
    if let Some(user) = user(model, who) {
        let [created, updated, deleted] = TRACKINGS;
        for column in [created, deleted] {
            row.remove(column);
        }
        row.insert(updated.to_owned(), user.into());
    }
    Ok(())
}

/// What is written of a row that is marked as deleted.
pub fn delete(model: &TableModel, who: &Authorized) -> RowObject {
    let mut row = RowObject::new();
    row.insert(DELETED_AT.to_owned(), now().into());
    if let Some(user) = user(model, Some(who)) {
        let [_, _, deleted] = TRACKINGS;
        row.insert(deleted.to_owned(), user.into());
    }
    row
}

/// Who writes, where that is kept.
fn user<'w>(model: &TableModel, who: Option<&'w Authorized>) -> Option<&'w str> {
    let user = who?.user_id.as_deref();
    user.filter(|_| model.options.trackings)
}

fn stamps(who: &Authorized) -> [(&'static str, Value); 4] {
    let text = |id: &Option<String>| id.clone().map_or(Value::Null, Value::String);
    let user = text(&who.user_id);
    [
        (CREATED_BY, user.clone()),
        (UPDATED_BY, user),
        (TEAM, text(&who.team_id)),
        (TENANT, text(&who.tenant_id)),
    ]
}

/// What a row says of itself must be what it would be stamped with; a row may be of no team.
fn check(column: &str, stamp: &Value, who: &Authorized, row: &RowObject) -> Result<()> {
    let Some(given) = row.get(column) else {
        return Ok(());
    };
    let is_teamless = column == TEAM && given.is_null();
    let is_theirs = is_free(who) && column != TENANT && (given.is_string() || given.is_null());
    match given == stamp || is_teamless || is_theirs {
        true => Ok(()),
        false => {
            let message = format!("permission_denied: {column}");
            Err(Error::new(ErrorCode::PermissionDenied, message))
        }
    }
}

/// Whether somebody may say whose a row is.
fn is_free(who: &Authorized) -> bool {
    who.user_id.is_some() && who.constraints.is_none()
}
