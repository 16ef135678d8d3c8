//! Texts of prompts: `{{name}}` and `{{#if name}}…{{else}}…{{/if}}`.

use serde_json::{Map, Value};

/// The text with its variables filled in. What is filled in is not looked at again; an unknown name is empty.
pub fn fill(text: &str, given: &Map<String, Value>) -> String {
    let mut out = String::new();
    // For each open `if`: whether its present part is shown.
    let mut shown: Vec<bool> = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((tag, after)) = behind.split_once("}}") else {
            break;
        };
        let is_shown = shown.iter().all(|is_shown| *is_shown);
        if is_shown {
            out.push_str(before);
        }
        let name = tag.trim();
        match (name.strip_prefix("#if "), name, shown.last_mut()) {
            (Some(name), _, _) => shown.push(is_true(given.get(name.trim()))),
            (None, "else", Some(last)) => *last = !*last,
            (None, "/if", Some(_)) => drop(shown.pop()),
            (None, name, _) if is_shown => out.push_str(&written(given.get(name))),
            _ => {}
        }
        rest = after;
    }
    if shown.iter().all(|is_shown| *is_shown) {
        out.push_str(rest);
    }
    out
}

fn is_true(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::Bool(true) | Value::Object(_)) => true,
    }
}

fn written(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_and_conditions_are_filled_in() {
        let given = json!({"name": "Ann", "n": 7, "none": "", "trick": "{{name}}", "list": [1]});
        let given = given.as_object().unwrap();
        for (text, filled) in [
            ("Hi {{name}}, {{ n }} {{gone}}.", "Hi Ann, 7 ."),
            ("{{trick}}", "{{name}}"),
            ("{{#if name}}a{{else}}b{{/if}}c", "ac"),
            ("{{#if none}}a{{else}}b{{/if}}c", "bc"),
            ("{{#if gone}}a{{name}}{{/if}}c", "c"),
            (
                "{{#if name}}[{{#if none}}x{{else}}y{{/if}}{{#if list}}z{{/if}}]{{else}}w{{/if}}",
                "[yz]",
            ),
            ("{{#if none}}{{#if name}}x{{else}}y{{/if}}{{/if}}.", "."),
            ("a {{ b", "a {{ b"),
            ("a }} b {{/if}}", "a }} b "),
        ] {
            assert_eq!(fill(text, given), filled, "{text}");
        }
    }
}
