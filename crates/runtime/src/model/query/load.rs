//! Running selects: rows as scripts get them, with what is loaded into them.

use super::page::Page;
use super::param::{Select, With};
use super::reading::Reading;
use super::select::Window;
use super::with;
use crate::error::{Code, Error, Result};
use crate::model::Model;
use crate::model::database::{Row, Transaction};
use crate::model::definition::Column;
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_query::SelectStatement;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Rows that are read at most where nobody says how many.
pub const MOST: u64 = 10_000;

/// Rows of a model, before they are objects.
pub(super) struct Rows {
    pub(super) model: Arc<Model>,
    /// The names of their columns, those that are shown first.
    pub(super) columns: Vec<String>,
    /// How many are shown.
    pub(super) shown: usize,
    /// The values in the order of the columns, and behind them what is loaded with the rows.
    pub(super) values: Vec<Vec<Value>>,
    /// The names of what is loaded.
    pub(super) loaded: Vec<String>,
}

impl Select {
    /// The rows.
    pub async fn load(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut Reading<'_>,
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
        reading: &mut Reading<'_>,
    ) -> Result<Option<Value>> {
        let window = Window {
            offset: self.window().0.offset,
            limit: 1,
        };
        Ok(self.rows(transaction, reading, window).await?.pop())
    }

    /// How many rows there are.
    pub async fn count(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut Reading<'_>,
    ) -> Result<u64> {
        let statement = self.count_statement(reading);
        count(transaction, &statement, reading).await
    }

    /// A page of rows: `{data, page, pagesize, pagecnt, next, prev, total}`.
    pub async fn paginate(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut Reading<'_>,
    ) -> Result<Value> {
        let page = Page::new(self.page, self.pagesize);
        let total = self.count(transaction, reading).await?;
        let rows = self.rows(transaction, reading, page.window()).await?;
        Ok(page.shown(rows, total))
    }

    /// Which rows are asked for, and whether somebody has said so.
    pub(super) fn window(&self) -> (Window, bool) {
        if self.page.is_some() || self.pagesize.is_some() {
            return (Page::new(self.page, self.pagesize).window(), true);
        }
        let window = Window {
            offset: 0,
            limit: self.limit.unwrap_or(MOST + 1),
        };
        (window, self.limit.is_some())
    }

    async fn rows(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut Reading<'_>,
        window: Window,
    ) -> Result<Vec<Value>> {
        let columns = self.read_columns(&self.withs);
        let statement = self.statement(reading, (&columns, window));
        let statement = reading.dialect().write(&statement);
        let rows = transaction.rows(statement).await?;
        let mut rows = Rows {
            values: shown(reading, (&self.model, &columns), rows)?,
            columns: columns.iter().map(|column| column.name.clone()).collect(),
            shown: self.shown_columns().len(),
            model: Arc::clone(&self.model),
            loaded: Vec::new(),
        };
        rows.load(&self.withs, transaction, reading).await?;
        Ok(rows.objects())
    }

    /// The columns that must be read: those that are shown, and behind them those that what is loaded hangs on.
    pub(super) fn read_columns(&self, withs: &[With]) -> Vec<&Column> {
        let mut columns = self.shown_columns();
        let firsts = withs.iter().filter_map(|with| with.route.steps.first());
        for step in firsts {
            let known = columns.iter().any(|column| column.name == step.foreign);
            let column = self.model.column(&step.foreign);
            columns.extend(column.filter(|_| !known));
        }
        columns
    }
}

impl Rows {
    /// Loads what is related into the rows.
    pub(super) fn load<'a>(
        &'a mut self,
        withs: &'a [With],
        transaction: &'a mut dyn Transaction,
        reading: &'a mut Reading<'_>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            for with in withs {
                with::load(with, self, (&mut *transaction, &mut *reading)).await?;
            }
            Ok(())
        }
        .boxed()
    }

    /// The rows as objects.
    pub(super) fn objects(self) -> Vec<Value> {
        let (columns, shown) = (self.columns, self.shown);
        let loaded = self.loaded;
        let object = |values: Vec<Value>| {
            let (mut own, behind) = (values, columns.len());
            let related = own.split_off(behind);
            own.truncate(shown);
            let own = columns.iter().cloned().zip(own);
            let related = loaded.iter().cloned().zip(related);
            Value::Object(own.chain(related).collect::<Map<_, _>>())
        };
        self.values.into_iter().map(object).collect()
    }
}

/// Cells as scripts get them; behind those of the columns there may be others, which are left out.
pub(super) fn shown(
    reading: &Reading<'_>,
    (model, columns): (&Model, &[&Column]),
    rows: Vec<Row>,
) -> Result<Vec<Vec<Value>>> {
    let row = |row: Row| {
        let cells = columns.iter().zip(row);
        let cells = cells.map(|(column, cell)| reading.models.shown(model, column, cell));
        cells.collect::<Result<Vec<_>>>()
    };
    rows.into_iter().map(row).collect()
}

/// The number that a statement gives.
pub(super) async fn count(
    transaction: &mut dyn Transaction,
    statement: &SelectStatement,
    reading: &Reading<'_>,
) -> Result<u64> {
    use crate::model::database::Cell;
    let rows = transaction.rows(reading.dialect().write(statement)).await?;
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Integer(count)) => Ok(u64::try_from(*count).unwrap_or_default()),
        _ => Err(Error::internal("a count of rows gave no number")),
    }
}

/// More rows than are read at once.
pub(super) fn too_many(of: &str) -> Error {
    let text = format!("{of}: more rows than are read at once; set a limit, or ask for pages");
    Error::new(Code::LimitExceeded, text)
}
