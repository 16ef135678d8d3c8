//! The values of an encrypted column in pages, each behind the last row of the one before, and what changes those of a page.

use crate::error::Result;
use crate::model::SqlValue;
use crate::model::database::{SqlCell, SqlDialect, SqlStatement, Transaction};
use crate::model::database_note::text;
use crate::model::definition::{TableColumn, TableModel};

/// Values that are changed in one transaction.
const PAGE: usize = 500;

/// The key of a table in SQLite, and whether every row has one.
const SQLITE_KEY: &str =
    "SELECT name, \"notnull\" OR upper(type) = 'INTEGER' FROM pragma_table_info(?1) WHERE pk > 0";
/// The key of a table in PostgreSQL, and whether its values are bound as they are read: moments are not, of which seconds are.
const POSTGRES_KEY: &str = "SELECT attname::text, atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, \
     'text'::regtype, 'varchar'::regtype, 'uuid'::regtype) FROM pg_index \
     JOIN pg_class ON pg_class.oid = indrelid JOIN pg_namespace n ON n.oid = relnamespace \
     JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) \
     WHERE nspname = current_schema() AND relname = $1 AND indisprimary";

/// A column, and how far it was gone through.
pub struct ColumnPages<'a> {
    model: &'a TableModel,
    column: &'a TableColumn,
    /// The column that rows are ordered by: the key, whose index leads to each page; the encrypted one itself where the table has
    /// no key, so that each page is found by reading all of it.
    order: &'a TableColumn,
    after: Option<SqlValue>,
}

/// Some rows.
pub struct ColumnPage {
    /// Their values; an empty one for what is no text.
    pub values: Vec<String>,
    /// Where the last one stands.
    pub last: SqlValue,
}

/// A value as it is stored, and as it is to be.
pub struct ResealedValue {
    /// As it is stored.
    pub stored: String,
    /// As it is to be.
    pub wanted: String,
}

impl<'a> ColumnPages<'a> {
    /// A column that is stored, from its beginning on.
    pub async fn of(
        transaction: &mut dyn Transaction,
        model: &'a TableModel,
        column: &'a TableColumn,
    ) -> Result<Self> {
        let mut order = column;
        if let Some(key) = model.key()
            && is_key(transaction, model, key).await?
        {
            order = key;
        }
        Ok(Self {
            model,
            column,
            order,
            after: None,
        })
    }

    /// The next page; none at the end.
    pub async fn next(&self, transaction: &mut dyn Transaction) -> Result<Option<ColumnPage>> {
        let dialect = transaction.dialect();
        let (table, name, order) = (&self.model.table, &self.column.name, &self.order.name);
        let mut bound = Vec::new();
        let behind = self.behind(dialect, &mut bound);
        let distinct = if self.is_by_key() { "" } else { "DISTINCT " };
        let lock = self.lock(dialect);
        let sql = format!(
            "SELECT {distinct}\"{order}\", \"{name}\" FROM \"{table}\" \
             WHERE {behind}\"{name}\" IS NOT NULL ORDER BY 1 LIMIT {PAGE}{lock}"
        );
        let rows = transaction.rows(SqlStatement::new(sql, bound)).await?;
        let (mut values, mut last) = (Vec::with_capacity(rows.len()), None);
        for row in rows {
            let mut cells = row.into_iter();
            last = cells.next();
            values.push(match cells.next() {
                Some(SqlCell::Text(value)) => value,
                _ => String::new(),
            });
        }
        Ok(last.map(|last| ColumnPage {
            values,
            last: bound_value(last),
        }))
    }

    /// Goes on behind this row.
    pub fn go_behind(&mut self, last: SqlValue) {
        self.after = Some(last);
    }

    /// Changes these values in the rows of the page that ends with this one.
    pub fn change(
        &self,
        dialect: SqlDialect,
        last: &SqlValue,
        values: &[ResealedValue],
    ) -> SqlStatement {
        let (table, name, order) = (&self.model.table, &self.column.name, &self.order.name);
        let mut bound = Vec::new();
        let behind = self.behind(dialect, &mut bound);
        bound.push(last.clone());
        let end = dialect.mark(bound.len());
        let (mut cases, mut marks) = (String::new(), Vec::new());
        for value in values {
            bound.extend([text(&value.stored), text(&value.wanted)]);
            let (stored, wanted) = (dialect.mark(bound.len() - 1), dialect.mark(bound.len()));
            cases.push_str(&format!(" WHEN {stored} THEN {wanted}"));
            marks.push(stored);
        }
        let marks = marks.join(", ");
        let sql = format!(
            "UPDATE \"{table}\" SET \"{name}\" = CASE \"{name}\"{cases} ELSE \"{name}\" END \
             WHERE {behind}\"{order}\" <= {end} AND \"{name}\" IN ({marks})"
        );
        SqlStatement::new(sql, bound)
    }

    fn is_by_key(&self) -> bool {
        self.order.name != self.column.name
    }

    fn behind(&self, dialect: SqlDialect, bound: &mut Vec<SqlValue>) -> String {
        let Some(after) = &self.after else {
            return String::new();
        };
        bound.push(after.clone());
        let mark = dialect.mark(bound.len());
        format!("\"{}\" > {mark} AND ", self.order.name)
    }

    /// Nobody changes a row between the look at it and its change: what it gets would stay, as its page is passed. SQLite
    /// has one writer at a time.
    fn lock(&self, dialect: SqlDialect) -> &'static str {
        let is_own = !self.model.options.read_only;
        match dialect == SqlDialect::Postgres && self.is_by_key() && is_own {
            true => " FOR UPDATE",
            false => "",
        }
    }
}

/// Whether every row of the table has a value of its own there, by which it is found again.
async fn is_key(
    transaction: &mut dyn Transaction,
    model: &TableModel,
    key: &TableColumn,
) -> Result<bool> {
    let sql = match transaction.dialect() {
        SqlDialect::Sqlite => SQLITE_KEY,
        SqlDialect::Postgres => POSTGRES_KEY,
    };
    let asked = SqlStatement::new(sql, vec![text(&model.table)]);
    let found = transaction.rows(asked).await?;
    Ok(found == [[SqlCell::Text(key.name.clone()), SqlCell::Integer(1)]])
}

fn bound_value(cell: SqlCell) -> SqlValue {
    match cell {
        SqlCell::Null => SqlValue::String(None),
        SqlCell::Integer(number) => SqlValue::BigInt(Some(number)),
        SqlCell::Real(number) => SqlValue::Double(Some(number)),
        SqlCell::Text(text) => SqlValue::String(Some(text)),
        SqlCell::Bytes(bytes) => SqlValue::Bytes(Some(bytes)),
    }
}
