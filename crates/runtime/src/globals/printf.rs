//! Texts as `printf` makes them.

use crate::value_text::value_text;
use serde_json::Value;
use std::fmt::Write;

/// A format with its verbs `%s %d %f %v %t %x %j %%` replaced; what is left of the arguments is appended.
pub fn format(format: &str, arguments: &[Value]) -> String {
    let mut text = String::with_capacity(format.len());
    let mut rest = arguments.iter();
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        match characters.peek().copied() {
            Some('%') => text.push('%'),
            Some(verb @ ('s' | 'd' | 'f' | 'v' | 't' | 'x' | 'j')) => match rest.next() {
                Some(argument) => text.push_str(&verb_text(verb, argument)),
                None => text.extend(['%', verb]),
            },
            _ => {
                text.push('%');
                continue;
            }
        }
        characters.next();
    }
    for argument in rest {
        text.push(' ');
        text.push_str(&value_text(argument));
    }
    text
}

fn verb_text(verb: char, value: &Value) -> String {
    match (verb, value) {
        ('d', Value::Number(number)) => match number.as_f64() {
            Some(float) if !number.is_i64() && !number.is_u64() => format!("{:.0}", float.trunc()),
            _ => number.to_string(),
        },
        ('f', Value::Number(number)) => format!("{:.6}", number.as_f64().unwrap_or(f64::NAN)),
        ('x', Value::Number(number)) => match number.as_i64() {
            Some(whole) if whole < 0 => format!("-{:x}", whole.unsigned_abs()),
            Some(whole) => format!("{whole:x}"),
            None => number.to_string(),
        },
        ('x', Value::String(text)) => text.bytes().fold(String::new(), |mut hex, byte| {
            // Writing into a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
        ('j', value) => value.to_string(),
        (_, value) => value_text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn verbs_are_replaced_and_surplus_arguments_are_appended() {
        for (text, arguments, expected) in [
            ("plain", json!([]), "plain"),
            ("%s and %v", json!(["a", {"b": 1}]), "a and {\"b\":1}"),
            ("%d %d %d", json!([3, 3.7, "x"]), "3 3 x"),
            ("%f", json!([1.5]), "1.500000"),
            (
                "%t %x %x %x",
                json!([true, 255, -255, "hi"]),
                "true ff -ff 6869",
            ),
            ("%j %s", json!(["a", [1]]), "\"a\" [1]"),
            ("100%% %s", json!([]), "100% %s"),
            ("50% off %q", json!(["x"]), "50% off %q x"),
            ("end %", json!([1, {"a": null}]), "end % 1 {\"a\":null}"),
        ] {
            assert_eq!(format(text, arguments.as_array().unwrap()), expected);
        }
    }
}
