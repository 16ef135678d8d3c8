//! Values within JSON, as both databases compare them: a value is never the same as one of another type.

use super::super::operator::{ComparisonOperator, Operand, OperandKind, always, never};
use super::super::read_context::column;
use super::super::sort::by_bytes;
use super::field::JsonPathStep;
use crate::model::SqlValue;
use crate::model::database::SqlDialect;
use sea_query::{Alias, CaseStatement, Condition, Expr, ExprTrait, Func};
use serde_json::Value;

/// A place within the JSON of a column.
pub struct JsonPath<'p> {
    /// What the statement calls the table, and the column.
    pub column: (&'p str, &'p str),
    /// The way into it.
    pub path: &'p [JsonPathStep],
    /// How SQL is written.
    pub dialect: SqlDialect,
}

impl JsonPath<'_> {
    /// The value as JSON; nothing where it is null.
    pub fn json(&self) -> Expr {
        let case = CaseStatement::new();
        match self.dialect {
            SqlDialect::Sqlite => {
                let value = || self.sqlite("json_extract");
                let quoted: Expr = Func::cust(Alias::new("json_quote")).arg(value()).into();
                case.case(self.is(&["object", "array"]), value())
                    .case(self.is(&["true", "false"]), self.sqlite("json_type"))
                    .case(self.is(&["integer", "real", "text"]), quoted)
                    .into()
            }
            SqlDialect::Postgres => {
                let value = self.postgres("jsonb_extract_path");
                let types = ["object", "array", "string", "number", "boolean"];
                case.case(self.is(&types), value.cast_as(Alias::new("text")))
                    .into()
            }
        }
    }

    /// The value where it is a number, a text, or `true` or `false` as a text.
    fn number(&self) -> Expr {
        let value = match self.dialect {
            SqlDialect::Sqlite => self.sqlite("json_extract"),
            SqlDialect::Postgres => {
                let text = self.postgres("jsonb_extract_path_text");
                text.cast_as(Alias::new("double precision"))
            }
        };
        CaseStatement::new()
            .case(self.is(&["number", "integer", "real"]), value)
            .into()
    }

    fn text(&self) -> Expr {
        let value = match self.dialect {
            SqlDialect::Sqlite => self.sqlite("json_extract"),
            SqlDialect::Postgres => self.postgres("jsonb_extract_path_text"),
        };
        CaseStatement::new()
            .case(self.is(&["string", "text"]), value)
            .into()
    }

    fn boolean(&self) -> Expr {
        let value = match self.dialect {
            SqlDialect::Sqlite => self.sqlite("json_type"),
            SqlDialect::Postgres => self.postgres("jsonb_extract_path_text"),
        };
        CaseStatement::new()
            .case(self.is(&["boolean", "true", "false"]), value)
            .into()
    }

    /// Whether there is nothing, or null.
    pub fn is_null(&self) -> Expr {
        match self.dialect {
            SqlDialect::Sqlite => self.sqlite("json_extract").is_null(),
            SqlDialect::Postgres => self.postgres("jsonb_extract_path_text").is_null(),
        }
    }

    /// What rows are ordered by: numbers first, then texts.
    pub fn order(&self) -> [Expr; 2] {
        [self.number(), self.collated(self.text())]
    }

    /// That the value meets a condition.
    pub fn meets(&self, operator: &'static ComparisonOperator, value: &Value) -> Condition {
        match value {
            Value::Null if operator.names[0] == "eq" => self.is_null().into(),
            Value::Null => self.is_null().not().into(),
            Value::Array(values) if values.is_empty() => never().into(),
            Value::Array(values) => {
                let same = values.iter().map(|value| self.same(value));
                same.fold(Condition::any(), Condition::add)
            }
            Value::String(text) => {
                let operand = match operator.takes {
                    OperandKind::Text => Operand::Text(text.clone()),
                    _ => Operand::One(text.as_str().into()),
                };
                let left = self.collated(self.text());
                operator.write(left, operand, self.dialect).into()
            }
            value => {
                let (left, bound) = self.typed(value);
                operator
                    .write(left, Operand::One(bound), self.dialect)
                    .into()
            }
        }
    }

    fn same(&self, value: &Value) -> Expr {
        let (left, bound) = self.typed(value);
        left.eq(bound)
    }

    fn typed(&self, value: &Value) -> (Expr, SqlValue) {
        match value {
            Value::Bool(is) => (self.boolean(), is.to_string().into()),
            Value::Number(number) => (self.number(), number.as_f64().into()),
            Value::String(text) => (self.collated(self.text()), text.as_str().into()),
            _ => (always(), true.into()),
        }
    }

    fn collated(&self, expr: Expr) -> Expr {
        match self.dialect {
            SqlDialect::Sqlite => expr,
            SqlDialect::Postgres => by_bytes(expr),
        }
    }

    /// Whether the value is of one of these types; each database has its own names.
    fn is(&self, types: &[&'static str]) -> Expr {
        let kind = match self.dialect {
            SqlDialect::Sqlite => self.sqlite("json_type"),
            SqlDialect::Postgres => {
                let value = self.postgres("jsonb_extract_path");
                Func::cust(Alias::new("jsonb_typeof")).arg(value).into()
            }
        };
        kind.is_in(types.iter().copied().map(text))
    }

    fn sqlite(&self, function: &'static str) -> Expr {
        let mut path = "$".to_owned();
        for part in self.path {
            path.push_str(&match part {
                JsonPathStep::Key(key) => format!(".\"{key}\""),
                JsonPathStep::Index(index) => format!("[{index}]"),
            });
        }
        let call = Func::cust(Alias::new(function));
        call.arg(self.own()).arg(constant(&path)).into()
    }

    fn postgres(&self, function: &'static str) -> Expr {
        let call = Func::cust(Alias::new(function)).arg(self.own().cast_as(Alias::new("jsonb")));
        let parts = self.path.iter().map(|part| match part {
            JsonPathStep::Key(key) => constant(key),
            JsonPathStep::Index(index) => constant(&index.to_string()),
        });
        parts.fold(call, sea_query::FunctionCall::arg).into()
    }

    fn own(&self) -> Expr {
        column(self.column.0, self.column.1)
    }
}

/// A part of the statement itself, so that the same field is the same wherever it stands. It is of letters, digits, `_` and
/// `-` only: that is all that fields may have.
fn constant(text: &str) -> Expr {
    Expr::Constant(text.into())
}

fn text(text: &'static str) -> Expr {
    constant(text)
}
