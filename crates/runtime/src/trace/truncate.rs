//! Fields that are too long for a trace are cut and marked.

use serde_json::{Map, Value};

/// How a text ends that was cut.
const CUT: &str = " bytes]";
/// How one ends that was a value with instructions of the app.
const CUT_INSTRUCTIONS: &str = " bytes with instructions]";

/// Whether a text of a trace was cut.
pub fn is_cut(text: &str) -> bool {
    text.ends_with(CUT) || has_cut_instructions(text)
}

/// Whether it was cut and had messages of the roles `system` or `developer`, in what is left of it or behind that.
pub fn has_cut_instructions(text: &str) -> bool {
    text.ends_with(CUT_INSTRUCTIONS)
}

/// Cuts fields and remembers whether it had to.
pub struct FieldTruncator {
    limit: usize,
    /// True once a field was cut.
    pub has_cut: bool,
}

impl FieldTruncator {
    /// Fields may have this many bytes, as JSON.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            has_cut: false,
        }
    }

    /// A text.
    pub fn text(&mut self, text: String) -> String {
        match text.len() <= self.limit {
            true => text,
            false => self.cut(&text, CUT),
        }
    }

    /// Any value; what is cut becomes the beginning of its JSON text.
    pub fn value(&mut self, value: Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
            Value::String(text) => Value::String(self.text(text)),
            other if most(&other) <= self.limit => other,
            other => {
                let text = other.to_string();
                if text.len() <= self.limit {
                    return other;
                }
                let ending = match has_instructions(&other) {
                    true => CUT_INSTRUCTIONS,
                    false => CUT,
                };
                Value::String(self.cut(&text, ending))
            }
        }
    }

    /// Metadata: an object stays one.
    pub fn map(&mut self, map: Map<String, Value>) -> Map<String, Value> {
        match self.value(Value::Object(map)) {
            Value::Object(map) => map,
            cut => Map::from_iter([("cut".to_owned(), cut)]),
        }
    }

    fn cut(&mut self, text: &str, ending: &str) -> String {
        self.has_cut = true;
        let mut end = self.limit;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        format!("{}… [cut, {}{ending}", &text[..end], text.len())
    }
}

/// Whether messages with instructions are in a value.
fn has_instructions(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_instructions),
        Value::Object(members) => {
            let role = members.get("role").and_then(Value::as_str);
            let is_instruction = matches!(role, Some("system" | "developer"));
            is_instruction || members.values().any(has_instructions)
        }
        _ => false,
    }
}

/// No fewer bytes than the value has as JSON: what is surely short enough need not be written to be measured.
fn most(value: &Value) -> usize {
    // One byte of a text becomes six at worst, as in \u001f.
    let text = |text: &str| 6 * text.len() + 3;
    match value {
        Value::Null | Value::Bool(_) => 6,
        Value::Number(_) => 32,
        Value::String(string) => text(string),
        Value::Array(items) => 2 + items.iter().map(|item| 1 + most(item)).sum::<usize>(),
        Value::Object(members) => {
            let members = members.iter();
            2 + members
                .map(|(name, member)| text(name) + 1 + most(member))
                .sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_bound_of_a_value_is_never_below_its_length() {
        let values = [
            json!(null),
            json!(false),
            json!(f64::MIN),
            json!(f64::MIN_POSITIVE),
            json!(u64::MAX),
            json!("\u{1f}\u{1f}\"\\ä"),
            json!([[], {}, [1, "\n"], {"\u{0}": {"a": true}, "b": []}]),
        ];
        for value in values {
            let length = value.to_string().len();
            assert!(most(&value) >= length, "{value}");
        }
    }

    #[test]
    fn what_fits_stays_and_what_does_not_is_cut_between_characters_and_marked() {
        let mut cutter = FieldTruncator::new(5);
        assert_eq!(cutter.value(json!("12345")), json!("12345"));
        assert_eq!(cutter.value(json!([1, 2])), json!([1, 2]));
        assert!(!cutter.has_cut);
        assert_eq!(cutter.value(json!("1234ä")), json!("1234… [cut, 6 bytes]"));
        let expected = json!("[1,2,… [cut, 7 bytes]");
        assert_eq!(cutter.value(json!([1, 2, 3])), expected);
        let map = Map::from_iter([("a".to_owned(), json!(true))]);
        let expected = json!({"cut": "{\"a\":… [cut, 10 bytes]"});
        assert_eq!(Value::Object(cutter.map(map)), expected);
        assert!(cutter.has_cut);
    }

    #[test]
    fn g192_what_is_cut_says_that_it_had_instructions_wherever_their_role_stands() {
        let mut cutter = FieldTruncator::new(20);
        let mut cut = |role: &str| {
            let message = json!({"content": "something secret", "role": role});
            let cut = cutter.value(json!({"messages": [message]}));
            cut.as_str().unwrap().to_owned()
        };
        for role in ["system", "developer"] {
            let text = cut(role);
            assert!(is_cut(&text) && has_cut_instructions(&text), "{text}");
        }
        let text = cut("user");
        assert!(is_cut(&text) && !has_cut_instructions(&text), "{text}");
    }
}
