//! Tables are made and added to when an app is loaded. Nothing is dropped or narrowed.

mod column_width;

use super::database::postgres::{LOCK, WITHOUT_TIME_LIMIT};
use super::database::{AccessMode, SqlCell, SqlDialect, SqlStatement, Transaction, end};
use super::definition::{ColumnDefault, RowObject, TableColumn, TableModel};
use super::row_draft::RowDraft;
use super::{TableModels, rows, table_sql};
use crate::error::{Error, ErrorCode, Result};
use crate::model::SqlValue;
use column_width::ColumnWidth;
use futures::future::BoxFuture;
use serde_json::Value;

/// Brings the table of a model to what the model says, and puts its first rows in. `rows` are all rows of a system model.
pub async fn migrate(
    models: &TableModels,
    model: &TableModel,
    rows: Option<&[RowObject]>,
) -> Result<()> {
    let mut transaction = models.database().begin(AccessMode::Write).await?;
    let work = TableMigration {
        models,
        model,
        transaction: transaction.as_mut(),
    };
    let result = work.run(rows).await;
    end(transaction, result).await.map_err(|error| {
        let code = match error.code {
            ErrorCode::Unavailable => ErrorCode::Unavailable,
            _ => ErrorCode::ConfigError,
        };
        Error {
            code,
            message: format!("models.{}: {}", model.id, error.message),
            ..error
        }
    })
}

/// The columns that the table of a model has, with their types; none where there is no table.
pub async fn stored_columns(
    models: &TableModels,
    model: &TableModel,
    transaction: &mut dyn Transaction,
) -> Result<Vec<(String, String)>> {
    let mut table = TableMigration {
        models,
        model,
        transaction,
    };
    table.found().await
}

struct TableMigration<'a> {
    models: &'a TableModels,
    model: &'a TableModel,
    transaction: &'a mut dyn Transaction,
}

