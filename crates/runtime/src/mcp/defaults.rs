//! The defaults that a JSON Schema gives.

use serde_json::{Map, Value};

/// The value with the defaults of missing properties filled in.
pub fn fill_in(schema: &Value, value: Value) -> Value {
    let Value::Object(mut fields) = value else {
        return value;
    };
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
            "a": {"default": 1}, "b": {"default": 2}, "c": {"properties": {"d": {"default": [3]}}}, "e": {"properties": {"f": {"default": 4}}}}});
        let value = json!({"b": null, "c": {}, "x": true});
        let filled = fill_in(&schema, value);
        assert_eq!(
            filled,
            json!({"a": 1, "b": null, "c": {"d": [3]}, "x": true})
        );
    }
}
