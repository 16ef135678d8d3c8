//! Filters over the fields of values.

use ambit_runtime::{Error, Result};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Conditions on the top-level fields of a value, all of which must hold.
#[derive(Debug, Default, PartialEq)]
pub struct ItemFilter(Vec<FieldCondition>);

/// A condition on one field.
#[derive(Debug, PartialEq)]
struct FieldCondition {
    field: String,
    comparison: Comparison,
    operand: Value,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

const OPERATORS: &[(&str, Comparison)] = &[
    ("$eq", Comparison::Equal),
    ("$ne", Comparison::NotEqual),
    ("$gt", Comparison::Greater),
    ("$gte", Comparison::GreaterOrEqual),
    ("$lt", Comparison::Less),
    ("$lte", Comparison::LessOrEqual),
];

impl ItemFilter {
    /// Reads a filter.
    pub fn parse(filter: &Map<String, Value>) -> Result<Self> {
        let mut conditions = Vec::new();
        for (field, wanted) in filter {
            let operators = wanted.as_object();
            let operators = operators.filter(|it| it.keys().any(|name| name.starts_with('$')));
            let Some(operators) = operators else {
                conditions.push(FieldCondition {
                    field: field.clone(),
                    comparison: Comparison::Equal,
                    operand: wanted.clone(),
                });
                continue;
            };
            for (name, operand) in operators {
                conditions.push(FieldCondition {
                    field: field.clone(),
                    comparison: comparison(field, name)?,
                    operand: operand.clone(),
                });
            }
        }
        Ok(Self(conditions))
    }

    /// True where every value matches.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True where all conditions hold; a field that is missing is `null`.
    pub fn matches(&self, value: &Value) -> bool {
        self.0.iter().all(|condition| {
            let found = value.get(&condition.field).unwrap_or(&Value::Null);
            condition.holds(found)
        })
    }
}

fn comparison(field: &str, name: &str) -> Result<Comparison> {
    let known = OPERATORS.iter().find(|(known, _)| *known == name);
    known.map(|(_, comparison)| *comparison).ok_or_else(|| {
        let names: Vec<&str> = OPERATORS.iter().map(|(name, _)| *name).collect();
        let param = format!("filter.{field}.{name}");
        let message = format!("{param} is no comparison; known are {}", names.join(", "));
        Error::invalid(param, message)
    })
}

impl FieldCondition {
    fn holds(&self, found: &Value) -> bool {
        let order = || order(found, &self.operand);
        match self.comparison {
            Comparison::Equal => is_equal(found, &self.operand),
            Comparison::NotEqual => !is_equal(found, &self.operand),
            Comparison::Greater => order().is_some_and(Ordering::is_gt),
            Comparison::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
            Comparison::Less => order().is_some_and(Ordering::is_lt),
            Comparison::LessOrEqual => order().is_some_and(Ordering::is_le),
        }
    }
}

/// Equal as JSON: `1` and `1.0` are one number, the order of fields says nothing.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => order(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let has = |(name, value): (&String, &Value)| {
                b.get(name).is_some_and(|other| is_equal(value, other))
            };
            a.len() == b.len() && a.iter().all(has)
        }
        _ => a == b,
    }
}

/// Numbers and texts have an order among their own kind alone.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::ItemFilter;
    use serde_json::{Value, json};

    #[expect(clippy::needless_pass_by_value, reason = "calls of it read better")]
    fn filter(filter: Value) -> ambit_runtime::Result<ItemFilter> {
        ItemFilter::parse(filter.as_object().unwrap())
    }

    #[test]
    fn a_field_is_compared_by_its_kind() {
        let value = json!({"n": 2, "f": 2.5, "s": "b", "o": {"x": 1, "y": [1]}, "z": null});
        for (conditions, expected) in [
            (json!({}), true),
            (json!({"n": 2}), true),
            (json!({"n": 2.0}), true),
            (json!({"n": "2"}), false),
            (json!({"n": {"$gt": 1, "$lte": 2}}), true),
            (json!({"n": {"$lt": 2}}), false),
            (json!({"n": {"$gt": "1"}}), false),
            (json!({"f": {"$gte": 2.5}, "s": {"$lt": "c"}}), true),
            (json!({"f": {"$gte": 2.5}, "s": {"$lt": "b"}}), false),
            (json!({"o": {"y": [1.0], "x": 1}}), true),
            (json!({"o": {"x": 1}}), false),
            (json!({"z": null, "missing": null}), true),
            (json!({"missing": {"$ne": 1}}), true),
            (json!({"missing": {"$gt": 1}}), false),
        ] {
            let read = filter(conditions.clone()).unwrap();
            assert_eq!(read.matches(&value), expected, "{conditions}");
        }
    }

    #[test]
    fn another_operator_is_refused_by_its_place() {
        let error = filter(json!({"n": {"$in": [1]}})).unwrap_err();
        assert_eq!(
            error.message,
            "filter.n.$in is no comparison; known are $eq, $ne, $gt, $gte, $lt, $lte"
        );
    }
}
