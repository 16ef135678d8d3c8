//! Events of traces without what is large, for whoever shows a tree of many nodes.

use serde_json::{Map, Value};

/// Bytes of one value of metadata.
const METADATA: usize = 256;

/// The event without inputs, outputs, data of lines, values of boards, and long metadata. It says in `left_out` what is missing.
pub fn of(mut event: Value) -> Value {
    let mut left_out = Vec::new();
    for place in ["node", "space"] {
        if let Some(Value::Object(inner)) = event.get_mut(place) {
            reduce(inner, &mut left_out);
        }
    }
    if let Value::Object(fields) = &mut event {
        reduce(fields, &mut left_out);
        if !left_out.is_empty() {
            fields.insert("left_out".to_owned(), left_out.into());
        }
    }
    event
}

/// Takes out what is large. What has to be there is `null` or empty instead.
fn reduce(fields: &mut Map<String, Value>, left_out: &mut Vec<String>) {
    for name in ["input", "output", "data", "value"] {
        let value = fields.get_mut(name).filter(|value| !value.is_null());
        if let Some(value) = value {
            *value = Value::Null;
            left_out.push(name.to_owned());
        }
    }
    if let Some(Value::Object(values)) = fields.get_mut("values")
        && !values.is_empty()
    {
        values.clear();
        left_out.push("values".to_owned());
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.retain(|name, value| {
            let is_short = value.to_string().len() <= METADATA;
            if !is_short {
                left_out.push(format!("metadata.{name}"));
            }
            is_short
        });
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use serde_json::json;

    #[test]
    fn what_is_left_out_is_named() {
        let long = "x".repeat(300);
        let node = json!({"id": "n1", "label": "a", "input": [1], "output": null, "metadata": {"m": 1, "long": long}});
        let started = of(json!({"type": "node_start", "node": node}));
        let expected = json!({
            "type": "node_start",
            "node": {"id": "n1", "label": "a", "input": null, "output": null, "metadata": {"m": 1}},
            "left_out": ["input", "metadata.long"],
        });
        assert_eq!(started, expected);
        let added =
            of(json!({"type": "memory_add", "space_id": "s1", "key": "k", "value": 1, "at": 2}));
        let expected = json!({
            "type": "memory_add", "space_id": "s1", "key": "k", "value": null, "at": 2, "left_out": ["value"],
        });
        assert_eq!(added, expected);
        let ended = json!({"type": "complete", "status": "completed", "at": 3});
        assert_eq!(of(ended.clone()), ended);
    }
}
