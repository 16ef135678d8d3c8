//! A QueryDSL as a statement. Each table stands in it as the rows that are there for the caller, so that no join and no
//! condition can reach others.

use super::super::load::MOST;
use super::super::operator::{Operand, Takes, never};
use super::super::page::Page;
use super::super::reading::{Reading, column};
use super::super::select::Window;
use super::super::sort::{Sorted, by_bytes, sort};
use super::function::Argument;
use super::json::Place;
use super::tree::{Dsl, Field, Rows, Source, Test, With};
use crate::model::Model;
use crate::model::database::Dialect;
use sea_query::{
    Alias, Asterisk, Condition, Expr, ExprTrait, Func, Query, SelectStatement, SubQueryOper,
    SubQueryStatement,
};

impl Dsl {
    /// The rows.
    pub fn statement(&self, reading: &mut Reading<'_>, window: Option<Window>) -> SelectStatement {
        let mut rows = self.unordered(reading);
        sort(&mut rows, self.sorted(reading), reading.dialect());
        if let Some(window) = window {
            rows.limit(window.limit);
            if window.offset > 0 {
                rows.offset(window.offset);
            }
        }
        rows
    }

    /// How many rows there are.
    pub fn count_statement(&self, reading: &mut Reading<'_>) -> SelectStatement {
        let name = reading.name();
        let mut count = Query::select();
        count
            .expr(Func::count(Expr::col(Asterisk)))
            .from_subquery(self.unordered(reading), Alias::new(name));
        count
    }

    fn unordered(&self, reading: &mut Reading<'_>) -> SelectStatement {
        let mut rows = Query::select();
        for output in &self.outputs {
            rows.expr_as(output.field.written(reading), Alias::new(&output.name));
        }
        for source in &self.sources {
            source.add(&mut rows, reading);
        }
        if !self.wheres.is_empty() {
            rows.cond_where(self.wheres.condition(&mut |test| test.condition(reading)));
        }
        rows.add_group_by(self.groups.iter().map(|field| field.written(reading)));
        if !self.havings.is_empty() {
            rows.cond_having(self.havings.condition(&mut |test| test.condition(reading)));
        }
        rows
    }

    /// The order; rows that are the same in it are ordered by what tells them apart.
    fn sorted(&self, reading: &mut Reading<'_>) -> Vec<Sorted> {
        let mut sorted = Vec::new();
        for (field, is_descending) in &self.orders {
            self.sort(field, (*is_descending, &mut sorted), reading);
        }
        if self.is_grouped() {
            for field in &self.groups {
                self.sort(field, (false, &mut sorted), reading);
            }
            return sorted;
        }
        let keys = self.sources.iter().filter_map(|source| match &source.rows {
            Rows::Model(model) => Some(column(&source.alias, &model.key()?.name)),
            Rows::Query(_) => None,
        });
        sorted.extend(keys.map(|expr| Sorted {
            expr,
            is_descending: false,
            is_nullable: self.sources.len() > 1,
        }));
        sorted
    }

    /// Adds a field to the order. Rows of a group have its value alone, not what that is made of.
    fn sort(
        &self,
        field: &Field,
        (is_descending, sorted): (bool, &mut Vec<Sorted>),
        reading: &Reading<'_>,
    ) {
        let expressions = match (field.place(reading), reading.dialect()) {
            (Some(place), _) if !self.is_grouped() => place.order().to_vec(),
            (Some(place), Dialect::Postgres) => vec![by_bytes(place.json())],
            _ => vec![field.written(reading)],
        };
        sorted.extend(expressions.into_iter().map(|expr| Sorted {
            expr,
            is_descending,
            is_nullable: true,
        }));
    }

    /// Which rows are asked for, where somebody has said so.
    pub fn window(&self) -> Option<Window> {
        let cut = &self.cut;
        if cut.page.is_some() || cut.pagesize.is_some() {
            return Some(Page::new(cut.page, cut.pagesize).window());
        }
        let limit = if cut.first { Some(1) } else { cut.limit };
        (limit.is_some() || cut.offset.is_some()).then(|| Window {
            offset: cut.offset.unwrap_or_default(),
            limit: limit.unwrap_or(MOST + 1),
        })
    }

