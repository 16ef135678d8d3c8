//! Values against JSON Schemas, and the defaults that these give.

mod cost;

use boon::{CompileError, Compiler, Schemas, SchemeUrlLoader};
use serde_json::{Map, Value};

/// The address that a schema is compiled under.
const SCHEMA_URL: &str = "ambit:schema";

/// So many faults of a value are named.
const FAULTS: usize = 20;

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
/// default: a value is checked behind this.
pub(crate) fn fill_in(schema: &Value, value: Value) -> Value {
    match value {
        Value::Object(fields) => fill_in_fields(schema, fields),
        Value::Array(items) => {
            let of_each = schema.get("items").unwrap_or(&Value::Null);
            items.into_iter().map(|it| fill_in(of_each, it)).collect()
        }
        other => other,
    }
}

fn fill_in_fields(schema: &Value, mut fields: Map<String, Value>) -> Value {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.unwrap_or(&none) {
        match (fields.remove(name), property.get("default")) {
            (Some(given), _) => {
                fields.insert(name.clone(), fill_in(property, given));
            }
            (None, Some(default)) => {
                fields.insert(name.clone(), default.clone());
            }
            (None, None) => {}
        }
    }
    Value::Object(fields)
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
        let filled = fill_in(&schema, value);
        assert_eq!(
            filled,
            json!({"a": 1, "b": null, "c": {"d": [3]}, "g": [{"h": 5}, {"h": 6}, 7], "x": true})
        );
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
