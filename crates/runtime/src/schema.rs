//! Values against JSON Schemas.

use boon::{Compiler, Schemas, SchemeUrlLoader};
use serde_json::Value;

/// Where a schema that is checked stands, so to speak.
const PLACE: &str = "ambit:schema";

/// Why a value was not found to be as its schema says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// What of the value is wrong, and where.
    Value(String),
    /// The schema is none, or names others.
    Schema(String),
}

/// Checks a value. A schema that refers to files or to the network is not one that can be used.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), Wrong> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.use_loader(Box::new(SchemeUrlLoader::new()));
    let compiled = compiler
        .add_resource(PLACE, schema.clone())
        .and_then(|()| compiler.compile(PLACE, &mut schemas));
    let compiled = compiled.map_err(|error| Wrong::Schema(format!("{error:#}")))?;
    schemas.validate(value, compiled).map_err(|error| {
        let text = error.to_string();
        let lines = text
            .lines()
            .skip(1)
            .map(|line| line.trim_start_matches([' ', '-']));
        Wrong::Value(lines.collect::<Vec<_>>().join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(schema: Value, value: Value) -> Option<Wrong> {
        check(&schema, &value).err()
    }

    #[test]
    fn a_value_is_as_its_schema_says_or_the_places_are_named() {
        let schema = json!({"type": "object", "required": ["city"], "additionalProperties": false,
            "properties": {"city": {"type": "string"}, "days": {"$ref": "#/$defs/days"}},
            "$defs": {"days": {"type": "integer", "minimum": 1}}});
        assert_eq!(
            wrong(schema.clone(), json!({"city": "Rome", "days": 2})),
            None
        );
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
            let expected = Wrong::Value(expected.to_owned());
            assert_eq!(wrong(schema.clone(), value), Some(expected));
        }
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
            let found = wrong(schema.clone(), json!({}));
            assert!(
                matches!(found, Some(Wrong::Schema(_))),
                "{schema}: {found:?}"
            );
        }
    }
}
