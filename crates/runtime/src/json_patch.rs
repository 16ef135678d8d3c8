//! JSON Patch (RFC 6902): what makes one value of another.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// One step of a patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOperation {
    /// Puts a field, or inserts an item.
    Add {
        /// Where: a JSON Pointer, as in all steps.
        path: JsonPointer,
        /// What.
        value: Value,
    },
    /// Puts another value in the place of one.
    Replace {
        /// Where.
        path: JsonPointer,
        /// What.
        value: Value,
    },
    /// Takes a value away.
    Remove {
        /// Where.
        path: JsonPointer,
    },
}

/// A place in a value (RFC 6901); the empty one is the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct JsonPointer(String);

impl JsonPointer {
    /// The place of a field or an item below this one.
    pub fn child(&self, key: &str) -> Self {
        Self(format!(
            "{}/{}",
            self.0,
            key.replace('~', "~0").replace('/', "~1")
        ))
    }

    /// The place behind the last item of the list at this one.
    pub fn end(&self) -> Self {
        self.child("-")
    }
}

/// Names that appliers refuse to touch, because JavaScript gives them a meaning: what has them is replaced as a whole.
const REFUSED: [&str; 3] = ["__proto__", "prototype", "constructor"];

/// The steps that make `after` of `before`, which stands at `place`. Equal values need none.
pub fn diff(place: &JsonPointer, before: &Value, after: &Value) -> Vec<PatchOperation> {
    let mut steps = Vec::new();
    compare(place, before, after, &mut steps);
    steps
}

fn compare(place: &JsonPointer, before: &Value, after: &Value, steps: &mut Vec<PatchOperation>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) if can_be_patched(before, after) => {
            compare_fields(place, before, after, steps);
        }
        (Value::Array(before), Value::Array(after)) => {
            compare_items(place, before, after, steps);
        }
        _ if before == after => {}
        _ => steps.push(PatchOperation::Replace {
            path: place.clone(),
            value: after.clone(),
        }),
    }
}

fn can_be_patched(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    REFUSED
        .iter()
        .all(|name| before.get(*name) == after.get(*name))
}

fn compare_fields(
    place: &JsonPointer,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    steps: &mut Vec<PatchOperation>,
) {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    steps.extend(gone.map(|name| PatchOperation::Remove {
        path: place.child(name),
    }));
    for (name, value) in after {
        let path = place.child(name);
        match before.get(name) {
            Some(known) => compare(&path, known, value, steps),
            None => steps.push(PatchOperation::Add {
                path,
                value: value.clone(),
            }),
        }
    }
}

/// Items are compared place by place: lists mostly grow at their end.
fn compare_items(
    place: &JsonPointer,
    before: &[Value],
    after: &[Value],
    steps: &mut Vec<PatchOperation>,
) {
    for (at, (known, value)) in before.iter().zip(after).enumerate() {
        compare(&place.child(&at.to_string()), known, value, steps);
    }
    let gone = (after.len()..before.len()).rev();
    steps.extend(gone.map(|at| PatchOperation::Remove {
        path: place.child(&at.to_string()),
    }));
    let new = after.iter().skip(before.len());
    steps.extend(new.map(|value| PatchOperation::Add {
        path: place.end(),
        value: value.clone(),
    }));
}

#[cfg(test)]
mod tests {
    use super::{JsonPointer, diff};
    use serde_json::{Value, json};

    fn steps(before: &Value, after: &Value) -> Value {
        json!(diff(&JsonPointer::default(), before, after))
    }

    #[test]
    fn fields_are_added_changed_and_removed() {
        let before = json!({"a": 1, "b": {"c": [1], "d/~": 2}, "e": null});
        let after = json!({"a": 2, "b": {"c": [1, 2], "d/~": 3}, "f": {}});
        let expected = json!([
            {"op": "remove", "path": "/e"},
            {"op": "replace", "path": "/a", "value": 2},
            {"op": "add", "path": "/b/c/-", "value": 2},
            {"op": "replace", "path": "/b/d~1~0", "value": 3},
            {"op": "add", "path": "/f", "value": {}},
        ]);
        assert_eq!(steps(&before, &after), expected);
        assert_eq!(steps(&after, &after), json!([]));
    }

    #[test]
    fn lists_become_shorter_from_their_end() {
        let expected = json!([
            {"op": "replace", "path": "/0", "value": 9},
            {"op": "remove", "path": "/2"},
            {"op": "remove", "path": "/1"},
        ]);
        assert_eq!(steps(&json!([1, 2, 3]), &json!([9])), expected);
    }

    #[test]
    fn other_types_and_refused_names_are_replaced_as_a_whole() {
        let whole = |value: &Value| json!([{"op": "replace", "path": "", "value": value}]);
        assert_eq!(steps(&json!({}), &json!([])), whole(&json!([])));
        let with_name = json!({"__proto__": {"a": 1}, "b": 2});
        assert_eq!(steps(&json!({"b": 1}), &with_name), whole(&with_name));
        let expected = json!([{"op": "replace", "path": "/b", "value": 3}]);
        let changed = json!({"__proto__": {"a": 1}, "b": 3});
        assert_eq!(steps(&with_name, &changed), expected);
    }
}
