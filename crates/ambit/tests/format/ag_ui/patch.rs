//! JSON Patch as clients apply it, as far as it is sent.

use serde_json::Value;

/// Applies a patch; one that does not fit fails the test.
pub fn apply(document: &mut Value, patch: &Value) {
    for step in patch.as_array().unwrap() {
        let path = step["path"].as_str().unwrap();
        let value = step.get("value").cloned();
        let Some((parent, key)) = path.rsplit_once('/') else {
            assert_eq!(step["op"], "replace");
            *document = value.unwrap();
            continue;
        };
        let parent = document.pointer_mut(parent).unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        let op = step["op"].as_str().unwrap();
        match parent {
            Value::Object(fields) => {
                let known = match value {
                    Some(value) => fields.insert(key, value),
                    None => fields.remove(&key),
                };
                assert_eq!(known.is_some(), op != "add", "{step}");
            }
            Value::Array(items) if key == "-" => items.push(value.unwrap()),
            Value::Array(items) => {
                let at: usize = key.parse().unwrap();
                match op {
                    "add" => items.insert(at, value.unwrap()),
                    "replace" => items[at] = value.unwrap(),
                    _ => drop(items.remove(at)),
                }
            }
            other => panic!("{other} cannot be patched: {step}"),
        }
    }
}
