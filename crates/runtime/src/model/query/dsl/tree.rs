//! A QueryDSL, read and checked.

use super::super::chain::Chain;
use super::super::operator::{Operand, Operator};
use super::field::Part;
use super::function::Function;
use super::holds::Holds;
use crate::model::Model;
use sea_query::{JoinType, Value as Bound};
use serde_json::Value;
use std::sync::Arc;

/// A query.
#[derive(Clone, Debug)]
pub struct Dsl {
    /// Where the rows come from: the first by itself, the others joined to those before.
    pub sources: Vec<Source>,
    /// What rows have.
    pub outputs: Vec<Output>,
    /// What rows must be.
    pub wheres: Chain<Test>,
    /// What makes rows one.
    pub groups: Vec<Field>,
    /// What those must be.
    pub havings: Chain<Test>,
    /// The order, and whether the largest is first.
    pub orders: Vec<(Field, bool)>,
    /// Which rows.
    pub cut: Cut,
}

/// Which rows of those that match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
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
pub struct Source {
    /// What the statement calls it.
    pub alias: String,
    /// Its rows.
    pub rows: Rows,
    /// How it is joined; not for the first.
    pub join: Option<Join>,
}

/// Rows of a source.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Those of a model that are there for the caller.
    Model(Arc<Model>),
    /// Those of a query.
    Query(Box<Dsl>),
}

/// How a source is joined.
#[derive(Clone, Debug)]
pub struct Join {
    /// Which rows stay that have no other.
    pub kind: JoinType,
    /// A field of one side.
    pub key: Field,
    /// And the one of the other side that is the same.
    pub foreign: Field,
}

/// What rows have.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What it is.
    pub field: Field,
}

/// Something that is computed from a row or from many.
#[derive(Clone, Debug)]
pub enum Field {
    /// A column of a source.
    Column {
        /// What the statement calls the source.
        source: String,
        /// The column.
        name: String,
        /// Its values.
        holds: Holds,
    },
    /// What is within the JSON of a column.
    Path {
        /// What the statement calls the source.
        source: String,
        /// The column.
        name: String,
        /// The way into it.
        path: Vec<Part>,
    },
    /// A function of a column, or of `*`.
    Function {
        /// The function.
        function: &'static Function,
        /// The column.
        argument: Option<Box<Self>>,
        /// Whether the same values count once.
        is_distinct: bool,
    },
    /// A value that is given beside the query.
    Bound {
        /// The value.
        value: Bound,
        /// What it is.
        holds: Holds,
    },
}

/// A condition.
#[derive(Clone, Debug)]
pub struct Test {
    /// What is compared.
    pub field: Field,
    /// How.
    pub operator: &'static Operator,
    /// With what.
    pub with: With,
}

/// What a condition compares with.
#[derive(Clone, Debug)]
pub enum With {
    /// Values.
    Operand(Operand),
    /// Values within JSON, which have a type each.
    Json(Value),
    /// What a query gives.
    Query(Box<Dsl>),
}

impl Test {
    /// How many values it compares with.
    pub fn weight(&self) -> usize {
        match &self.with {
            With::Operand(operand) => operand.weight(),
            With::Json(Value::Array(values)) => values.len(),
            With::Json(_) | With::Query(_) => 1,
        }
    }
}

impl Field {
    /// Its values.
    pub fn holds(&self) -> Holds {
        match self {
            Self::Column { holds, .. } | Self::Bound { holds, .. } => holds.clone(),
            Self::Path { .. } => Holds::plain("json"),
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
            Self::Bound { .. } => true,
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

impl Dsl {
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
        for source in &self.sources {
            match &source.rows {
                Rows::Model(model) => ids.push(model.id.as_str()),
                Rows::Query(dsl) => ids.extend(dsl.models()),
            }
        }
        for test in self.wheres.tests().chain(self.havings.tests()) {
            if let With::Query(dsl) = &test.with {
                ids.extend(dsl.models());
            }
        }
        ids
    }
}
