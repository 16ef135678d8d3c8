//! A QueryDSL, read and checked.

use super::super::chain::ConditionChain;
use super::super::operator::{ComparisonOperator, Operand};
use super::super::query_param::QueryParam;
use super::field::JsonPathStep;
use super::field_type::FieldType;
use super::function::QueryFunction;
use crate::model::SqlValue;
use crate::model::TableModel;
use sea_query::JoinType;
use serde_json::Value;
use std::sync::Arc;

/// A query.
#[derive(Clone, Debug)]
pub struct QueryDsl {
    /// Where the rows come from: the first by itself, the others joined to those before.
    pub sources: Vec<QuerySource>,
    /// What rows have.
    pub outputs: Vec<QueryOutput>,
    /// What rows must be.
    pub wheres: ConditionChain<FieldCondition>,
    /// What makes rows one.
    pub groups: Vec<QueryField>,
    /// What those must be.
    pub havings: ConditionChain<FieldCondition>,
    /// The order, and whether the largest is first.
    pub orders: Vec<(QueryField, bool)>,
    /// Which rows.
    pub range: RowRange,
}

/// Which rows of those that match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowRange {
    /// Only the first.
    pub first: bool,
    /// So many at most.
    pub limit: Option<u64>,
    /// So many are passed over.
    pub offset: Option<u64>,
    /// A page, from 1.
    pub page: Option<u64>,
    /// Rows of a page.
    pub pagesize: Option<u64>,
}

/// A table, or what stands in its place.
#[derive(Clone, Debug)]
pub struct QuerySource {
    /// What the statement calls it.
    pub alias: String,
    /// Its rows.
    pub rows: SourceRows,
    /// How it is joined; not for the first.
    pub join: Option<SourceJoin>,
    /// What rows of a model must meet beside being there for the caller.
    pub narrowed: Option<Arc<QueryParam>>,
}

/// Rows of a source.
#[derive(Clone, Debug)]
pub enum SourceRows {
    /// Those of a model that are there for the caller.
    Model(Arc<TableModel>),
    /// Those of a query.
    Query(Box<QueryDsl>),
}

/// How a source is joined.
#[derive(Clone, Debug)]
pub struct SourceJoin {
    /// Which rows stay that have no other.
    pub kind: JoinType,
    /// A field of one side.
    pub key: QueryField,
    /// And the one of the other side that is the same.
    pub foreign: QueryField,
}

/// What rows have.
#[derive(Clone, Debug)]
pub struct QueryOutput {
    /// Its name.
    pub name: String,
    /// What it is.
    pub field: QueryField,
}

/// Something that is computed from a row or from many.
#[derive(Clone, Debug)]
pub enum QueryField {
    /// A column of a source.
    Column {
        /// What the statement calls the source.
        source: String,
        /// The column.
        name: String,
        /// Its values.
        holds: FieldType,
    },
    /// What is within the JSON of a column.
    Path {
        /// What the statement calls the source.
        source: String,
        /// The column.
        name: String,
        /// The way into it.
        path: Vec<JsonPathStep>,
    },
    /// A function of a column, or of `*`.
    Function {
        /// The function.
        function: &'static QueryFunction,
        /// The column.
        argument: Option<Box<Self>>,
        /// Whether the same values count once.
        is_distinct: bool,
    },
    /// A value that is given beside the query.
    SqlValue {
        /// The value.
        value: SqlValue,
        /// What it is.
        holds: FieldType,
    },
}

/// A condition.
#[derive(Clone, Debug)]
pub struct FieldCondition {
    /// What is compared.
    pub field: QueryField,
    /// How.
    pub operator: &'static ComparisonOperator,
    /// With what.
    pub with: FieldOperand,
}

/// What a condition compares with.
#[derive(Clone, Debug)]
pub enum FieldOperand {
    /// Values.
    Operand(Operand),
    /// Values within JSON, which have a type each.
    Json(Value),
    /// What a query gives.
    Query(Box<QueryDsl>),
}

impl FieldCondition {
    /// How many values each of its comparisons has: values within JSON are compared one by one.
    pub fn weights(&self) -> Vec<usize> {
        match &self.with {
            FieldOperand::Operand(operand) => vec![operand.weight()],
            FieldOperand::Json(Value::Array(values)) => vec![1; values.len()],
            FieldOperand::Json(_) | FieldOperand::Query(_) => vec![1],
        }
    }
}

impl QueryField {
    /// Its values.
    pub fn holds(&self) -> FieldType {
        match self {
            Self::Column { holds, .. } | Self::SqlValue { holds, .. } => holds.clone(),
            Self::Path { .. } => FieldType::plain("json"),
            Self::Function {
                function, argument, ..
            } => {
                let argument = argument.as_ref().map(|field| field.holds());
                function.gives(argument.as_ref())
            }
        }
    }

    /// Whether it makes one value of many rows.
    pub fn is_aggregate(&self) -> bool {
        matches!(self, Self::Function { function, .. } if function.is_aggregate)
    }

    /// Whether both say the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Column { source, name, .. },
                Self::Column {
                    source: from,
                    name: of,
                    ..
                },
            ) => source == from && name == of,
            (
                Self::Path { source, name, path },
                Self::Path {
                    source: from,
                    name: of,
                    path: way,
                },
            ) => source == from && name == of && path == way,
            (
                Self::Function {
                    function,
                    argument: Some(argument),
                    ..
                },
                Self::Function {
                    function: called,
                    argument: Some(with),
                    ..
                },
            ) => function.name == called.name && argument.is_same(with),
            _ => false,
        }
    }

    /// The fields that must be the same in all rows that are made one, where this one is shown.
    pub fn is_fixed(&self, groups: &[Self]) -> bool {
        let is_group = |field: &Self| groups.iter().any(|group| group.is_same(field));
        match self {
            Self::SqlValue { .. } => true,
            Self::Function {
                function, argument, ..
            } if !function.is_aggregate => {
                is_group(self) || argument.as_ref().is_some_and(|field| is_group(field))
            }
            Self::Function { .. } => true,
            field => is_group(field),
        }
    }
}

impl QueryDsl {
    /// Whether rows are made one.
    pub fn is_grouped(&self) -> bool {
        !self.groups.is_empty()
            || self
                .outputs
                .iter()
                .any(|output| output.field.is_aggregate())
    }

    /// The ids of the models whose rows it asks for.
    pub fn models(&self) -> Vec<&str> {
        let mut ids = Vec::new();
        for query in self.queries() {
            for source in &query.sources {
                if let SourceRows::Model(model) = &source.rows {
                    ids.push(model.id.as_str());
                }
            }
        }
        ids
    }

    /// This query, and all within it.
    pub fn queries(&self) -> Vec<&Self> {
        let mut queries = vec![self];
        for source in &self.sources {
            if let SourceRows::Query(dsl) = &source.rows {
                queries.extend(dsl.queries());
            }
        }
        for test in self.tests() {
            if let FieldOperand::Query(dsl) = &test.with {
                queries.extend(dsl.queries());
            }
        }
        queries
    }

    /// Its conditions.
    pub fn tests(&self) -> impl Iterator<Item = &FieldCondition> {
        self.wheres.tests().chain(self.havings.tests())
    }
}
