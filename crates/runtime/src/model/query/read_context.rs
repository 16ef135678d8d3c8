//! One reading of models: for whom, in which dialect, and what that left out.

use super::answer_size::AnswerSize;
use super::operator::never;
use crate::access::Authorized;
use crate::model::database::{SqlDialect, SqlStatement};
use crate::model::definition::DELETED_AT;
use crate::model::permission::reach;
use crate::model::{TableModel, TableModels};
use sea_query::{Alias, Condition, Expr, ExprTrait, SelectStatement};

/// One reading.
pub struct ReadContext<'a> {
    /// The models.
    pub models: &'a TableModels,
    /// Who reads.
    pub who: &'a Authorized,
    /// Why rows were left out that are there, for the trace.
    pub unmet: Vec<String>,
    /// What its answer may still hold. Each row counts when it is read, and each time that it is put into another with all that
    /// it has.
    pub left: AnswerSize,
    /// Whether `hidden` stands for the values of columns with `crypt`, which nothing decrypts then.
    pub hides_secrets: bool,
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
            left: AnswerSize::UNLIMITED,
            hides_secrets: false,
            named: 0,
        }
    }

    /// How its SQL is written.
    pub fn dialect(&self) -> SqlDialect {
        self.models.database().dialect()
    }

    /// A statement in its dialect, which reads no more than the answer may still hold.
    pub(super) fn write(&self, statement: &SelectStatement) -> SqlStatement {
        SqlStatement {
            most_bytes: self.left.bytes,
            ..self.dialect().write(statement)
        }
    }

    /// Takes rows from what the answer may hold; none where they are too many or too large.
    pub(super) fn take(&mut self, size: AnswerSize) -> Option<()> {
        self.left = self.left.minus(size)?;
        Some(())
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
