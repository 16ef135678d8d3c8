//! Values against JSON Schemas, and the defaults that these give.

mod cost;

use boon::{CompileError, Compiler, Schemas, SchemeUrlLoader};
use serde_json::{Map, Value};

/// The address that a schema is compiled under.
const SCHEMA_URL: &str = "ambit:schema";

/// So many faults of a value are named.
const FAULTS: usize = 20;

/// MiB that the defaults of a value take, at most: a list repeats those of its items.
const DEFAULTS: usize = 16;

/// Why a value was not found to be as its schema says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SchemaError {
    /// What of the value is wrong, and where.
    Value(String),
    /// The schema is none, names others, or takes too long.
    Schema(String),
}

/// Checks a value. A schema that refers to files or to the network is not one that can be used.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), SchemaError> {
    cost::check_cost(schema, value).map_err(SchemaError::Schema)?;
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.use_loader(Box::new(SchemeUrlLoader::new()));
    let unusable = |error: CompileError| SchemaError::Schema(format!("{error:#}"));
    let added = compiler.add_resource(SCHEMA_URL, schema.clone());
    added.map_err(unusable)?;
    let compiled = compiler
        .compile(SCHEMA_URL, &mut schemas)
        .map_err(unusable)?;
    schemas.validate(value, compiled).map_err(|error| {
        let text = error.to_string();
        let lines = text.lines().skip(1);
        let (first, more) = (lines.clone().take(FAULTS), lines.count());
        let first = first.map(|line| line.trim_start_matches([' ', '-']));
        let mut what = first.collect::<Vec<_>>().join("; ");
        if more > FAULTS {
            what.push_str(&format!("; and {} more", more - FAULTS));
        }
        SchemaError::Value(what)
    })
}

/// The value with the defaults of missing properties filled in, at every depth. A property may be required and have a
/// default: a value is checked behind this. Fails where that would take too much memory.
pub(crate) fn fill_in(schema: &Value, value: Value) -> Result<Value, String> {
    let mut left = DEFAULTS << 20;
    fill_in_within(schema, value, &mut left).ok_or_else(|| {
        format!("the defaults of the schema would take more than {DEFAULTS} MiB: give fewer items, or the values themselves")
    })
}

/// The same with so many bytes left, and `None` where they do not suffice.
fn fill_in_within(schema: &Value, value: Value, left: &mut usize) -> Option<Value> {
    match value {
        Value::Object(fields) => fill_in_fields(schema, fields, left),
        Value::Array(items) => {
            let of_each = schema.get("items").unwrap_or(&Value::Null);
            let items = items.into_iter();
            items.map(|it| fill_in_within(of_each, it, left)).collect()
        }
        other => Some(other),
    }
}

fn fill_in_fields(
    schema: &Value,
    mut fields: Map<String, Value>,
    left: &mut usize,
) -> Option<Value> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.unwrap_or(&none) {
        // To look for it takes time, whether or not it has a default.
        *left = left.checked_sub(1 + name.len())?;
        match (fields.remove(name), property.get("default")) {
            (Some(given), _) => {
                let filled = fill_in_within(property, given, left)?;
                fields.insert(name.clone(), filled);
            }
            (None, Some(default)) => {
                *left = left.checked_sub(size(default))?;
                fields.insert(name.clone(), default.clone());
            }
            (None, None) => {}
        }
    }
    Some(Value::Object(fields))
}

/// Bytes of a value, near enough.
pub(crate) fn size(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| name.len() + size(value))
            .sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_are_filled_in_at_every_depth_and_only_where_nothing_is_given() {
        let schema = json!({"properties": {
            "a": {"default": 1}, "b": {"default": 2}, "c": {"properties": {"d": {"default": [3]}}}, "e": {"properties": {"f": {"default": 4}}},
            "g": {"items": {"properties": {"h": {"default": 5}}}}}});
        let value = json!({"b": null, "c": {}, "g": [{}, {"h": 6}, 7], "x": true});
        let filled =
            json!({"a": 1, "b": null, "c": {"d": [3]}, "g": [{"h": 5}, {"h": 6}, 7], "x": true});
        assert_eq!(fill_in(&schema, value), Ok(filled));
    }

    #[test]
    fn defaults_that_would_take_too_much_are_refused() {
        let large = "x".repeat(1 << 20);
        let one = json!({"items": {"properties": {"x": {"default": large}}}});
        let names = (0..2_000).map(|at| (format!("x{at}"), json!({})));
        let none = json!({"items": {"properties": Value::Object(names.collect())}});
        let why = "the defaults of the schema would take more than 16 MiB: give fewer items, or the values themselves";
        for (schema, most) in [(one, 15), (none, 1_000)] {
            let items = |count: usize| Value::from(vec![json!({}); count]);
            assert!(fill_in(&schema, items(most)).is_ok());
            let found = fill_in(&schema, items(100_000));
            assert!(found == Err(why.to_owned()));
        }
    }

    fn wrong(schema: &Value, value: &Value) -> Option<SchemaError> {
        check(schema, value).err()
    }

    #[test]
    fn a_value_is_as_its_schema_says_or_the_places_are_named() {
        let schema = json!({"type": "object", "required": ["city"], "additionalProperties": false,
            "properties": {"city": {"type": "string"}, "days": {"$ref": "#/$defs/days"}},
            "$defs": {"days": {"type": "integer", "minimum": 1}}});
        assert_eq!(wrong(&schema, &json!({"city": "Rome", "days": 2})), None);
        for (value, expected) in [
            (json!({}), "at '': missing properties 'city'"),
            (json!(7), "at '': want object, but got number"),
            (
                json!({"city": 1, "days": 0}),
                "at '/city': want string, but got number; at '/days': must be >=1, but got 0",
            ),
            (
                json!({"city": "Rome", "town": 1}),
                "at '': additionalProperties 'town' not allowed",
            ),
        ] {
            let expected = SchemaError::Value(expected.to_owned());
            assert_eq!(wrong(&schema, &value), Some(expected));
        }
    }

    #[test]
    fn of_many_places_the_first_are_named() {
        let schema = json!({"items": {"type": "string"}});
        let found = wrong(&schema, &vec![7; 1_000].into());
        let Some(SchemaError::Value(what)) = found else {
            panic!("{found:?}");
        };
        let end = "at '/19': want string, but got number; and 980 more";
        assert!(what.ends_with(end), "{what}");
    }

    #[test]
    fn schemas_that_are_none_or_reach_out_are_told_apart() {
        for schema in [
            json!({"type": "text"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "http://127.0.0.1/schema.json"}),
            json!({"$ref": "#/nowhere"}),
            json!([]),
        ] {
            let found = wrong(&schema, &json!({}));
            assert!(
                matches!(found, Some(SchemaError::Schema(_))),
                "{schema}: {found:?}"
            );
        }
    }
}
