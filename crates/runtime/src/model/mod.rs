//! Models: tables of the app, their rows, and who may reach which.
//!
//! Below turns: it names no turn, hook or ctx. SQL is spelled here and in the drivers of storage only.

pub mod database;
pub mod definition;
pub mod kind;
pub mod permission;
pub mod query;
pub mod system;
pub mod validate;

pub use definition::{Column, Model, Relation};

use crate::error::{Error, Result};
use database::{Cell, Database};
use sea_query::Value as Bound;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The models of one version of an app, over one database.
pub struct Models {
    models: BTreeMap<String, Result<Arc<Model>>>,
    database: Arc<dyn Database>,
}

impl Models {
    /// Models over a database.
    pub fn new(models: BTreeMap<String, Result<Arc<Model>>>, database: Arc<dyn Database>) -> Self {
        Self { models, database }
    }

    /// The model of this id. `near` is the id of a model: those beside it are found by their last name.
    pub fn find(&self, id: &str, near: &str) -> Result<Arc<Model>> {
        let found = candidates(id, near).find_map(|id| self.models.get(&id));
        let found = found.cloned();
        found.unwrap_or_else(|| Err(Error::not_found("model", id)))
    }

    /// All models that can be used, in order of their ids.
    pub fn all(&self) -> impl Iterator<Item = Arc<Model>> {
        self.models
            .values()
            .filter_map(|it| it.as_ref().ok().cloned())
    }

    /// The database.
    pub fn database(&self) -> &Arc<dyn Database> {
        &self.database
    }

    /// A value as it is bound for a column, encrypted where the column is; or what it must be instead, as in `must be a
    /// string, not this number`.
    pub fn bind(&self, _model: &Model, column: &Column, value: &Value) -> Result<Bound, String> {
        column.plain(value)
    }

    /// What a script gets of a cell of a column.
    pub fn shown(&self, _model: &Model, column: &Column, cell: Cell) -> Result<Value> {
        column.shown(cell).map_err(Error::internal)
    }
}

/// The ids that a name may mean beside a model, the nearest first.
pub fn candidates(name: &str, near: &str) -> impl Iterator<Item = String> {
    let beside = near.rsplit_once('.');
    let beside = beside.map(|(place, _)| format!("{place}.{name}"));
    beside.into_iter().chain([name.to_owned()])
}