impl TableMigration<'_> {
    async fn run(mut self, rows: Option<&[RowObject]>) -> Result<()> {
        let dialect = self.transaction.dialect();
        if dialect == SqlDialect::Postgres {
            self.sql(WITHOUT_TIME_LIMIT.to_owned()).await?;
            self.transaction.rows(LOCK.to_owned().into()).await?;
        }
        let found = self.found().await?;
        if self.model.options.read_only {
            return self.check(&found);
        }
        match found.is_empty() {
            true => self.sql(table_sql::create(self.model, dialect)).await?,
            false => self.extend(&found).await?,
        }
        self.index().await?;
        match rows {
            Some(rows) => self.replace(rows).await,
            None => self.fill().await,
        }
    }

    async fn sql(&mut self, sql: String) -> Result<()> {
        self.transaction.run(sql.into()).await.map(drop)
    }

    /// The columns that the table has, with their types; none where there is no table.
    async fn found(&mut self) -> Result<Vec<(String, String)>> {
        let sql = match self.transaction.dialect() {
            SqlDialect::Sqlite => "SELECT name, type FROM pragma_table_info(?)",
            SqlDialect::Postgres => {
                "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute \
                 JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace \
                 WHERE nspname = current_schema() AND relname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f') \
                 AND attnum > 0 AND NOT attisdropped"
            }
        };
        let rows = self.about_table(sql).await?;
        let columns = rows.into_iter().filter_map(|row| match row.as_slice() {
            [SqlCell::Text(name), SqlCell::Text(kind)] => Some((name.clone(), kind.clone())),
            _ => None,
        });
        Ok(columns.collect())
    }

    async fn about_table(&mut self, sql: &str) -> Result<Vec<Vec<SqlCell>>> {
        let table = SqlValue::String(Some(self.model.table.clone()));
        let statement = SqlStatement::new(sql, vec![table]);
        self.transaction.rows(statement).await
    }

    /// A table that is somebody else's must have what the model names.
    fn check(&self, found: &[(String, String)]) -> Result<()> {
        let is_there = |column: &&TableColumn| found.iter().any(|(name, _)| *name == column.name);
        let missing = self.model.columns.iter().find(|column| !is_there(column));
        let table = &self.model.table;
        match (found.is_empty(), missing) {
            (true, _) => Err(unfit(format!("there is no table \"{table}\""))),
            (false, Some(column)) => {
                let name = &column.name;
                Err(unfit(format!("table \"{table}\" has no column \"{name}\"")))
            }
            (false, None) => Ok(()),
        }
    }

    async fn extend(&mut self, found: &[(String, String)]) -> Result<()> {
        let (model, dialect) = (self.model, self.transaction.dialect());
        for column in &model.columns {
            let known = found
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(&column.name));
            let Some((_, stored)) = known else {
                self.add(column).await?;
                continue;
            };
            // A number that SQLite gives is as wide as they come.
            if column.is_counted() && dialect == SqlDialect::Sqlite {
                continue;
            }
            let (own, old) = (
                ColumnWidth::parse(&column.sql_type(dialect)),
                ColumnWidth::parse(stored),
            );
            if !own.holds(&old) {
                let (name, kind) = (&column.name, column.sql_type(dialect));
                return Err(unfit(format!(
                    "column \"{name}\" of table \"{}\" is {stored}, which {kind} cannot hold; nothing is narrowed: \
                     keep its type, or use another column",
                    model.table
                )));
            }
            if own != old
                && let Some(sql) = table_sql::widen(model, column, dialect)
            {
                self.sql(sql).await?;
            }
        }
        Ok(())
    }

    async fn add(&mut self, column: &TableColumn) -> Result<()> {
        if column.is_primary {
            let (name, table) = (&column.name, &self.model.table);
            return Err(unfit(format!(
                "table \"{table}\" has no column \"{name}\", and a primary key cannot be added"
            )));
        }
        let dialect = self.transaction.dialect();
        self.sql(table_sql::add(self.model, column, dialect))
            .await?;
        let usual = match &column.default {
            Some(ColumnDefault::Value(value)) => value.clone(),
            Some(ColumnDefault::Now) => Value::String(super::stamp::now()),
            Some(ColumnDefault::Uuid) | None => return Ok(()),
        };
        let bound = self.models.bind(self.model, column, &usual);
        let bound = bound.map_err(|rule| unfit(format!("default of {}: {rule}", column.name)))?;
        let statement = rows::sql::fill(self.model, &column.name, bound);
        let statement = dialect.write(&statement);
        self.transaction.run(statement).await.map(drop)
    }

    async fn index(&mut self) -> Result<()> {
        let sql = match self.transaction.dialect() {
            SqlDialect::Sqlite => "SELECT name FROM pragma_index_list(?)",
            SqlDialect::Postgres => {
                "SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1"
            }
        };
        let known = self.about_table(sql).await?;
        for (name, sql) in table_sql::indexes(self.model) {
            if known
                .iter()
                .any(|row| row[..] == [SqlCell::Text(name.clone())])
            {
                continue;
            }
            self.sql(sql).await.map_err(|error| match error.code {
                ErrorCode::Conflict => {
                    unfit(format!("a unique index cannot be made: {}", error.message))
                }
                _ => error,
            })?;
        }
        Ok(())
    }

    /// The first rows of an empty table.
    async fn fill(&mut self) -> Result<()> {
        if self.model.values.is_empty() {
            return Ok(());
        }
        let any = rows::sql::any(self.model);
        let any = self.transaction.dialect().write(&any);
        if !self.transaction.rows(any).await?.is_empty() {
            return Ok(());
        }
        self.insert(&self.model.values).await
    }

    async fn replace(&mut self, rows: &[RowObject]) -> Result<()> {
        let all = rows::sql::clear(self.model);
        let all = self.transaction.dialect().write(&all);
        self.transaction.run(all).await?;
        self.insert(rows).await
    }

    fn insert<'a>(&'a mut self, rows: &'a [RowObject]) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let draft = RowDraft {
                models: self.models,
                model: self.model,
                who: None,
            };
            for row in rows {
                let cells = draft.create(row.clone()).await?;
                rows::sql::insert(self.transaction, self.models, self.model, &[cells]).await?;
            }
            Ok(())
        })
    }
}

fn unfit(message: String) -> Error {
    Error::new(ErrorCode::ConfigError, message)
}
