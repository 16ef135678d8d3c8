//! Running selects: rows as scripts get them, with what is loaded into them.

use super::answer_size::{AnswerSize, too_large};
use super::eager_load;
use super::page::RowPage;
use super::query_param::QueryParam;
use super::read_context::ReadContext;
use super::statement::RowWindow;
use crate::error::{Error, ErrorCode, Result};
use crate::model::TableModel;
use crate::model::database::{SqlCell, SqlRow, Transaction};
use crate::model::definition::TableColumn;
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_query::SelectStatement;
use serde_json::{Map, Value, json};

/// Rows that are read at most where nobody says how many.
pub const MOST: u64 = 10_000;

/// Rows of a model, before they are objects.
pub(super) struct ModelRows<'s> {
    /// What asked for them.
    pub(super) select: &'s QueryParam,
    /// The columns that were read, those that are shown first.
    pub(super) columns: Vec<&'s TableColumn>,
    /// The values in the order of the columns, and behind them what is loaded with the rows.
    pub(super) values: Vec<Vec<Value>>,
    /// How large each row is, with what is loaded into it.
    pub(super) sizes: Vec<AnswerSize>,
    /// The names of what is loaded.
    pub(super) loaded: Vec<String>,
}

/// A row as scripts get it.
pub(super) struct RowValue {
    /// The object.
    pub(super) value: Value,
    /// How large it is.
    pub(super) size: AnswerSize,
}

impl QueryParam {
    /// The rows.
    pub async fn load(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Vec<Value>> {
        let (window, is_said) = self.window();
        let rows = self.rows(transaction, reading, window).await?;
        if !is_said && rows.len() as u64 > MOST {
            return Err(too_many(&format!("models.{}", self.model.id)));
        }
        Ok(rows)
    }

    /// The first row, if there is one.
    pub async fn first(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Option<Value>> {
        let window = RowWindow {
            offset: self.window().0.offset,
            limit: 1,
        };
        Ok(self.rows(transaction, reading, window).await?.pop())
    }

    /// How many rows there are.
    pub async fn count(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<u64> {
        let statement = self.count_statement(reading);
        count(transaction, &statement, reading).await
    }

    /// A page of rows: `{data, page, pagesize, pagecnt, next, prev, total}`.
    pub async fn paginate(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Value> {
        let page = RowPage::new(self.page, self.pagesize);
        let total = self.count(transaction, reading).await?;
        let rows = self.rows(transaction, reading, page.window()).await?;
        Ok(page.shown(rows, total))
    }

    /// Which rows are asked for, and whether somebody has said so.
    pub(super) fn window(&self) -> (RowWindow, bool) {
        if self.page.is_some() || self.pagesize.is_some() {
            return (RowPage::new(self.page, self.pagesize).window(), true);
        }
        let window = RowWindow {
            offset: 0,
            limit: self.limit.unwrap_or(MOST + 1),
        };
        (window, self.limit.is_some())
    }

    async fn rows(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
        window: RowWindow,
    ) -> Result<Vec<Value>> {
        let columns = self.read_columns();
        let statement = self.statement(reading, &columns, window);
        let rows = transaction.rows(reading.write(&statement)).await?;
        let rows = self.objects(columns, rows, transaction, reading).await?;
        Ok(rows.into_iter().map(|row| row.value).collect())
    }

    /// What was read of these columns as objects, with what is loaded into them.
    pub(super) async fn objects<'s>(
        &'s self,
        columns: Vec<&'s TableColumn>,
        rows: Vec<SqlRow>,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Vec<RowValue>> {
        let sizes: Vec<AnswerSize> = rows.iter().map(AnswerSize::of).collect();
        let taken = reading.take(sizes.iter().copied().sum());
        taken.ok_or_else(|| too_large(&format!("models.{}", self.model.id)))?;
        let mut rows = ModelRows {
            values: shown(reading, &self.model, &columns, rows)?,
            select: self,
            columns,
            sizes,
            loaded: Vec::new(),
        };
        rows.load(transaction, reading).await?;
        Ok(rows.objects())
    }

    /// The columns that must be read: those that are shown, and behind them those that what is loaded hangs on.
    pub(super) fn read_columns(&self) -> Vec<&TableColumn> {
        let mut columns = self.shown_columns();
        let firsts = self
            .withs
            .iter()
            .filter_map(|with| with.route.steps.first());
        for step in firsts {
            let known = columns.iter().any(|column| column.name == step.foreign);
            let column = self.model.column(&step.foreign);
            columns.extend(column.filter(|_| !known));
        }
        columns
    }
}

impl ModelRows<'_> {
    /// Loads what is related into the rows.
    fn load<'a>(
        &'a mut self,
        transaction: &'a mut dyn Transaction,
        reading: &'a mut ReadContext<'_>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            for with in &self.select.withs {
                eager_load::load(with, self, transaction, reading).await?;
            }
            Ok(())
        }
        .boxed()
    }

    /// The rows as objects.
    fn objects(self) -> Vec<RowValue> {
        let (columns, shown) = (self.columns, self.select.shown_columns().len());
        let loaded = self.loaded;
        let object = |values: Vec<Value>| {
            let (mut own, behind) = (values, columns.len());
            let related = own.split_off(behind);
            own.truncate(shown);
            let own = columns.iter().map(|column| column.name.clone()).zip(own);
            let related = loaded.iter().cloned().zip(related);
            Value::Object(own.chain(related).collect::<Map<_, _>>())
        };
        let rows = self.values.into_iter().map(object).zip(self.sizes);
        rows.map(|(value, size)| RowValue { value, size }).collect()
    }
}

/// What stands for a value that is not shown.
pub fn hidden() -> Value {
    json!({ "hidden": true })
}

/// Cells as scripts get them; behind those of the columns there may be others, which are left out.
fn shown(
    reading: &ReadContext<'_>,
    model: &TableModel,
    columns: &[&TableColumn],
    rows: Vec<SqlRow>,
) -> Result<Vec<Vec<Value>>> {
    let row = |row: SqlRow| {
        let cells = columns.iter().zip(row);
        let cells = cells.map(|(column, cell)| {
            if reading.hides_secrets && column.crypt.is_some() {
                return Ok(hidden());
            }
            reading.models.script_value(model, column, cell)
        });
        cells.collect::<Result<Vec<_>>>()
    };
    rows.into_iter().map(row).collect()
}

/// The number that a statement gives.
pub async fn count(
    transaction: &mut dyn Transaction,
    statement: &SelectStatement,
    reading: &ReadContext<'_>,
) -> Result<u64> {
    let rows = transaction.rows(reading.dialect().write(statement)).await?;
    match rows.first().and_then(|row| row.first()) {
        Some(SqlCell::Integer(count)) => Ok(u64::try_from(*count).unwrap_or_default()),
        _ => Err(Error::internal("a count of rows gave no number")),
    }
}

/// More rows than are read at once.
pub(super) fn too_many(of: &str) -> Error {
    let text = format!("{of}: more rows than are read at once; set a limit, or ask for pages");
    Error::new(ErrorCode::LimitExceeded, text)
}
