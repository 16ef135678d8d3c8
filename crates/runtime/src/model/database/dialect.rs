//! How SQL is written for each database.

use sea_query::{PostgresQueryBuilder, QueryStatementBuilder, SqliteQueryBuilder, Value};

/// The databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlDialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// SQL and the values of its places.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlStatement {
    /// The SQL.
    pub sql: String,
    /// The values, in order.
    pub values: Vec<Value>,
}

impl SqlDialect {
    /// A statement in this dialect, its values bound.
    pub fn write(self, statement: &impl QueryStatementBuilder) -> SqlStatement {
        let (sql, values) = match self {
            Self::Sqlite => statement.build_any(&SqliteQueryBuilder),
            Self::Postgres => statement.build_any(&PostgresQueryBuilder),
        };
        SqlStatement {
            sql,
            values: values.0,
        }
    }
}

impl From<String> for SqlStatement {
    fn from(sql: String) -> Self {
        Self {
            sql,
            values: Vec::new(),
        }
    }
}
