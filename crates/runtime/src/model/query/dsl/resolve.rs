//! What the names in a QueryDSL mean.

use super::super::fault::{QueryFault, QueryResult};
use super::field::{self, ColumnName, FieldTerm, JsonPathStep};
use super::field_type::FieldType;
use super::function::QueryFunction;
use super::query::{QueryField, QueryOutput, QuerySource, SourceRows};
use super::reader::DslReader;
use crate::model::SqlValue;
use crate::model::column_kind::ColumnShape;
use serde_json::Value;
use std::sync::Arc;

/// Steps into JSON at most: PostgreSQL's functions take 100 arguments.
const STEPS: usize = 64;

/// What names can mean at a place.
#[derive(Clone, Copy)]
pub struct NameScope<'s> {
    /// The tables.
    pub sources: &'s [QuerySource],
    /// What rows have, which has names too where rows are ordered and grouped.
    pub outputs: &'s [QueryOutput],
}

impl DslReader<'_> {
    /// The field that a text means, and its name in rows.
    pub fn field(&self, text: &str, scope: NameScope<'_>) -> QueryResult<(QueryField, String)> {
        let written = field::parse(text)?;
        let alias = written.alias.map(str::to_owned);
        let (field, name) = match written.term {
            FieldTerm::Column(name) => (scope.field(name)?, name.column.to_owned()),
            FieldTerm::Path(name, path) => within(scope.column(name)?, name, path)?,
            FieldTerm::Function {
                name,
                argument,
                is_distinct,
            } => {
                let function = QueryFunction::find(name)?;
                let argument = argument.map(|name| scope.column(name)).transpose()?;
                let holds = argument.as_ref().map(QueryField::holds);
                function.check(holds.as_ref(), is_distinct)?;
                let field = QueryField::Function {
                    function,
                    argument: argument.map(Box::new),
                    is_distinct,
                };
                (field, function.name.to_ascii_lowercase())
            }
            FieldTerm::SqlValue(name) => (self.bound(name)?, name.to_owned()),
        };
        Ok((field, alias.unwrap_or(name)))
    }

    /// The value that is given for `?:name`.
    pub fn value(&self, name: &str) -> QueryResult<&Value> {
        let value = self.values.get(name);
        value.ok_or_else(|| {
            let known = self.values.keys().map(String::as_str);
            let mut fault = QueryFault::unknown("value", name, "", known);
            fault.code = "missing_value";
            fault.message = format!("no value is given for ?:{name}");
            fault
        })
    }

    fn bound(&self, name: &str) -> QueryResult<QueryField> {
        let (value, holds) = match self.value(name)? {
            Value::Bool(value) => (SqlValue::Bool(Some(*value)), "boolean"),
            Value::String(value) if value.contains('\0') => {
                let rule = "must not contain the character U+0000";
                return Err(QueryFault::form("", &format!("?:{name}"), rule));
            }
            Value::String(value) => (SqlValue::String(Some(value.clone())), "longText"),
            Value::Number(number) => match number.as_i64() {
                Some(number) => (SqlValue::BigInt(Some(number)), "bigInteger"),
                None => (SqlValue::Double(number.as_f64()), "double"),
            },
            _ => {
                let rule = "must be a text, a number or a boolean to stand for a field";
                return Err(QueryFault::form("", &format!("?:{name}"), rule));
            }
        };
        Ok(QueryField::SqlValue {
            value,
            holds: FieldType::plain(holds),
        })
    }
}

