//! Searching tables of the app: by words, or with a query that an agent or a tool makes.

mod generated;
pub mod record;
mod words;

use super::request::TableTarget;
use super::{SearchItem, SearchRequest, SearchResult, Searcher};
use crate::error::ErrorCode;
use crate::model::{TableColumn, TableModel};
use crate::uses::UsesTarget;
use serde_json::Value;
use std::sync::Arc;

/// A search of tables, with everything that says what is searched.
struct TableSearchCall<'a> {
    /// What is looked for.
    query: &'a str,
    /// What is asked of rows.
    target: &'a TableTarget,
    /// The models.
    models: Vec<Arc<TableModel>>,
    /// The most results.
    limit: usize,
}

/// What a search of tables gave.
#[derive(Default)]
struct FoundRows {
    items: Vec<SearchItem>,
    notes: Vec<String>,
    /// Why rows were left out that are there.
    unmet: Vec<String>,
    /// The query, where one was made.
    dsl: Option<Value>,
}

impl Searcher {
    pub(super) async fn search_db(
        &self,
        request: &SearchRequest,
        target: &TableTarget,
        result: &mut SearchResult,
    ) -> Result<(), String> {
        let settings = &self.settings.db;
        let named = target.models.as_ref().unwrap_or(&settings.models);
        if named.is_empty() {
            return Err("no models: set search.db.models, or name some".to_owned());
        }
        let models = self.searched_models(named, &mut result.notes);
        if models.is_empty() {
            return Err(std::mem::take(&mut result.notes).join(", "));
        }
        let call = TableSearchCall {
            query: &request.query,
            target,
            models,
            limit: request.limit.unwrap_or(settings.max_results),
        };
        let mut found = self.find_rows(&call).await?;
        found.unmet.iter().for_each(|why| self.node.warn(why));
        if found.items.is_empty() && !found.unmet.is_empty() {
            return Err(found.unmet.join(", "));
        }
        result.notes.append(&mut found.notes);
        result.dsl = found.dsl;
        result.set_items(found.items);
        Ok(())
    }

    /// The models that there are of these; what is said of the others is a note.
    fn searched_models(&self, named: &[String], notes: &mut Vec<String>) -> Vec<Arc<TableModel>> {
        let mut models: Vec<Arc<TableModel>> = Vec::with_capacity(named.len());
        for id in named {
            match self.models.find(id, &self.near()) {
                Ok(model) if models.iter().any(|other| other.id == model.id) => {}
                Ok(model) => models.push(model),
                Err(error) if error.code == ErrorCode::NotFound => {
                    notes.push(format!("model \"{id}\" not found"));
                }
                Err(error) => notes.push(format!("model \"{id}\": {}", self.told(error))),
            }
        }
        models
    }

    /// Models of the agent are found by their last name.
    fn near(&self) -> String {
        format!("agents.{}._", self.agent)
    }

    async fn find_rows(&self, call: &TableSearchCall<'_>) -> Result<FoundRows, String> {
        let by = self.context.uses("querydsl").unwrap_or("builtin");
        let target = match UsesTarget::read(&self.app, by) {
            Ok(UsesTarget::Builtin | UsesTarget::Disabled) => {
                return self.find_by_words(call).await;
            }
            Ok(target) => target,
            Err(why) => {
                let mut found = self.find_by_words(call).await?;
                found.notes.push(format!("uses.querydsl: {why}"));
                return Ok(found);
            }
        };
        match self.find_by_query(&target, call).await? {
            Ok(found) => Ok(found),
            Err(why) if self.settings.querydsl.strict => Err(why),
            Err(why) => {
                let mut found = self.find_by_words(call).await?;
                found.notes.push(why);
                Ok(found)
            }
        }
    }
}

/// The columns that rows have where none are named, and that makers of queries are told of: none that is encrypted, and none that
/// Ambit keeps beside those of the app.
fn plain_columns(model: &TableModel) -> impl Iterator<Item = &TableColumn> {
    let columns = model.columns.iter();
    columns.filter(|column| column.crypt.is_none() && !column.name.starts_with("__"))
}
