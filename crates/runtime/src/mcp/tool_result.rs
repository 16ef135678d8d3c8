//! What a tool gives back, as scripts and as models get it.

use crate::json_depth::DepthLimited;
use crate::tool::ToolOutcome;
use ambit_storage::json::MAX_GIVEN_LEVELS;
use serde_json::{Value, json};

/// Bytes of one result that a model is shown.
const MODEL: usize = 256 << 10;

/// The result of a call in the shape that scripts know: `{content, structuredContent?, isError, data}`.
pub fn shaped(mut result: Value) -> Value {
    let is_error = result.get("isError").and_then(Value::as_bool);
    let content = match result["content"].take() {
        Value::Null => json!([]),
        content => content,
    };
    let mut shaped = json!({"content": content});
    if let Some(structured) = result.get_mut("structuredContent") {
        shaped["structuredContent"] = structured.take();
    }
    shaped["isError"] = is_error.unwrap_or(false).into();
    let data = data(&shaped);
    shaped["data"] = data;
    shaped
}

/// An error that the model is told.
pub fn error(text: &str) -> Value {
    let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    shaped(result)
}

/// What of a result is of use at once.
fn data(result: &Value) -> Value {
    if let Some(structured) = result.get("structuredContent") {
        return readable(structured.clone());
    }
    let items = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let mut values: Vec<Value> = items.iter().map(value).map(readable).collect();
    match values.len() {
        0 => Value::Null,
        1 => values.remove(0),
        _ => values.into(),
    }
}

fn value(item: &Value) -> Value {
    match item["type"].as_str() {
        Some("text") => {
            let text = item["text"].as_str().unwrap_or_default();
            let found: Option<Value> = serde_json::from_str(text).ok();
            let found = found.filter(|found| found.is_within(MAX_GIVEN_LEVELS));
            found.unwrap_or_else(|| text.into())
        }
        Some(kind @ ("image" | "audio")) => {
            json!({"type": kind, "data": item["data"], "mimeType": item["mimeType"]})
        }
        Some("resource") => item["resource"].clone(),
        _ => item.clone(),
    }
}

/// A value, or its text where it is nested too deep.
fn readable(value: Value) -> Value {
    match value.is_within(MAX_GIVEN_LEVELS) {
        true => value,
        false => value.to_string().into(),
    }
}

/// A shaped result as a turn takes it.
pub fn outcome(mut result: Value, warnings: Vec<String>) -> ToolOutcome {
    let (text, cut) = cut_off(text(&result));
    ToolOutcome {
        text,
        cut,
        is_error: result["isError"] == true,
        server_failure: None,
        data: result["data"].take(),
        warnings,
    }
}

/// All that a result says, in words.
pub fn text(result: &Value) -> String {
    let items = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    if items.is_empty() {
        return match result.get("structuredContent") {
            Some(structured) => structured.to_string(),
            None => String::new(),
        };
    }
    let lines: Vec<String> = items.iter().map(line).collect();
    lines.join("\n")
}

fn line(item: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match item["type"].as_str() {
        Some("text") => text(&item["text"]),
        Some(kind @ ("image" | "audio")) => {
            let bytes = item["data"].as_str().map_or(0, str::len) / 4 * 3;
            format!("[{kind}, {}, {bytes} bytes]", text(&item["mimeType"]))
        }
        Some("resource") => match item["resource"]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[resource {}]", text(&item["resource"]["uri"])),
        },
        Some("resource_link") => format!("[{} at {}]", text(&item["name"]), text(&item["uri"])),
        _ => item.to_string(),
    }
}

/// What a model gets to see of a text, with a note where that is not all.
pub fn cut(text: String) -> String {
    cut_off(text).0
}

/// The same, and how many bytes that leaves out.
fn cut_off(text: String) -> (String, usize) {
    if text.len() <= MODEL {
        return (text, 0);
    }
    let mut end = MODEL;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = &text[..end];
    let cut = format!(
        "{kept}\n[cut here: the result has {} bytes, these are the first {end}]",
        text.len()
    );
    (cut, text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_what_is_of_use_at_once() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let image =
            json!({"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": {}});
        let plain_image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let resource = json!({"type": "resource", "resource": {"uri": "x://1", "text": "t"}});
        for (result, data) in [
            (
                json!({"content": [text("x")], "structuredContent": {"a": 1}}),
                json!({"a": 1}),
            ),
            (json!({"structuredContent": null}), json!(null)),
            (json!({"content": [text("{\"a\": 1}")]}), json!({"a": 1})),
            (
                json!({"content": [text("hi"), text("7")]}),
                json!(["hi", 7]),
            ),
            (json!({"content": [image]}), plain_image),
            (
                json!({"content": [resource]}),
                json!({"uri": "x://1", "text": "t"}),
            ),
            (json!({"content": []}), json!(null)),
            (json!({}), json!(null)),
        ] {
            assert_eq!(shaped(result.clone())["data"], data, "{result}");
        }
    }

    #[test]
    fn data_that_is_nested_too_deep_stays_text() {
        let nested = |depth: usize| format!("{}7{}", "[ ".repeat(depth), " ]".repeat(depth));
        let most = MAX_GIVEN_LEVELS;
        for (depth, is_text) in [(most, false), (most + 1, true), (127, true)] {
            let text = nested(depth);
            let parsed: Value = serde_json::from_str(&text).unwrap();
            let compact = Value::from(parsed.to_string());
            let resource = json!({"type": "resource", "resource": parsed});
            for (result, as_text) in [
                (
                    json!({"content": [{"type": "text", "text": text}]}),
                    Value::from(text),
                ),
                (json!({"structuredContent": parsed}), compact.clone()),
                (json!({"content": [resource]}), compact),
            ] {
                let expected = if is_text { &as_text } else { &parsed };
                assert_eq!(shaped(result)["data"], *expected, "{depth}");
            }
        }
    }

    #[test]
    fn a_result_that_says_nothing_of_errors_is_none() {
        let shaped = shaped(json!({"content": [], "_meta": {"x": 1}}));
        assert_eq!(
            shaped,
            json!({"content": [], "isError": false, "data": null})
        );
    }

    #[test]
    fn models_get_words() {
        let result = shaped(json!({"content": [
            {"type": "text", "text": "one"}, {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "x://1", "text": "two"}}, {"type": "resource", "resource": {"uri": "x://2", "blob": "AA"}},
            {"type": "resource_link", "name": "three", "uri": "x://3"}]}));
        assert_eq!(
            text(&result),
            "one\n[audio, audio/wav, 6 bytes]\ntwo\n[resource x://2]\n[three at x://3]"
        );
        assert_eq!(
            text(&shaped(json!({"structuredContent": {"a": 1}}))),
            "{\"a\":1}"
        );
    }

    #[test]
    fn g134_what_is_too_long_for_a_model_is_cut_with_a_note_and_scripts_get_it_whole() {
        let long = "ö".repeat(200_000);
        let result = shaped(json!({"content": [{"type": "text", "text": format!("a{long}")}]}));
        let outcome = outcome(result, Vec::new());
        assert_eq!(outcome.data.as_str().unwrap().len(), 400_001);
        let note = "\n[cut here: the result has 400001 bytes, these are the first 262143]";
        assert!(outcome.text.ends_with(note));
        assert_eq!(outcome.text.len(), 262_143 + note.len());
        assert_eq!(outcome.cut, 400_001 - 262_143);
    }
}
