//! Selects as statements.

use super::query_param::{QueryOrder, QueryParam};
use super::read_context::{ReadContext, column};
use super::relation::RelationStep;
use super::sort::{SortKey, sort};
use crate::model::column_kind::ColumnShape;
use crate::model::definition::{TableColumn, TableModel};
use sea_query::{
    Alias, Condition, Expr, ExprTrait, Func, Query, SelectStatement, SubQueryStatement,
};

/// Which of the rows that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWindow {
    /// So many are passed over.
    pub offset: u64,
    /// So many at most.
    pub limit: u64,
}

impl QueryParam {
    /// Everything that rows must meet: they are there for the caller, have the key if one is meant, and meet what the
    /// caller asks. `table` is what the statement calls the model's table; in changes that is its own name.
    pub fn condition(&self, reading: &mut ReadContext<'_>, table: &str) -> Condition {
        let mut all = reading.visible(&self.model, table);
        if let Some((name, value)) = &self.key {
            all = all.add(column(table, name).eq(value.clone()));
        }
        if !self.wheres.is_empty() {
            all = all.add(self.wheres.on(reading, table));
        }
        all
    }

    /// The rows, with these columns in order.
    pub fn statement(
        &self,
        reading: &mut ReadContext<'_>,
        columns: &[&TableColumn],
        window: RowWindow,
    ) -> SelectStatement {
        let table = self.model.table.as_str();
        let mut rows = Query::select();
        for one in columns {
            let whole = column(table, &one.name);
            let is_text = one.kind.shape == ColumnShape::Text && one.crypt.is_none();
            match self.text_limit.filter(|_| is_text) {
                Some(most) => rows.expr_as(beginning(whole, most), Alias::new(&one.name)),
                None => rows.expr(whole),
            };
        }
        rows.from(Alias::new(table))
            .cond_where(self.condition(reading, table))
            .limit(window.limit);
        if window.offset > 0 {
            rows.offset(window.offset);
        }
        let sorted = self.sorted(reading, table);
        sort(&mut rows, sorted, reading.dialect());
        rows
    }

    /// How many rows there are.
    pub fn count_statement(&self, reading: &mut ReadContext<'_>) -> SelectStatement {
        counting(&self.model, self.condition(reading, &self.model.table))
    }

    /// The order of rows; rows that are the same in it are ordered by their key.
    pub(super) fn sorted(&self, reading: &mut ReadContext<'_>, table: &str) -> Vec<SortKey> {
        let orders = self.orders.iter();
        let mut sorted: Vec<SortKey> = orders.map(|by| by.sorted(reading, table)).collect();
        let is_key = |by: &QueryOrder| {
            let key = self.model.key();
            by.route.is_none() && key.is_some_and(|key| key.name == by.column)
        };
        if !self.orders.iter().any(is_key) {
            sorted.extend(tie(&self.model, table));
        }
        sorted
    }

    /// The columns that rows have.
    pub fn shown_columns(&self) -> Vec<&TableColumn> {
        if self.columns.is_empty() {
            return self.model.readable().collect();
        }
        let names = self.columns.iter();
        names.filter_map(|name| self.model.column(name)).collect()
    }
}

/// The first characters of a text.
fn beginning(text: Expr, most: u32) -> Expr {
    let range = [1, most].map(|number| Expr::cust(number.to_string()));
    let arguments = std::iter::once(text).chain(range);
    Func::cust(Alias::new("SUBSTR")).args(arguments).into()
}

/// How many rows of a model a condition holds for.
pub fn counting(model: &TableModel, condition: Condition) -> SelectStatement {
    let mut count = Query::select();
    count
        // Not of `*`: SQLite counts that in one step, in which nothing can stop it.
        .expr(Func::count(Expr::cust("1")))
        .from(Alias::new(&model.table))
        .cond_where(condition);
    count
}

impl QueryOrder {
    fn sorted(&self, reading: &mut ReadContext<'_>, table: &str) -> SortKey {
        let steps = self.route.as_ref().map_or(&[][..], |route| &route.steps);
        SortKey {
            expr: related(steps, reading, table, &self.column),
            is_descending: self.is_descending,
            is_nullable: self.is_nullable,
        }
    }
}

/// The column of the row that the steps lead to.
fn related(steps: &[RelationStep], reading: &mut ReadContext<'_>, table: &str, name: &str) -> Expr {
    let Some((step, rest)) = steps.split_first() else {
        return column(table, name);
    };
    let own = reading.name();
    let mut rows = Query::select();
    rows.expr(related(rest, reading, &own, name))
        .from_as(Alias::new(&step.model.table), Alias::new(&own))
        .cond_where(column(&own, &step.key).eq(column(table, &step.foreign)))
        .cond_where(step.condition(reading, &own))
        .limit(1);
    let sorted = match step.query() {
        Some(query) => query.sorted(reading, &own),
        None => tie(&step.model, &own).into_iter().collect(),
    };
    sort(&mut rows, sorted, reading.dialect());
    Expr::SubQuery(None, Box::new(SubQueryStatement::SelectStatement(rows)))
}

/// The order of rows that no other order tells apart.
pub(super) fn tie(model: &TableModel, table: &str) -> Option<SortKey> {
    Some(SortKey {
        expr: column(table, &model.key()?.name),
        is_descending: false,
        is_nullable: false,
    })
}
