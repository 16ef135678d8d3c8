//! What a QueryDSL reads: its models and columns; and narrowing it.

use super::super::query_param::QueryParam;
use super::query::{
    FieldCondition, FieldOperand, QueryDsl, QueryField, QueryOutput, QuerySource, SourceRows,
};
use crate::error::Result;
use crate::model::{TableModel, TableModels};
use sea_query::JoinType;
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

    /// Whether what rows have under the names of its main model's columns are these columns.
    pub fn gives_main_rows(&self) -> bool {
        let Some(QuerySource {
            alias,
            rows: SourceRows::Model(model),
            ..
        }) = self.sources.first()
        else {
            return false;
        };
        let is_own = |output: &QueryOutput| match &output.field {
            QueryField::Column { source, name, .. } => source == alias && *name == output.name,
            _ => false,
        };
        let mut named = self
            .outputs
            .iter()
            .filter(|output| model.column(&output.name).is_some());
        !self.is_grouped() && named.all(is_own)
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

    /// The columns that what rows have under this name is made of.
    fn columns_of(&self, name: &str) -> Vec<ColumnRead> {
        let outputs = self.outputs.iter().filter(|output| output.name == name);
        let columns = outputs.flat_map(|output| output.field.columns(&self.sources));
        columns.collect()
    }

    /// Lets through only those rows of its main model that meet the `wheres` of a QueryParam, wherever it reads that model.
    pub fn narrow(&mut self, models: &TableModels, wheres: &Value) -> Result<()> {
        let Some(main) = self.main_model() else {
            return Ok(());
        };
        let narrowed = QueryParam::parse_wheres(models, main, wheres)?;
        self.narrow_sources(&Arc::new(narrowed));
        Ok(())
    }

    fn narrow_sources(&mut self, narrowed: &Arc<QueryParam>) {
        for source in &mut self.sources {
            match &mut source.rows {
                SourceRows::Query(dsl) => dsl.narrow_sources(narrowed),
                SourceRows::Model(model) if model.id == narrowed.model.id => {
                    source.narrowed = Some(Arc::clone(narrowed));
                }
                SourceRows::Model(_) => {}
            }
        }
        let narrow = &mut |test: &mut FieldCondition| {
            if let FieldOperand::Query(dsl) = &mut test.with {
                dsl.narrow_sources(narrowed);
            }
        };
        self.wheres.each_mut(narrow);
        self.havings.each_mut(narrow);
    }

    /// Whether it keeps rows of joined tables for which its main table has none, so that conditions of that one do not count.
    pub fn has_right_join(&self) -> bool {
        let is_right = |source: &QuerySource| {
            let kind = source.join.as_ref().map(|join| join.kind);
            let within = matches!(&source.rows, SourceRows::Query(dsl) if dsl.has_right_join());
            within || kind == Some(JoinType::RightJoin)
        };
        let mut tests = self.wheres.tests().chain(self.havings.tests());
        let in_test = |test: &FieldCondition| matches!(&test.with, FieldOperand::Query(dsl) if dsl.has_right_join());
        self.sources.iter().any(is_right) || tests.any(in_test)
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
    /// The columns that it is made of, where these are the tables of its query: in the end those of models, also where a query
    /// stands in the place of a table.
    pub fn columns(&self, sources: &[QuerySource]) -> Vec<ColumnRead> {
        match self {
            Self::Column { source, name, .. } | Self::Path { source, name, .. } => {
                let source = sources.iter().find(|other| other.alias == *source);
                match source.map(|source| &source.rows) {
                    Some(SourceRows::Model(model)) => vec![ColumnRead {
                        model: Arc::clone(model),
                        name: name.clone(),
                    }],
                    Some(SourceRows::Query(dsl)) => dsl.columns_of(name),
                    None => Vec::new(),
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
