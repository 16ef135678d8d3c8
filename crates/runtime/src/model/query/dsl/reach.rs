//! What a QueryDSL reads: its models and columns; and narrowing it.

use super::super::query_param::QueryParam;
use super::field_type::FieldType;
use super::query::{FieldCondition, FieldOperand, QueryDsl, QueryField, QuerySource, SourceRows};
use crate::error::Result;
use crate::model::{TableModel, TableModels};
use serde_json::Value;
use std::sync::Arc;

/// A column that a query reads.
#[derive(Clone, Debug)]
pub struct ColumnRead {
    /// The column's model.
    pub model: Arc<TableModel>,
    /// The column.
    pub name: String,
}

impl QueryDsl {
    /// The model that the rows are of: the first of the tables, within queries in the place of tables too.
    pub fn main_model(&self) -> Option<&Arc<TableModel>> {
        match &self.sources.first()?.rows {
            SourceRows::Model(model) => Some(model),
            SourceRows::Query(dsl) => dsl.main_model(),
        }
    }

    /// The columns that it reads anywhere: in rows, conditions, orders, groups, joins, and queries within it.
    pub fn columns(&self) -> Vec<ColumnRead> {
        let mut found = Vec::new();
        let outputs = self.outputs.iter().map(|output| &output.field);
        let orders = self.orders.iter().map(|(field, _)| field);
        for field in outputs.chain(&self.groups).chain(orders) {
            found.extend(field.columns(&self.sources));
        }
        for source in &self.sources {
            if let SourceRows::Query(dsl) = &source.rows {
                found.extend(dsl.columns());
            }
            for field in source
                .join
                .iter()
                .flat_map(|join| [&join.key, &join.foreign])
            {
                found.extend(field.columns(&self.sources));
            }
        }
        for test in self.wheres.tests().chain(self.havings.tests()) {
            found.extend(test.columns(&self.sources));
        }
        found
    }

    /// Lets through only those rows of its main model that meet the `wheres` of a QueryParam.
    pub fn narrow(&mut self, models: &TableModels, wheres: &Value) -> Result<()> {
        let Some(source) = self.sources.first_mut() else {
            return Ok(());
        };
        match &mut source.rows {
            SourceRows::Query(dsl) => dsl.narrow(models, wheres),
            SourceRows::Model(model) => {
                let narrowed = QueryParam::parse_wheres(models, model, wheres)?;
                source.narrowed = Some(Arc::new(narrowed));
                Ok(())
            }
        }
    }
}

impl FieldCondition {
    fn columns(&self, sources: &[QuerySource]) -> Vec<ColumnRead> {
        let mut found = self.field.columns(sources);
        if let FieldOperand::Query(dsl) = &self.with {
            found.extend(dsl.columns());
        }
        found
    }
}

impl QueryField {
    /// The columns that it is made of, where these are the tables of its query.
    pub fn columns(&self, sources: &[QuerySource]) -> Vec<ColumnRead> {
        match self {
            Self::Column { holds, .. } => column_of(holds).into_iter().collect(),
            Self::Path { source, name, .. } => {
                let source = sources.iter().find(|other| other.alias == *source);
                match source.map(|source| &source.rows) {
                    Some(SourceRows::Model(model)) => vec![ColumnRead {
                        model: Arc::clone(model),
                        name: name.clone(),
                    }],
                    // The columns of a query within are among those that this query reads.
                    _ => Vec::new(),
                }
            }
            Self::Function { argument, .. } => {
                let argument = argument.iter();
                argument.flat_map(|field| field.columns(sources)).collect()
            }
            Self::SqlValue { .. } => Vec::new(),
        }
    }
}

fn column_of(holds: &FieldType) -> Option<ColumnRead> {
    match holds {
        FieldType::Column(model, name) => Some(ColumnRead {
            model: Arc::clone(model),
            name: name.clone(),
        }),
        FieldType::Plain(_) => None,
    }
}
