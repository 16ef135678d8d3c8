//! Running a QueryDSL.

use super::super::load::{MOST, count, too_many};
use super::super::page::RowPage;
use super::super::read_context::ReadContext;
use super::super::statement::RowWindow;
use super::query::QueryDsl;
use crate::error::Result;
use crate::model::TableModels;
use crate::model::database::{AccessMode, SqlRow, Transaction};
use serde_json::{Map, Value};

impl QueryDsl {
    /// Begins a transaction for the query, whose tables are as their models say then.
    pub async fn begin(&self, models: &TableModels) -> Result<Box<dyn Transaction>> {
        let unfit = models.prepare().await?;
        let broken = self.models().into_iter().find_map(|id| unfit.get(id));
        match broken {
            Some(error) => Err(error.clone()),
            None => models.database().begin(AccessMode::Read).await,
        }
    }

    /// The rows.
    pub async fn get(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Vec<Value>> {
        let window = self.window().unwrap_or(RowWindow {
            offset: 0,
            limit: MOST + 1,
        });
        let rows = self.rows(transaction, reading, window).await?;
        let is_said = self.range.limit.or(self.range.pagesize).is_some();
        match !is_said && rows.len() as u64 > MOST {
            true => Err(too_many("Query")),
            false => Ok(rows),
        }
    }

    /// The first row; null if there is none.
    pub async fn first(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Value> {
        let offset = self.window().map_or(0, |window| window.offset);
        let window = RowWindow { offset, limit: 1 };
        let rows = self.rows(transaction, reading, window).await?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// A page of rows: `{data, page, pagesize, pagecnt, next, prev, total}`.
    pub async fn paginate(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Value> {
        let page = RowPage::new(self.range.page, self.range.pagesize);
        let statement = self.count_statement(reading);
        let total = count(transaction, &statement, reading).await?;
        let rows = self.rows(transaction, reading, page.window()).await?;
        Ok(page.shown(rows, total))
    }

    /// What the query says that it asks for: a page, the first row, or the rows.
    pub async fn run(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<Value> {
        if self.range.page.is_some() || self.range.pagesize.is_some() {
            return self.paginate(transaction, reading).await;
        }
        match self.range.first {
            true => self.first(transaction, reading).await,
            false => self.get(transaction, reading).await.map(Value::Array),
        }
    }

    async fn rows(
        &self,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
        window: RowWindow,
    ) -> Result<Vec<Value>> {
        let statement = self.statement(reading, Some(window));
        let statement = reading.dialect().write(&statement);
        let rows = transaction.rows(statement).await?;
        rows.into_iter()
            .map(|row| self.shown(row, reading))
            .collect()
    }

    fn shown(&self, row: SqlRow, reading: &ReadContext<'_>) -> Result<Value> {
        let values = self.outputs.iter().zip(row);
        let values = values.map(|(output, cell)| {
            let value = output.field.holds().script_value(reading.models, cell)?;
            Ok((output.name.clone(), value))
        });
        Ok(Value::Object(values.collect::<Result<Map<_, _>>>()?))
    }
}