    /// As a query within another.
    fn within(&self, reading: &mut Reading<'_>, limit: Option<u64>) -> SelectStatement {
        let window = self.window();
        let window = match limit {
            Some(limit) => Some(Window {
                offset: window.map_or(0, |window| window.offset),
                limit: window.map_or(limit, |window| std::cmp::min(window.limit, limit)),
            }),
            None => window,
        };
        self.statement(reading, window)
    }
}

impl Source {
    fn add(&self, rows: &mut SelectStatement, reading: &mut Reading<'_>) {
        let own = match &self.rows {
            Rows::Model(model) => visible(model, reading),
            Rows::Query(dsl) => dsl.within(reading, None),
        };
        let alias = Alias::new(&self.alias);
        match &self.join {
            None => rows.from_subquery(own, alias),
            Some(join) => {
                let same = join.key.written(reading).eq(join.foreign.written(reading));
                rows.join_subquery(join.kind, own, alias, Condition::all().add(same))
            }
        };
    }
}

/// The rows of a model that are there for the caller.
fn visible(model: &Model, reading: &mut Reading<'_>) -> SelectStatement {
    let table = reading.name();
    let mut rows = Query::select();
    for one in &model.columns {
        rows.expr(column(&table, &one.name));
    }
    rows.from_as(Alias::new(&model.table), Alias::new(&table))
        .cond_where(reading.visible(model, &table));
    rows
}

impl Field {
    /// As an expression.
    fn written(&self, reading: &Reading<'_>) -> Expr {
        match self {
            Self::Column { source, name, .. } => column(source, name),
            Self::Path { .. } => self
                .place(reading)
                .map_or(Expr::cust("NULL"), |it| it.json()),
            Self::Function {
                function,
                argument,
                is_distinct,
            } => {
                let argument = Argument {
                    expr: argument.as_ref().map(|field| field.written(reading)),
                    is_distinct: *is_distinct,
                    holds: argument.as_ref().map(|field| field.holds()),
                };
                function.write(&argument, reading.dialect())
            }
            Self::Bound { value, holds } => {
                let kind = holds.look(|column| column.sql_type(reading.dialect()));
                // Its collation is none of a type's.
                let kind = kind.split(" COLLATE").next().unwrap_or_default().to_owned();
                Expr::val(value.clone()).cast_as(Alias::new(kind))
            }
        }
    }

    fn place(&self, reading: &Reading<'_>) -> Option<Place<'_>> {
        match self {
            Self::Path { source, name, path } => Some(Place {
                column: (source, name),
                path,
                dialect: reading.dialect(),
            }),
            _ => None,
        }
    }
}

impl Test {
    fn condition(&self, reading: &mut Reading<'_>) -> Condition {
        let place = self.field.place(reading);
        match (&self.with, place) {
            (With::Json(value), Some(place)) => place.meets(self.operator, value),
            (With::Operand(Operand::Null), Some(place)) => match self.operator.names[0] {
                "null" => place.is_null().into(),
                _ => place.is_null().not().into(),
            },
            (With::Operand(operand), _) => {
                let left = self.field.written(reading);
                let (operand, dialect) = (operand.clone(), reading.dialect());
                self.operator.write(left, operand, dialect).into()
            }
            (With::Query(dsl), _) => self.with_query(dsl, reading),
            (With::Json(_), None) => never().into(),
        }
    }

    fn with_query(&self, dsl: &Dsl, reading: &mut Reading<'_>) -> Condition {
        let left = self.field.written(reading);
        if self.operator.takes == Takes::List {
            return left.in_subquery(dsl.within(reading, None)).into();
        }
        let one = SubQueryStatement::SelectStatement(dsl.within(reading, Some(1)));
        let one = Expr::SubQuery(None::<SubQueryOper>, Box::new(one));
        self.operator.against(left, one).into()
    }
}
