//! What a frame changes in the props of a message, as a JSON Patch.

use ambit_runtime::Frame;
use ambit_runtime::frame::DeltaAction;
use ambit_runtime::frame::change::MessageProps;
use ambit_runtime::frame::props_path::PropsPath;
use ambit_runtime::json_patch::{JsonPointer, PatchOperation, diff};
use serde_json::Value;

/// The part of the props that a frame is going to change, as it was before.
pub struct PropsBefore {
    /// The keys that lead to it.
    steps: Vec<String>,
    value: ValueBefore,
}

enum ValueBefore {
    /// There was nothing.
    Nothing,
    /// A list that only becomes longer had so many items.
    List(usize),
    Known(Value),
}

impl PropsBefore {
    /// Looks where the frame changes these props.
    pub fn of(frame: &Frame, props: &MessageProps) -> Self {
        let is_append = matches!(frame.delta_action, None | Some(DeltaAction::Append));
        let path = match &frame.delta_path {
            Some(path) => PropsPath::parse(path).unwrap_or_default(),
            None if is_append => PropsPath::key("content"),
            None => PropsPath::default(),
        };
        let Some((first, rest)) = path.steps().split_first() else {
            return Self {
                steps: Vec::new(),
                value: ValueBefore::Known(props.clone().into()),
            };
        };
        let mut steps = vec![first.clone()];
        let mut found = props.get(first);
        for step in rest {
            let Some(parent) = found.filter(|value| !value.is_null()) else {
                break;
            };
            found = child(parent, step);
            steps.push(step.clone());
        }
        let is_target = steps.len() == path.steps().len();
        let value = match found {
            None => ValueBefore::Nothing,
            Some(Value::Array(items)) if is_append && is_target => ValueBefore::List(items.len()),
            Some(value) => ValueBefore::Known(value.clone()),
        };
        Self { steps, value }
    }

    /// What makes these props of the earlier ones.
    pub fn patch_to(self, after: &MessageProps) -> Vec<PatchOperation> {
        let place = || pointer(&self.steps);
        let found = match self.steps.split_first() {
            Some((first, rest)) => {
                let top = after.get(first);
                rest.iter().fold(top, |value, step| child(value?, step))
            }
            None => return whole(self.value, after),
        };
        let Some(found) = found else {
            return Vec::new();
        };
        match (self.value, found) {
            (ValueBefore::List(length), Value::Array(items)) => {
                let path = place().end();
                let new = items.iter().skip(length).cloned();
                let add = |value| PatchOperation::Add {
                    path: path.clone(),
                    value,
                };
                new.map(add).collect()
            }
            (ValueBefore::Known(value), found) => diff(&place(), &value, found),
            (ValueBefore::Nothing | ValueBefore::List(_), found) => vec![PatchOperation::Add {
                path: place(),
                value: found.clone(),
            }],
        }
    }
}

fn whole(before: ValueBefore, after: &MessageProps) -> Vec<PatchOperation> {
    let ValueBefore::Known(before) = before else {
        return Vec::new();
    };
    diff(
        &JsonPointer::default(),
        &before,
        &Value::Object(after.clone()),
    )
}

fn pointer(steps: &[String]) -> JsonPointer {
    let root = JsonPointer::default();
    steps.iter().fold(root, |place, step| place.child(step))
}

fn child<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    }
}

#[cfg(test)]
mod tests {
    use super::PropsBefore;
    use ambit_runtime::Frame;
    use ambit_runtime::frame::{OutputMessages, apply};
    use serde_json::{Value, json};

    /// The patch for what a frame changes in a message with these props.
    #[expect(clippy::needless_pass_by_value, reason = "calls of it read better")]
    fn patch(props: Value, frame: Value) -> Value {
        let read = |mut frame: Value| -> Frame {
            frame["type"] = "note".into();
            frame["message_id"] = "M1".into();
            serde_json::from_value(frame).unwrap()
        };
        let mut state = OutputMessages::default();
        apply(&mut state, &read(json!({"props": props}))).unwrap();
        let frame = read(frame);
        let before = PropsBefore::of(&frame, &state.get("M1").unwrap().props);
        apply(&mut state, &frame).unwrap();
        json!(before.patch_to(&state.get("M1").unwrap().props))
    }

    #[test]
    fn an_append_adds_items_and_replaces_texts() {
        let rows = json!({"delta": true, "delta_action": "append", "delta_path": "rows",
            "props": {"rows": [{"a": 1}, 2]}});
        let expected = json!([
            {"op": "add", "path": "/rows/-", "value": {"a": 1}},
            {"op": "add", "path": "/rows/-", "value": 2},
        ]);
        assert_eq!(patch(json!({"rows": [0]}), rows.clone()), expected);
        let expected = json!([{"op": "add", "path": "/rows", "value": [{"a": 1}, 2]}]);
        assert_eq!(patch(json!({}), rows), expected);
        let text = json!({"delta": true, "props": {"content": " two"}});
        let expected = json!([{"op": "replace", "path": "/content", "value": "one two"}]);
        assert_eq!(patch(json!({"content": "one"}), text), expected);
    }

    #[test]
    fn set_makes_the_objects_that_are_missing() {
        let set = json!({"delta": true, "delta_action": "set", "delta_path": "a.b.c",
            "props": {"a": {"b": {"c": 1}}}});
        let expected = json!([{"op": "add", "path": "/a/b", "value": {"c": 1}}]);
        assert_eq!(patch(json!({"a": {}}), set.clone()), expected);
        let expected = json!([{"op": "replace", "path": "/a", "value": {"b": {"c": 1}}}]);
        assert_eq!(patch(json!({"a": null}), set), expected);
        let item = json!({"delta": true, "delta_action": "set", "delta_path": "items.1",
            "props": {"items": {"1": "x"}}});
        let expected = json!([{"op": "add", "path": "/items/1", "value": "x"}]);
        assert_eq!(patch(json!({"items": [0]}), item.clone()), expected);
        let expected = json!([{"op": "replace", "path": "/items/1", "value": "x"}]);
        assert_eq!(patch(json!({"items": [0, 1, 2]}), item), expected);
    }

    #[test]
    fn merge_changes_field_by_field() {
        let merge =
            json!({"delta": true, "delta_action": "merge", "props": {"a": {"b": 2}, "c": 3}});
        let expected = json!([
            {"op": "replace", "path": "/a/b", "value": 2},
            {"op": "add", "path": "/c", "value": 3},
        ]);
        assert_eq!(patch(json!({"a": {"b": 1, "x": 0}}), merge), expected);
    }
}
