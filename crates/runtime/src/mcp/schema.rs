//! Values checked by JSON Schema, and its defaults filled in.

use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader};
use serde_json::{Map, Value};

/// The only document that a schema may refer to: itself.
const ITSELF: &str = "ambit:///schema";

/// A schema ready to check values.
pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

/// Refuses documents elsewhere: a schema comes from a server that must not make us read files.
struct Nowhere;

impl UrlLoader for Nowhere {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("a schema cannot refer to {url}").into())
    }
}

impl Schema {
    /// A schema; `Err` is why it is none.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(Nowhere));
        let mut schemas = Schemas::new();
        let failed = |error: CompileError| one_line(&error.to_string());
        let added = compiler.add_resource(ITSELF, schema.clone());
        added.map_err(failed)?;
        let index = compiler.compile(ITSELF, &mut schemas);
        let index = index.map_err(failed)?;
        Ok(Self { schemas, index })
    }

    /// Why a value does not fit.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let checked = self.schemas.validate(value, self.index);
        checked.map_err(|error| {
            let text = error.to_string();
            // The first line names the schema, which is always the same one.
            let places = text
                .split_once('\n')
                .map_or(text.as_str(), |(_, rest)| rest);
            one_line(places)
        })
    }
}

/// Why a value does not fit a schema. A schema that is none fits everything: its server has to know.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    match Schema::new(schema) {
        Ok(schema) => schema.check(value),
        Err(_) => Ok(()),
    }
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

/// The value with the defaults of missing properties filled in.
pub fn with_defaults(schema: &Value, value: Value) -> Value {
    let Value::Object(mut fields) = value else {
        return value;
    };
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.unwrap_or(&none) {
        match (fields.remove(name), property.get("default")) {
            (Some(given), _) => {
                fields.insert(name.clone(), with_defaults(property, given));
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
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = json!({"type": "object", "required": ["city"], "additionalProperties": false, "properties": {
            "city": {"type": "string"}, "days": {"type": "array", "items": {"$ref": "#/$defs/day"}}},
            "$defs": {"day": {"enum": ["mon", "tue"]}}});
        assert_eq!(
            check(&schema, &json!({"city": "Ulm", "days": ["mon"]})),
            Ok(())
        );
        for (value, part) in [
            (json!({}), "missing properties 'city'"),
            (
                json!({"city": 7}),
                "at '/city': want string, but got number",
            ),
            (json!({"city": "Ulm", "days": ["sun"]}), "at '/days/0'"),
            (json!({"city": "Ulm", "town": 1}), "'town'"),
            (json!([]), "want object"),
        ] {
            let reason = check(&schema, &value).unwrap_err();
            assert!(reason.contains(part), "{value}: {reason}");
            assert!(!reason.contains('\n'), "{reason}");
        }
    }

    #[test]
    fn a_schema_cannot_make_anybody_read_a_file() {
        let schema = json!({"$ref": "file:///etc/passwd"});
        let reason = Schema::new(&schema).err().unwrap();
        assert!(reason.contains("file:///etc/passwd"), "{reason}");
    }

    #[test]
    fn a_schema_that_is_none_stops_no_call() {
        assert_eq!(check(&json!({"type": 7}), &json!({})), Ok(()));
    }

    #[test]
    fn defaults_are_filled_in_at_every_depth_and_only_where_nothing_is_given() {
        let schema = json!({"properties": {
            "a": {"default": 1}, "b": {"default": 2}, "c": {"properties": {"d": {"default": [3]}}}, "e": {"properties": {"f": {"default": 4}}}}});
        let value = json!({"b": null, "c": {}, "x": true});
        let filled = with_defaults(&schema, value);
        assert_eq!(
            filled,
            json!({"a": 1, "b": null, "c": {"d": [3]}, "x": true})
        );
    }
}
