//! Filters of metadata: which documents and values a search may find, by what is said of them.

use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// More conditions are refused.
const CONDITIONS: usize = 32;
/// Paths into metadata go no deeper.
const DEPTH: usize = 8;
/// Longer lists of values are refused.
const VALUES: usize = 1_000;
const OPERATORS: &str = "$eq, $ne, $gt, $gte, $lt, $lte, $in or $exists";

/// What metadata must be like. All conditions must hold; without any, everything matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataFilter {
    conditions: Vec<FilterCondition>,
}

/// A filter that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("filter {path:?} {reason}")]
pub struct InvalidFilter {
    /// Where in the filter; empty where it is the whole.
    pub path: String,
    /// What is wrong there, and what would be accepted.
    pub reason: String,
}

/// What one field must be like.
#[derive(Clone, Debug, PartialEq)]
struct FilterCondition {
    /// The keys that lead to the field, with dots between them, or one key that has the dots.
    path: String,
    test: FieldTest,
}

/// Values of different types never match, whatever the operator.
#[derive(Clone, Debug, PartialEq)]
enum FieldTest {
    Equal(Value),
    Unequal(Value),
    /// Which orders of the field to the value will do.
    Ordered(&'static [Ordering], Value),
    OneOf(Vec<Value>),
    Exists(bool),
}

impl MetadataFilter {
    /// Reads `{"<path>": value | [values] | {"$gt": value, …}, …}`.
    pub fn parse(filter: &Value) -> Result<Self, InvalidFilter> {
        let Value::Object(fields) = filter else {
            return Err(invalid("", "must be an object of paths and conditions"));
        };
        let mut conditions = Vec::new();
        for (name, wanted) in fields {
            check_path(name)?;
            for test in parse_tests(name, wanted)? {
                let path = name.clone();
                conditions.push(FilterCondition { path, test });
            }
            if conditions.len() > CONDITIONS {
                let reason = format!("is one condition too many, at most {CONDITIONS} are read");
                return Err(invalid(name, &reason));
            }
        }
        Ok(Self { conditions })
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether metadata is as it says.
    pub fn matches(&self, metadata: &Value) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.all(|condition| condition.test.passes(field(metadata, &condition.path)))
    }
}

/// The field whose key is the whole path, else the one that its keys lead to.
fn field<'a>(metadata: &'a Value, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('.');
    let whole = metadata.get(path);
    whole.or_else(|| keys.try_fold(metadata, |value, key| value.as_object()?.get(key)))
}

impl FieldTest {
    fn passes(&self, found: Option<&Value>) -> bool {
        if let Self::Exists(is_wanted) = self {
            return found.is_some() == *is_wanted;
        }
        let Some(found) = found else {
            return false;
        };
        match self {
            Self::Equal(wanted) => is_equal(found, wanted) == Some(true),
            Self::Unequal(wanted) => is_equal(found, wanted) == Some(false),
            Self::OneOf(wanted) => wanted
                .iter()
                .any(|wanted| is_equal(found, wanted) == Some(true)),
            Self::Ordered(orders, wanted) => {
                order(found, wanted).is_some_and(|order| orders.contains(&order))
            }
            Self::Exists(_) => false,
        }
    }
}

/// Whether two values are the same; `None` for those that are not compared.
fn is_equal(one: &Value, other: &Value) -> Option<bool> {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => Some(one == other),
        (Value::Null, Value::Null) => Some(true),
        _ => order(one, other).map(Ordering::is_eq),
    }
}

/// Numbers as numbers, text by code point; `None` for all other pairs.
fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => number_order(one, other),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

fn number_order(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        (Some(one), None) => whole_order(one, other.as_f64()?),
        (None, Some(other)) => whole_order(other, one.as_f64()?).map(Ordering::reverse),
        (None, None) => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// A whole number and one that may be none; large ones as exactly as small ones.
fn whole_order(one: i128, other: f64) -> Option<Ordering> {
    let whole = one.cmp(&(other.trunc() as i128));
    let rest = 0.0_f64.partial_cmp(&other.fract())?;
    Some(whole.then(rest))
}

fn check_path(name: &str) -> Result<(), InvalidFilter> {
    if name.starts_with('$') {
        let reason = "is no path; all conditions must hold, and operators stand behind a path";
        return Err(invalid(name, reason));
    }
    if name.split('.').any(str::is_empty) {
        return Err(invalid(name, "must be keys with single dots between them"));
    }
    let depth = name.split('.').count();
    if depth > DEPTH {
        let reason = format!("goes {depth} keys deep, at most {DEPTH} are read");
        return Err(invalid(name, &reason));
    }
    Ok(())
}

fn parse_tests(name: &str, wanted: &Value) -> Result<Vec<FieldTest>, InvalidFilter> {
    match wanted {
        Value::Object(operators) => parse_operators(name, operators),
        Value::Array(values) => Ok(vec![FieldTest::OneOf(plain_values(name, values)?)]),
        value => Ok(vec![FieldTest::Equal(value.clone())]),
    }
}

fn parse_operators(
    name: &str,
    operators: &Map<String, Value>,
) -> Result<Vec<FieldTest>, InvalidFilter> {
    if operators.is_empty() {
        return Err(invalid(name, &format!("must name {OPERATORS}")));
    }
    let tests = operators.iter().map(|(operator, value)| {
        let path = format!("{name}.{operator}");
        parse_operator(&path, operator, value)
    });
    tests.collect()
}

fn parse_operator(path: &str, operator: &str, value: &Value) -> Result<FieldTest, InvalidFilter> {
    use Ordering::{Equal, Greater, Less};
    let ordered = |orders| Ok(FieldTest::Ordered(orders, comparable(path, value)?));
    match operator {
        "$eq" => Ok(FieldTest::Equal(plain(path, value)?)),
        "$ne" => Ok(FieldTest::Unequal(plain(path, value)?)),
        "$gt" => ordered(&[Greater]),
        "$gte" => ordered(&[Greater, Equal]),
        "$lt" => ordered(&[Less]),
        "$lte" => ordered(&[Less, Equal]),
        "$in" => match value {
            Value::Array(values) => Ok(FieldTest::OneOf(plain_values(path, values)?)),
            _ => Err(invalid(path, "must be a list of values")),
        },
        "$exists" => match value {
            Value::Bool(is_wanted) => Ok(FieldTest::Exists(*is_wanted)),
            _ => Err(invalid(path, "must be true or false")),
        },
        _ => Err(invalid(path, &format!("is no operator, use {OPERATORS}"))),
    }
}

fn plain_values(path: &str, values: &[Value]) -> Result<Vec<Value>, InvalidFilter> {
    if values.len() > VALUES {
        let reason = format!("has {} values, at most {VALUES} are read", values.len());
        return Err(invalid(path, &reason));
    }
    let values = values.iter().enumerate();
    values
        .map(|(at, value)| plain(&format!("{path}[{at}]"), value))
        .collect()
}

fn plain(path: &str, value: &Value) -> Result<Value, InvalidFilter> {
    match value {
        Value::Array(_) | Value::Object(_) => {
            Err(invalid(path, "must be text, a number, true, false or null"))
        }
        value => Ok(value.clone()),
    }
}

fn comparable(path: &str, value: &Value) -> Result<Value, InvalidFilter> {
    match value {
        Value::Number(_) | Value::String(_) => Ok(value.clone()),
        _ => Err(invalid(path, "must be text or a number")),
    }
}

fn invalid(path: &str, reason: &str) -> InvalidFilter {
    InvalidFilter {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests;
