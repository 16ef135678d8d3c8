//! Writing for a caller: only to rows within reach, and never out of it.

use super::{MethodCall, sql};
use crate::error::{Error, ErrorCode, Result};
use crate::model::SqlValue;
use crate::model::permission::reach;
use crate::model::query;
use crate::model::row_draft::ColumnValues;
use crate::model::stamp;
use sea_query::{Alias, Condition, UpdateStatement};
use serde_json::Value;

impl MethodCall<'_> {
    /// Refuses a caller of whom not enough is known.
    pub(super) fn may_write(&self) -> Result<()> {
        let within = reach(self.models, self.model, self.who, &self.model.table);
        within.map(drop).map_err(|why| {
            let message = format!("permission_denied: {why}");
            Error::new(ErrorCode::PermissionDenied, message)
        })
    }

    /// Puts rows in, and answers with their ids.
    pub(super) async fn insert(&mut self, rows: &[ColumnValues]) -> Result<Vec<Value>> {
        let transaction = self.transaction.as_mut();
        let inserted = sql::insert(transaction, self.models, self.model, rows).await;
        let ids = inserted.map_err(|error| self.with_model_id(error))?;
        self.check_still_reachable(ids.clone()).await?;
        Ok(ids)
    }

    /// Changes the rows that a condition holds for. The answer is how many that were.
    pub(super) async fn update(
        &mut self,
        cells: &ColumnValues,
        condition: Condition,
    ) -> Result<u64> {
        if cells.is_empty() {
            return self.count(condition).await;
        }
        let mut statement = sql::update(self.model, cells, condition);
        if !self.is_bound() {
            return self.run(&statement).await;
        }
        let ids = self.returned(&mut statement).await?;
        let count = ids.len() as u64;
        self.check_still_reachable(ids).await?;
        Ok(count)
    }

    /// Deletes the rows that a condition holds for: marked as deleted where the model has that, unless it is for good.
    pub(super) async fn remove(&mut self, condition: Condition, is_for_good: bool) -> Result<u64> {
        if is_for_good || !self.model.options.soft_deletes {
            let statement = sql::delete(self.model, condition);
            let statement = self.reading.dialect().write(&statement);
            let removed = self.transaction.run(statement).await;
            return removed.map_err(|error| self.with_model_id(error));
        }
        let row = stamp::delete(self.model, self.who);
        let cells = row.iter().filter_map(|(name, value)| {
            let bound = self.model.column(name)?.plain(value).ok()?;
            Some((name.clone(), bound))
        });
        let cells: ColumnValues = cells.collect();
        let statement = sql::update(self.model, &cells, condition);
        self.run(&statement).await
    }

    async fn run(&mut self, statement: &UpdateStatement) -> Result<u64> {
        let statement = self.reading.dialect().write(statement);
        let changed = self.transaction.run(statement).await;
        changed.map_err(|error| self.with_model_id(error))
    }

    async fn returned(&mut self, statement: &mut UpdateStatement) -> Result<Vec<Value>> {
        let Some(key) = self.model.key() else {
            return Err(self.outside_constraints());
        };
        statement.returning_col(Alias::new(&key.name));
        let statement = self.reading.dialect().write(statement);
        let rows = self.transaction.rows(statement).await;
        let rows = rows.map_err(|error| self.with_model_id(error))?;
        sql::keys(self.models, self.model, key, rows)
    }

    /// How many rows a condition holds for.
    async fn count(&mut self, condition: Condition) -> Result<u64> {
        let statement = query::counting(self.model, condition);
        query::count(self.transaction.as_mut(), &statement, &self.reading).await
    }

    /// Whether rows that the caller writes must have certain values, which stamps do not see to.
    fn is_bound(&self) -> bool {
        let has_extra = self.who.constraints.extra.is_some();
        has_extra && self.model.options.permission.is_some()
    }

    /// Refuses rows that the caller has written and could not reach any more.
    pub(super) async fn check_still_reachable(&mut self, ids: Vec<Value>) -> Result<()> {
        if !self.is_bound() {
            return Ok(());
        }
        let Some(key) = self.model.key() else {
            return Err(self.outside_constraints());
        };
        let bound = ids.iter().map(|id| self.models.bind(self.model, key, id));
        let bound: Result<Vec<SqlValue>, String> = bound.collect();
        let bound = bound.map_err(Error::internal)?;
        let within = reach(self.models, self.model, self.who, &self.model.table);
        let within = within.map_err(|_| self.outside_constraints())?;
        let all = sql::with_keys(self.model, key, bound).add(within);
        match self.count(all).await? == ids.len() as u64 {
            true => Ok(()),
            false => Err(self.outside_constraints()),
        }
    }

    fn outside_constraints(&self) -> Error {
        let message = format!(
            "permission_denied: models.{}: the row would be outside authorized.constraints.extra",
            self.model.id
        );
        Error::new(ErrorCode::PermissionDenied, message)
    }

    /// A failure of the database, with the model's name.
    pub(super) fn with_model_id(&self, error: Error) -> Error {
        match error.code {
            ErrorCode::Conflict | ErrorCode::InvalidArgument => Error {
                message: format!("models.{}: {}", self.model.id, error.message),
                ..error
            },
            _ => error,
        }
    }
}
