//! One reading of models: for whom, in which dialect, and what that left out.

use super::operator::never;
use crate::access::Authorized;
use crate::model::database::SqlDialect;
use crate::model::definition::DELETED_AT;
use crate::model::permission::reach;
use crate::model::{TableModel, TableModels};
use sea_query::{Alias, Condition, Expr, ExprTrait};

/// One reading.
pub struct ReadContext<'a> {
    /// The models.
    pub models: &'a TableModels,
    /// Who reads.
    pub who: &'a Authorized,
    /// Why rows were left out that are there, for the trace.
    pub unmet: Vec<String>,
    /// Tables that have a name of their own so far.
    named: usize,
}

impl<'a> ReadContext<'a> {
    /// A reading for somebody.
    pub fn new(models: &'a TableModels, who: &'a Authorized) -> Self {
        Self {
            models,
            who,
            unmet: Vec::new(),
            named: 0,
        }
    }

    /// How its SQL is written.
    pub fn dialect(&self) -> SqlDialect {
        self.models.database().dialect()
    }

    /// A name for a table that no other has in this reading.
    pub(super) fn name(&mut self) -> String {
        self.named += 1;
        format!("~{}", self.named)
    }

    /// The rows of a model that are there for the caller: not deleted, and within reach.
    pub fn visible(&mut self, model: &TableModel, table: &str) -> Condition {
        let mut all = Condition::all();
        if model.options.soft_deletes {
            all = all.add(column(table, DELETED_AT).is_null());
        }
        match reach(self.models, model, self.who, table) {
            Ok(condition) if condition.is_empty() => all,
            Ok(condition) => all.add(condition),
            Err(why) => {
                if !self.unmet.contains(&why) {
                    self.unmet.push(why);
                }
                all.add(never())
            }
        }
    }
}

/// A column of a table, as this statement names the table.
pub(super) fn column(table: &str, name: &str) -> Expr {
    Expr::col((Alias::new(table), Alias::new(name)))
}
