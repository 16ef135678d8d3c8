//! What the names in a QueryDSL mean.

use super::super::fault::{Fault, Parsed};
use super::field::{self, Name, Part, Term};
use super::function::Function;
use super::holds::Holds;
use super::read::Reader;
use super::tree::{Field, Output, Rows, Source};
use crate::model::kind::Shape;
use sea_query::Value as Bound;
use serde_json::Value;
use std::sync::Arc;

/// What names can mean at a place.
#[derive(Clone, Copy)]
pub struct Scope<'s> {
    /// The tables.
    pub sources: &'s [Source],
    /// What rows have, which has names too where rows are ordered and grouped.
    pub outputs: &'s [Output],
}

impl Reader<'_> {
    /// The field that a text means, and its name in rows.
    pub fn field(&self, text: &str, scope: Scope<'_>) -> Parsed<(Field, String)> {
        let written = field::parse(text)?;
        let alias = written.alias.map(str::to_owned);
        let (field, name) = match written.term {
            Term::Column(name) => (scope.field(name)?, name.column.to_owned()),
            Term::Path(name, path) => within(scope.column(name)?, name, path)?,
            Term::Function {
                name,
                argument,
                is_distinct,
            } => {
                let function = Function::find(name)?;
                let argument = argument.map(|name| scope.column(name)).transpose()?;
                let holds = argument.as_ref().map(Field::holds);
                function.check(holds.as_ref(), is_distinct)?;
                let field = Field::Function {
                    function,
                    argument: argument.map(Box::new),
                    is_distinct,
                };
                (field, function.name.to_ascii_lowercase())
            }
            Term::Bound(name) => (self.bound(name)?, name.to_owned()),
        };
        Ok((field, alias.unwrap_or(name)))
    }

    /// The value that is given for `?:name`.
    pub fn value(&self, name: &str) -> Parsed<&Value> {
        let value = self.values.get(name);
        value.ok_or_else(|| {
            let known = self.values.keys().map(String::as_str);
            let mut fault = Fault::unknown("value", name, "", known);
            fault.code = "missing_value";
            fault.message = format!("no value is given for ?:{name}");
            fault
        })
    }

    fn bound(&self, name: &str) -> Parsed<Field> {
        let (value, holds) = match self.value(name)? {
            Value::Bool(value) => (Bound::Bool(Some(*value)), "boolean"),
            Value::String(value) => (Bound::String(Some(value.clone())), "longText"),
            Value::Number(number) => match number.as_i64() {
                Some(number) => (Bound::BigInt(Some(number)), "bigInteger"),
                None => (Bound::Double(number.as_f64()), "double"),
            },
            _ => {
                let rule = "must be a text, a number or a boolean to stand for a field";
                return Err(Fault::form("", &format!("?:{name}"), rule));
            }
        };
        Ok(Field::Bound {
            value,
            holds: Holds::plain(holds),
        })
    }
}

impl Scope<'_> {
    /// All columns of the first table.
    pub fn everything(self) -> Vec<Output> {
        let names: Vec<String> = match self.sources.first().map(|source| &source.rows) {
            Some(Rows::Model(model)) => model.readable().map(|it| it.name.clone()).collect(),
            Some(Rows::Query(dsl)) => dsl.outputs.iter().map(|it| it.name.clone()).collect(),
            None => Vec::new(),
        };
        let output = |name: String| {
            let source = self.sources.first()?;
            let field = source.column(&name)?;
            Some(Output { name, field })
        };
        names.into_iter().filter_map(output).collect()
    }

    /// A column, or what rows have under this name.
    fn field(self, name: Name<'_>) -> Parsed<Field> {
        let shown = self.outputs.iter().find(|it| it.name == name.column);
        match (name.table, shown) {
            (None, Some(shown)) => Ok(shown.field.clone()),
            _ => self.column(name),
        }
    }

    /// A column of one of the tables.
    fn column(self, name: Name<'_>) -> Parsed<Field> {
        let Some(table) = name.table else {
            return self.only(name.column);
        };
        let named = self.sources.iter().find(|source| source.alias == table);
        let source = named.or_else(|| self.sources.iter().find(|source| source.is_of(table)));
        let Some(source) = source else {
            let known = self.sources.iter().map(|source| source.alias.as_str());
            return Err(Fault::unknown("table", table, "", known));
        };
        let column = source.column(name.column);
        column.ok_or_else(|| {
            let names = source.names();
            Fault::unknown("column", name.column, "", names.iter().map(String::as_str))
        })
    }

    /// The one column of this name.
    fn only(self, name: &str) -> Parsed<Field> {
        let mut found = self.sources.iter().filter_map(|source| source.column(name));
        match (found.next(), found.next()) {
            (Some(field), None) => Ok(field),
            (Some(_), Some(_)) => {
                let text = format!("column \"{name}\" is in two tables: write table.{name}");
                Err(Fault::new("ambiguous_column", "", text))
            }
            _ => {
                let names = self.sources.iter().flat_map(Source::names);
                let names: Vec<String> = names.collect();
                Err(Fault::unknown(
                    "column",
                    name,
                    "",
                    names.iter().map(String::as_str),
                ))
            }
        }
    }
}

impl Source {
    /// Whether it is the model of this id, or of this table; a model may be called by its last name.
    fn is_of(&self, name: &str) -> bool {
        match &self.rows {
            Rows::Model(model) => {
                let last = model.id.rsplit('.').next();
                model.id == name || model.table == name || last == Some(name)
            }
            Rows::Query(_) => false,
        }
    }

    /// The columns that it has.
    fn names(&self) -> Vec<String> {
        match &self.rows {
            Rows::Model(model) => model.columns.iter().map(|it| it.name.clone()).collect(),
            Rows::Query(dsl) => dsl.outputs.iter().map(|it| it.name.clone()).collect(),
        }
    }

    fn column(&self, name: &str) -> Option<Field> {
        let holds = match &self.rows {
            Rows::Model(model) => {
                let column = model.column(name)?;
                Holds::Column(Arc::clone(model), column.name.clone())
            }
            Rows::Query(dsl) => {
                let output = dsl.outputs.iter().find(|output| output.name == name)?;
                output.field.holds()
            }
        };
        Some(Field::Column {
            source: self.alias.clone(),
            name: name.to_owned(),
            holds,
        })
    }
}

fn within(column: Field, name: Name<'_>, path: Vec<Part>) -> Parsed<(Field, String)> {
    let is_json = |holds: &Holds| {
        holds.look(|column| column.kind.shape == Shape::Json && column.crypt.is_none())
    };
    let last = path.iter().rev().find_map(|part| match part {
        Part::Key(key) => Some(key.clone()),
        Part::Index(_) => None,
    });
    match column {
        Field::Column {
            source,
            name: column,
            holds,
        } if is_json(&holds) => {
            let shown = last.unwrap_or_else(|| column.clone());
            let field = Field::Path {
                source,
                name: column,
                path,
            };
            Ok((field, shown))
        }
        _ => {
            let text = format!("column \"{}\" holds no JSON", name.column);
            Err(Fault::new("unfit_column", "", text))
        }
    }
}
