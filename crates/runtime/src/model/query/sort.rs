//! Orders that are the same in all databases.

use crate::model::database::SqlDialect;
use sea_query::{Expr, NullOrdering, Order, OrderedStatement};

/// What rows are ordered by.
#[derive(Debug)]
pub struct SortKey {
    /// What is compared.
    pub expr: Expr,
    /// Whether the largest is first.
    pub is_descending: bool,
    /// Whether it may be nothing.
    pub is_nullable: bool,
}

/// Orders a statement: what is nothing is smaller than everything else.
pub fn sort(statement: &mut impl OrderedStatement, sorted: Vec<SortKey>, dialect: SqlDialect) {
    for one in sorted {
        let (order, nulls) = match one.is_descending {
            true => (Order::Desc, NullOrdering::Last),
            false => (Order::Asc, NullOrdering::First),
        };
        // SQLite's order is that by itself; so is PostgreSQL's where there is always something, and only then does it
        // find the order in an index.
        match one.is_nullable && dialect == SqlDialect::Postgres {
            true => statement.order_by_expr_with_nulls(one.expr, order, nulls),
            false => statement.order_by_expr(one.expr, order),
        };
    }
}

/// A text of PostgreSQL's in the order of its bytes, which is SQLite's.
pub(super) fn by_bytes(text: Expr) -> Expr {
    Expr::cust_with_exprs("($1) COLLATE \"C\"", [text])
}
