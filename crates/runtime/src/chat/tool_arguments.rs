//! Arguments of a tool call as models write them: JSON, or nearly.

use serde_json::Value;

/// The arguments. What a model has left open at the end is closed, a code fence and commas too many are dropped.
pub fn read_arguments(text: &str) -> Result<Value, serde_json::Error> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text).or_else(|error| {
        let mended = mended(unfenced(text));
        serde_json::from_str(&mended).map_err(|_| error)
    })
}

fn unfenced(text: &str) -> &str {
    let inner = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    let inner = inner.map(|inner| inner.strip_prefix("json").unwrap_or(inner));
    inner.unwrap_or(text).trim()
}

/// The text with line breaks within strings escaped, commas before an end dropped, and everything open closed.
fn mended(text: &str) -> String {
    let mut mended = String::with_capacity(text.len() + 8);
    let mut open = Vec::new();
    let (mut is_text, mut is_escaped) = (false, false);
    for letter in text.chars() {
        if is_text {
            match letter {
                '\n' => mended.push_str("\\n"),
                '\r' => mended.push_str("\\r"),
                '\t' => mended.push_str("\\t"),
                letter => mended.push(letter),
            }
            is_text = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        match letter {
            '"' => is_text = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                drop_comma(&mut mended);
                open.pop();
            }
            _ => {}
        }
        mended.push(letter);
    }
    if is_text {
        if is_escaped {
            mended.pop();
        }
        mended.push('"');
    }
    drop_comma(&mut mended);
    mended.extend(open.into_iter().rev());
    mended
}

fn drop_comma(text: &mut String) {
    if let Some(rest) = text.trim_end().strip_suffix(',') {
        text.truncate(rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_nearly_json_is_read() {
        for (text, expected) in [
            ("", json!({})),
            ("{\"a\": 1}", json!({"a": 1})),
            ("{\"a\": [1, 2,], }", json!({"a": [1, 2]})),
            ("{\"a\": {\"b\": \"c", json!({"a": {"b": "c"}})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("{\"a\": \"one\ntwo\"}", json!({"a": "one\ntwo"})),
            ("{\"a\": \"back\\", json!({"a": "back"})),
            (
                "{\"a\": \"quote \\\"in\\\" it, }\"}",
                json!({"a": "quote \"in\" it, }"}),
            ),
        ] {
            assert_eq!(read_arguments(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["{no json", "a", "{\"a\":}", "{\"a\": 1}}", "{'a': 1}"] {
            assert!(read_arguments(text).is_err(), "{text}");
        }
    }
}
