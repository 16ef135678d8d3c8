//! JSON Schemas as TypeScript, as far as types can say what they say. What they cannot is `any`.

use super::quoted;
use serde_json::{Map, Value};

const ANY: &str = "any";

/// Schemas within schemas beyond this depth are `any`.
const DEPTH: usize = 16;

/// The type of the values that a schema allows.
pub(super) fn of(schema: &Value) -> String {
    within(schema, DEPTH)
}

fn within(schema: &Value, depth: usize) -> String {
    let Some(schema) = schema.as_object().filter(|_| depth > 0) else {
        return ANY.to_owned();
    };
    if let Some(value) = schema.get("const") {
        return literal(value);
    }
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        return union(values.iter().map(literal));
    }
    if let Some(choices) = list("anyOf").or_else(|| list("oneOf")) {
        return union(choices.iter().map(|choice| within(choice, depth - 1)));
    }
    match schema.get("type") {
        Some(Value::String(name)) => named(name, schema, depth),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            union(names.map(|name| named(name, schema, depth)))
        }
        None if schema.contains_key("properties") => object(schema, depth),
        _ => ANY.to_owned(),
    }
}

fn named(name: &str, schema: &Map<String, Value>, depth: usize) -> String {
    match name {
        "string" | "boolean" | "number" | "null" => name.to_owned(),
        "integer" => "number".to_owned(),
        "array" => {
            let items = schema.get("items").map(|items| within(items, depth - 1));
            format!("({})[]", items.as_deref().unwrap_or(ANY))
        }
        "object" => object(schema, depth),
        _ => ANY.to_owned(),
    }
}

fn object(schema: &Map<String, Value>, depth: usize) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.into_iter().flatten().any(|it| it == name);
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten().map(|(name, schema)| {
        let mark = if is_required(name) { "" } else { "?" };
        format!("{}{mark}: {}", quoted(name), within(schema, depth - 1))
    });
    let mut members: Vec<String> = properties.collect();
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        members.push("[key: string]: any".to_owned());
    }
    format!("{{ {} }}", members.join("; "))
}

/// A value as a type. Lists and objects are not told apart.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => ANY.to_owned(),
        plain => plain.to_string(),
    }
}

fn union(types: impl Iterator<Item = String>) -> String {
    let types: Vec<String> = types.collect();
    match types.is_empty() || types.iter().any(|it| it == ANY) {
        true => ANY.to_owned(),
        false => types.join(" | "),
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use serde_json::json;

    #[test]
    fn schemas_are_written_as_types() {
        for (schema, expected) in [
            (json!(true), "any"),
            (json!({}), "any"),
            (json!({"type": "integer"}), "number"),
            (json!({"type": ["string", "null"]}), "string | null"),
            (json!({"const": "a\"b"}), "\"a\\\"b\""),
            (json!({"enum": ["a", 1, null]}), "\"a\" | 1 | null"),
            (json!({"enum": ["a", {"b": 1}]}), "any"),
            (json!({"anyOf": []}), "any"),
            (
                json!({"oneOf": [{"type": "boolean"}, {"type": "number"}]}),
                "boolean | number",
            ),
            (json!({"type": "array"}), "(any)[]"),
            (
                json!({"type": "array", "items": {"enum": ["a", "b"]}}),
                "(\"a\" | \"b\")[]",
            ),
            (
                json!({"type": "object", "additionalProperties": false}),
                "{  }",
            ),
            (
                json!({"properties": {"a": {"type": "string"}, "b": {"$ref": "#/x"}}, "required": ["a"]}),
                "{ \"a\": string; \"b\"?: any; [key: string]: any }",
            ),
        ] {
            assert_eq!(of(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_within_itself_many_times_ends() {
        let mut schema = json!({"type": "string"});
        for _ in 0..100 {
            schema = json!({"type": "array", "items": schema});
        }
        let written = of(&schema);
        assert!(written.contains("any") && written.len() < 100, "{written}");
    }
}
