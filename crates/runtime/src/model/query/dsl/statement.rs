//! A QueryDSL as a statement. Each table stands in it as the rows that are there for the caller, so that no join and no
//! condition can reach others.

use super::super::load::MOST;
use super::super::operator::{Operand, OperandKind, never};
use super::super::page::RowPage;
use super::super::read_context::{ReadContext, column};
use super::super::sort::{SortKey, by_bytes, sort};
use super::super::statement::RowWindow;
use super::function::FunctionArgument;
use super::json_path::JsonPath;
use super::query::{FieldCondition, FieldOperand, QueryDsl, QueryField, QuerySource, SourceRows};
use crate::model::TableModel;
use crate::model::database::SqlDialect;
use sea_query::{
    Alias, Condition, Expr, ExprTrait, Func, Query, SelectStatement, SubQueryOper,
    SubQueryStatement,
};

impl QueryDsl {
    /// The rows.
    pub fn statement(
        &self,
        reading: &mut ReadContext<'_>,
        window: Option<RowWindow>,
    ) -> SelectStatement {
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
    pub fn count_statement(&self, reading: &mut ReadContext<'_>) -> SelectStatement {
        let name = reading.name();
        let mut count = Query::select();
        count
            .expr(Func::count(Expr::cust("1")))
            .from_subquery(self.unordered(reading), Alias::new(name));
        count
    }

    fn unordered(&self, reading: &mut ReadContext<'_>) -> SelectStatement {
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
    fn sorted(&self, reading: &mut ReadContext<'_>) -> Vec<SortKey> {
        let mut sorted = Vec::new();
        for (field, is_descending) in &self.orders {
            sorted.extend(self.sort_keys(field, *is_descending, reading));
        }
        if self.is_grouped() {
            for field in &self.groups {
                sorted.extend(self.sort_keys(field, false, reading));
            }
            return sorted;
        }
        let keys = self.sources.iter().filter_map(|source| match &source.rows {
            SourceRows::Model(model) => Some(column(&source.alias, &model.key()?.name)),
            SourceRows::Query(_) => None,
        });
        sorted.extend(keys.map(|expr| SortKey {
            expr,
            is_descending: false,
            is_nullable: self.sources.len() > 1,
        }));
        sorted
    }

    /// A field in the order. Rows of a group have its value alone, not what that is made of.
    fn sort_keys(
        &self,
        field: &QueryField,
        is_descending: bool,
        reading: &ReadContext<'_>,
    ) -> impl Iterator<Item = SortKey> + use<> {
        let expressions = match (field.json_path(reading), reading.dialect()) {
            (Some(path), _) if !self.is_grouped() => path.order().to_vec(),
            (Some(path), SqlDialect::Postgres) => vec![by_bytes(path.json())],
            _ => vec![field.written(reading)],
        };
        expressions.into_iter().map(move |expr| SortKey {
            expr,
            is_descending,
            is_nullable: true,
        })
    }

    /// Which rows are asked for, where somebody has said so.
    pub fn window(&self) -> Option<RowWindow> {
        let range = &self.range;
        if range.page.is_some() || range.pagesize.is_some() {
            return Some(RowPage::new(range.page, range.pagesize).window());
        }
        let limit = if range.first { Some(1) } else { range.limit };
        (limit.is_some() || range.offset.is_some()).then(|| RowWindow {
            offset: range.offset.unwrap_or_default(),
            limit: limit.unwrap_or(MOST + 1),
        })
    }

    /// As a query within another.
    fn within(&self, reading: &mut ReadContext<'_>, limit: Option<u64>) -> SelectStatement {
        let window = self.window();
        let window = match limit {
            Some(limit) => Some(RowWindow {
                offset: window.map_or(0, |window| window.offset),
                limit: window.map_or(limit, |window| std::cmp::min(window.limit, limit)),
            }),
            None => window,
        };
        self.statement(reading, window)
    }
}

impl QuerySource {
    fn add(&self, rows: &mut SelectStatement, reading: &mut ReadContext<'_>) {
        let own = match &self.rows {
            SourceRows::Model(model) => self.visible(model, reading),
            SourceRows::Query(dsl) => dsl.within(reading, None),
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

    /// The rows of a model that are there for the caller, and that meet what narrows them.
    fn visible(&self, model: &TableModel, reading: &mut ReadContext<'_>) -> SelectStatement {
        let table = reading.name();
        let mut rows = Query::select();
        for one in &model.columns {
            rows.expr(column(&table, &one.name));
        }
        let condition = match &self.narrowed {
            Some(narrowed) => narrowed.condition(reading, &table),
            None => reading.visible(model, &table),
        };
        rows.from_as(Alias::new(&model.table), Alias::new(&table))
            .cond_where(condition);
        rows
    }
}

impl QueryField {
    /// As an expression.
    fn written(&self, reading: &ReadContext<'_>) -> Expr {
        match self {
            Self::Column { source, name, .. } => column(source, name),
            Self::Path { .. } => self
                .json_path(reading)
                .map_or(Expr::cust("NULL"), |it| it.json()),
            Self::Function {
                function,
                argument,
                is_distinct,
            } => {
                let argument = FunctionArgument {
                    expr: argument.as_ref().map(|field| field.written(reading)),
                    is_distinct: *is_distinct,
                    holds: argument.as_ref().map(|field| field.holds()),
                };
                function.write(&argument, reading.dialect())
            }
            Self::SqlValue { value, holds } => {
                let kind = holds.look(|column| column.sql_type(reading.dialect()));
                // Its collation is none of a type's.
                let kind = kind.split(" COLLATE").next().unwrap_or_default().to_owned();
                Expr::val(value.clone()).cast_as(Alias::new(kind))
            }
        }
    }

    fn json_path(&self, reading: &ReadContext<'_>) -> Option<JsonPath<'_>> {
        match self {
            Self::Path { source, name, path } => Some(JsonPath {
                column: (source, name),
                path,
                dialect: reading.dialect(),
            }),
            _ => None,
        }
    }
}

impl FieldCondition {
    fn condition(&self, reading: &mut ReadContext<'_>) -> Condition {
        let path = self.field.json_path(reading);
        match (&self.with, path) {
            (FieldOperand::Json(value), Some(path)) => path.meets(self.operator, value),
            (FieldOperand::Operand(Operand::Null), Some(path)) => match self.operator.names[0] {
                "null" => path.is_null().into(),
                _ => path.is_null().not().into(),
            },
            (FieldOperand::Operand(operand), _) => {
                let left = self.field.written(reading);
                let (operand, dialect) = (operand.clone(), reading.dialect());
                self.operator.write(left, operand, dialect).into()
            }
            (FieldOperand::Query(dsl), _) => self.with_query(dsl, reading),
            (FieldOperand::Json(_), None) => never().into(),
        }
    }

    fn with_query(&self, dsl: &QueryDsl, reading: &mut ReadContext<'_>) -> Condition {
        let left = self.field.written(reading);
        if self.operator.takes == OperandKind::List {
            return left.in_subquery(dsl.within(reading, None)).into();
        }
        let one = SubQueryStatement::SelectStatement(dsl.within(reading, Some(1)));
        let one = Expr::SubQuery(None::<SubQueryOper>, Box::new(one));
        self.operator.against(left, one).into()
    }
}
