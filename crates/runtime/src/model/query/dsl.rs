//! QueryDSL: a query over the tables of loaded models, as an object.

mod field;
mod field_lists;
mod field_type;
mod function;
mod groups;
mod json_path;
mod query;
mod query_size;
mod reach;
mod reader;
mod resolve;
mod run;
mod statement;
mod wheres;

pub use query::{QueryDsl, SourceRows};

use super::fault::QueryFault;
use crate::error::Result;
use crate::model::TableModels;
use reader::DslReader;
use serde_json::{Map, Value, json};

/// A query, and where it stands.
pub struct QueryRequest<'g> {
    /// The models.
    pub models: &'g TableModels,
    /// The id of a model: those beside it are found by their last name.
    pub near: &'g str,
    /// The query.
    pub dsl: &'g Value,
    /// The values of its `?:name`.
    pub values: &'g Map<String, Value>,
}

impl QueryRequest<'_> {
    /// The query, checked.
    pub fn read(&self) -> Result<QueryDsl> {
        let (dsl, faults) = self.parse();
        let missing = || QueryFault::form("", "the query", "cannot be read");
        match (dsl, faults.into_iter().next()) {
            (Some(dsl), None) => Ok(dsl),
            (_, fault) => Err(fault.unwrap_or_else(missing).error("Query")),
        }
    }

    /// The query; or all that is wrong with it.
    pub fn check(&self) -> Result<QueryDsl, Vec<QueryFault>> {
        let (dsl, mut faults) = self.parse();
        match dsl {
            Some(dsl) if faults.is_empty() => Ok(dsl),
            _ => {
                if faults.is_empty() {
                    faults.push(QueryFault::form("", "the query", "cannot be read"));
                }
                Err(faults)
            }
        }
    }

    /// What is wrong with it: `{valid, diagnostics: [{code, path, message}]}`.
    pub fn lint(&self) -> Value {
        let (_, faults) = self.parse();
        let diagnostics: Vec<Value> = faults.iter().map(QueryFault::diagnostic).collect();
        json!({"valid": diagnostics.is_empty(), "diagnostics": diagnostics})
    }

    fn parse(&self) -> (Option<QueryDsl>, Vec<QueryFault>) {
        let mut reader = DslReader::new(self.models, self.near, self.values);
        let dsl = reader.query(self.dsl, "");
        if let Some(Err(fault)) = dsl.as_ref().map(QueryDsl::check_size) {
            reader.faults.push(fault);
        }
        (dsl, reader.faults)
    }
}
