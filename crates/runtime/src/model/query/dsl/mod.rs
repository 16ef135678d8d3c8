//! QueryDSL: a query over the tables of loaded models, as an object.

mod field;
mod function;
mod groups;
mod holds;
mod json;
mod lists;
mod read;
mod resolve;
mod run;
mod statement;
mod tree;
mod wheres;

pub use tree::Dsl;

use super::fault::Fault;
use crate::error::Result;
use crate::model::Models;
use read::Reader;
use serde_json::{Map, Value, json};

/// A query, and where it stands.
pub struct Given<'g> {
    /// The models.
    pub models: &'g Models,
    /// The id of a model: those beside it are found by their last name.
    pub near: &'g str,
    /// The query.
    pub dsl: &'g Value,
    /// The values of its `?:name`.
    pub values: &'g Map<String, Value>,
}

impl Given<'_> {
    /// The query, checked.
    pub fn read(&self) -> Result<Dsl> {
        let (dsl, faults) = self.parse();
        let missing = || Fault::form("", "the query", "cannot be read");
        match (dsl, faults.into_iter().next()) {
            (Some(dsl), None) => Ok(dsl),
            (_, fault) => Err(fault.unwrap_or_else(missing).error("Query")),
        }
    }

    /// What is wrong with it: `{valid, diagnostics: [{code, path, message}]}`.
    pub fn lint(&self) -> Value {
        let (_, faults) = self.parse();
        let diagnostics: Vec<Value> = faults.iter().map(Fault::diagnostic).collect();
        json!({"valid": diagnostics.is_empty(), "diagnostics": diagnostics})
    }

    fn parse(&self) -> (Option<Dsl>, Vec<Fault>) {
        let mut reader = Reader::new(self.models, self.near, self.values);
        let dsl = reader.query(self.dsl, "");
        (dsl, reader.faults)
    }
}
