//! Changes of rows as statements.

use crate::error::{Error, Result};
use crate::model::SqlValue;
use crate::model::TableModels;
use crate::model::database::{SqlCell, SqlDialect, SqlStatement, Transaction};
use crate::model::definition::{TableColumn, TableModel};
use crate::model::row_draft::ColumnValues;
use sea_query::{
    Alias, Condition, DeleteStatement, Expr, ExprTrait, InsertStatement, OnConflict, Query,
    SelectStatement, UpdateStatement,
};
use serde_json::Value;

/// The most values of one statement; SQLite takes 32,766.
const VALUES: usize = 30_000;

/// Whether there is a row.
pub fn any(model: &TableModel) -> SelectStatement {
    let mut any = Query::select();
    any.expr(Expr::cust("1"))
        .from(Alias::new(&model.table))
        .limit(1);
    any
}

/// Removes all rows.
pub fn clear(model: &TableModel) -> DeleteStatement {
    delete(model, Condition::all())
}

/// Removes the rows that a condition holds for.
pub fn delete(model: &TableModel, condition: Condition) -> DeleteStatement {
    let mut delete = Query::delete();
    delete
        .from_table(Alias::new(&model.table))
        .cond_where(condition);
    delete
}

/// Gives a column of all rows a value.
pub fn fill(model: &TableModel, name: &str, value: SqlValue) -> UpdateStatement {
    update(model, &[(name.to_owned(), value)], Condition::all())
}

/// Changes the rows that a condition holds for.
pub fn update(
    model: &TableModel,
    cells: &[(String, SqlValue)],
    condition: Condition,
) -> UpdateStatement {
    let mut update = Query::update();
    update.table(Alias::new(&model.table)).cond_where(condition);
    for (name, value) in cells {
        update.value(Alias::new(name), value.clone());
    }
    update
}

/// Puts rows in; all have the same columns.
fn put(model: &TableModel, rows: &[ColumnValues]) -> Result<InsertStatement> {
    let mut insert = Query::insert();
    insert.into_table(Alias::new(&model.table));
    let names = rows.first().map_or(&[][..], Vec::as_slice);
    if names.is_empty() {
        insert.or_default_values();
        return Ok(insert);
    }
    insert.columns(names.iter().map(|(name, _)| Alias::new(name)));
    for row in rows {
        let values = row.iter().map(|(_, value)| Expr::val(value.clone()));
        let added = insert.values(values);
        added.map_err(|error| Error::internal(error.to_string()))?;
    }
    Ok(insert)
}

/// Puts rows in, and answers with their ids.
pub async fn insert(
    transaction: &mut dyn Transaction,
    models: &TableModels,
    model: &TableModel,
    rows: &[ColumnValues],
) -> Result<Vec<Value>> {
    let width = rows.first().map_or(1, Vec::len).max(1);
    let names =
        |row: &ColumnValues| -> Vec<String> { row.iter().map(|(name, _)| name.clone()).collect() };
    let mut ids = Vec::new();
    // Rows without any column cannot be put in together.
    let most = if rows.first().is_some_and(Vec::is_empty) {
        1
    } else {
        VALUES / width
    };
    for alike in rows.chunk_by(|one, other| names(one) == names(other)) {
        for part in alike.chunks(most.max(1)) {
            let mut statement = put(model, part)?;
            let Some(key) = model.key() else {
                let statement = transaction.dialect().write(&statement);
                transaction.run(statement).await?;
                continue;
            };
            statement.returning_col(Alias::new(&key.name));
            let statement = transaction.dialect().write(&statement);
            let found = transaction.rows(statement).await?;
            ids.extend(keys(models, model, key, found)?);
            count_on(transaction, model, key, part).await?;
        }
    }
    Ok(ids)
}

/// A new row, or changes of the one that is the same in some columns.
pub struct RowUpsert<'a> {
    /// The new row.
    pub row: &'a ColumnValues,
    /// The columns in which the other one is the same.
    pub unique_by: &'a [String],
    /// What is changed of the other one.
    pub changes: &'a ColumnValues,
}

/// Puts a row in, or changes the one that is the same. The answer is a line for each row: none where the row that is there is
/// not for the caller.
pub async fn upsert(
    transaction: &mut dyn Transaction,
    model: &TableModel,
    upsert: &RowUpsert<'_>,
    condition: Condition,
) -> Result<Vec<Vec<SqlCell>>> {
    let (rows, same) = (std::slice::from_ref(upsert.row), upsert.unique_by);
    let mut statement = put(model, rows)?;
    let mut otherwise = OnConflict::columns(same.iter().map(Alias::new));
    let changes = upsert.changes.iter();
    let mut set: Vec<(Alias, Expr)> = changes
        .map(|(name, value)| (Alias::new(name), Expr::val(value.clone())))
        .collect();
    if let (true, Some(name)) = (set.is_empty(), same.first()) {
        // Nothing changes, but the row has to be told of.
        let own = Expr::col((Alias::new(&model.table), Alias::new(name)));
        set.push((Alias::new(name), own));
    }
    otherwise.values(set).action_cond_where(condition);
    statement.on_conflict(otherwise);
    if let Some(key) = model.key() {
        statement.returning_col(Alias::new(&key.name));
    } else {
        statement.returning(Query::returning().expr(Expr::cust("1")));
    }
    let statement = transaction.dialect().write(&statement);
    let found = transaction.rows(statement).await?;
    if let Some(key) = model.key() {
        count_on(transaction, model, key, rows).await?;
    }
    Ok(found)
}

/// The ids of rows.
pub fn keys(
    models: &TableModels,
    model: &TableModel,
    key: &TableColumn,
    rows: Vec<Vec<SqlCell>>,
) -> Result<Vec<Value>> {
    let cells = rows.into_iter().flatten();
    cells
        .map(|cell| models.script_value(model, key, cell))
        .collect()
}

/// PostgreSQL goes on counting behind a number that was given by hand, as SQLite does by itself.
async fn count_on(
    transaction: &mut dyn Transaction,
    model: &TableModel,
    key: &TableColumn,
    rows: &[ColumnValues],
) -> Result<()> {
    if transaction.dialect() == SqlDialect::Sqlite || !key.is_counted() {
        return Ok(());
    }
    let given = rows.iter().flatten().filter(|(name, _)| *name == key.name);
    let given = given.filter_map(|(_, value)| match value {
        SqlValue::BigInt(number) => *number,
        _ => None,
    });
    let Some(highest) = given.max().filter(|number| *number > 0) else {
        return Ok(());
    };
    let (table, name) = (&model.table, &key.name);
    let sql = format!(
        "SELECT setval(s, $1) FROM (SELECT pg_get_serial_sequence('\"{table}\"', '{name}')::regclass AS s) AS it \
         WHERE $1 > coalesce(pg_sequence_last_value(s), 0)"
    );
    let values = vec![SqlValue::BigInt(Some(highest))];
    transaction
        .rows(SqlStatement::new(sql, values))
        .await
        .map(drop)
}

/// The rows with these keys.
pub fn with_keys(model: &TableModel, key: &TableColumn, keys: Vec<SqlValue>) -> Condition {
    let column = Expr::col((Alias::new(&model.table), Alias::new(&key.name)));
    Condition::all().add(column.is_in(keys))
}
