//! How SQL is written for each database.

use sea_query::{PostgresQueryBuilder, QueryStatementBuilder, SqliteQueryBuilder, Value};
use std::time::Duration;

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
    /// No row is read behind the one with which the answer has more bytes than these.
    pub most_bytes: u64,
}

impl SqlStatement {
    /// A statement whose answer is read to its end.
    pub fn new(sql: impl Into<String>, values: Vec<Value>) -> Self {
        Self {
            sql: sql.into(),
            values,
            most_bytes: u64::MAX,
        }
    }
}

impl SqlDialect {
    /// A statement in this dialect, its values bound.
    pub fn write(self, statement: &impl QueryStatementBuilder) -> SqlStatement {
        let (sql, values) = match self {
            Self::Sqlite => statement.build_any(&SqliteQueryBuilder),
            Self::Postgres => statement.build_any(&PostgresQueryBuilder),
        };
        SqlStatement::new(sql, values.0)
    }

    /// How the value at this place is named in a statement, counted from 1.
    pub fn mark(self, at: usize) -> String {
        match self {
            Self::Sqlite => format!("?{at}"),
            Self::Postgres => format!("${at}"),
        }
    }

    /// What ends each further statement of a transaction that takes longer; none where a statement ends with the transaction
    /// that is dropped.
    pub fn time_limit(self, most: Duration) -> Option<SqlStatement> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => {
                // 0 would be no limit.
                let most = most.as_millis().max(1);
                Some(format!("SET LOCAL statement_timeout TO {most}").into())
            }
        }
    }
}

impl From<String> for SqlStatement {
    fn from(sql: String) -> Self {
        Self::new(sql, Vec::new())
    }
}