impl NameScope<'_> {
    /// All columns of the first table.
    pub fn everything(self) -> Vec<QueryOutput> {
        let names: Vec<String> = match self.sources.first().map(|source| &source.rows) {
            Some(SourceRows::Model(model)) => model.readable().map(|it| it.name.clone()).collect(),
            Some(SourceRows::Query(dsl)) => dsl.outputs.iter().map(|it| it.name.clone()).collect(),
            None => Vec::new(),
        };
        let output = |name: String| {
            let source = self.sources.first()?;
            let field = source.column(&name)?;
            Some(QueryOutput { name, field })
        };
        names.into_iter().filter_map(output).collect()
    }

    /// A column, or what rows have under this name.
    fn field(self, name: ColumnName<'_>) -> QueryResult<QueryField> {
        let shown = self.outputs.iter().find(|it| it.name == name.column);
        match (name.table, shown) {
            (None, Some(shown)) => Ok(shown.field.clone()),
            _ => self.column(name),
        }
    }

    /// A column of one of the tables.
    fn column(self, name: ColumnName<'_>) -> QueryResult<QueryField> {
        let Some(table) = name.table else {
            return self.only(name.column);
        };
        let named = self.sources.iter().find(|source| source.alias == table);
        let source = named.or_else(|| self.sources.iter().find(|source| source.is_of(table)));
        let Some(source) = source else {
            let known = self.sources.iter().map(|source| source.alias.as_str());
            return Err(QueryFault::unknown("table", table, "", known));
        };
        let column = source.column(name.column);
        column.ok_or_else(|| {
            let names = source.names();
            QueryFault::unknown("column", name.column, "", names.iter().map(String::as_str))
        })
    }

    /// The one column of this name.
    fn only(self, name: &str) -> QueryResult<QueryField> {
        let mut found = self.sources.iter().filter_map(|source| source.column(name));
        match (found.next(), found.next()) {
            (Some(field), None) => Ok(field),
            (Some(_), Some(_)) => {
                let text = format!("column \"{name}\" is in two tables: write table.{name}");
                Err(QueryFault::new("ambiguous_column", "", text))
            }
            _ => {
                let names = self.sources.iter().flat_map(QuerySource::names);
                let names: Vec<String> = names.collect();
                Err(QueryFault::unknown(
                    "column",
                    name,
                    "",
                    names.iter().map(String::as_str),
                ))
            }
        }
    }
}

impl QuerySource {
    /// Whether it is the model of this id, or of this table; a model may be called by its last name.
    fn is_of(&self, name: &str) -> bool {
        match &self.rows {
            SourceRows::Model(model) => {
                let last = model.id.rsplit('.').next();
                model.id == name || model.table == name || last == Some(name)
            }
            SourceRows::Query(_) => false,
        }
    }

    /// The columns that it has.
    fn names(&self) -> Vec<String> {
        match &self.rows {
            SourceRows::Model(model) => model.columns.iter().map(|it| it.name.clone()).collect(),
            SourceRows::Query(dsl) => dsl.outputs.iter().map(|it| it.name.clone()).collect(),
        }
    }

    fn column(&self, name: &str) -> Option<QueryField> {
        let holds = match &self.rows {
            SourceRows::Model(model) => {
                let column = model.column(name)?;
                FieldType::Column(Arc::clone(model), column.name.clone())
            }
            SourceRows::Query(dsl) => {
                let output = dsl.outputs.iter().find(|output| output.name == name)?;
                output.field.holds()
            }
        };
        Some(QueryField::Column {
            source: self.alias.clone(),
            name: name.to_owned(),
            holds,
        })
    }
}

fn within(
    column: QueryField,
    name: ColumnName<'_>,
    path: Vec<JsonPathStep>,
) -> QueryResult<(QueryField, String)> {
    if path.len() > STEPS {
        let text = format!("a way into JSON has at most {STEPS} steps");
        return Err(QueryFault::new("too_deep", "", text));
    }
    let is_json = |holds: &FieldType| {
        holds.look(|column| column.kind.shape == ColumnShape::Json && column.crypt.is_none())
    };
    let last = path.iter().rev().find_map(|part| match part {
        JsonPathStep::Key(key) => Some(key.clone()),
        JsonPathStep::Index(_) => None,
    });
    match column {
        QueryField::Column {
            source,
            name: column,
            holds,
        } if is_json(&holds) => {
            let shown = last.unwrap_or_else(|| column.clone());
            let field = QueryField::Path {
                source,
                name: column,
                path,
            };
            Ok((field, shown))
        }
        _ => {
            let text = format!("column \"{}\" holds no JSON", name.column);
            Err(QueryFault::new("unfit_column", "", text))
        }
    }
}
