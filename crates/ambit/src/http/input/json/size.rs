//! How much JSON a body may hold. Values take many times the bytes of their text, so that they are counted before they are read.

use crate::http::input::error::InputError;
use std::cell::Cell;

/// At most so many values of a body are read, those within others too. What a route passes on as text is not counted. As many fit
/// into a body that is mostly numbers with some digits.
pub const MAX_BODY_VALUES: usize = 1_000_000;
/// An object counts as so many values: it has a table of its fields.
pub const OBJECT_VALUES: usize = 4;

/// How many more values of a body may be read.
pub(super) struct ValueBudget(Cell<usize>);

impl Default for ValueBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_BODY_VALUES))
    }
}

impl ValueBudget {
    /// Counts values that are about to be read; an error where they are too many.
    pub fn spend(&self, values: usize) -> Result<(), InputError> {
        let Some(left) = self.0.get().checked_sub(values) else {
            let reason = format!(
                "goes beyond the {MAX_BODY_VALUES} values that a body may have (an object counts as {OBJECT_VALUES})"
            );
            return Err(InputError::new(reason));
        };
        self.0.set(left);
        Ok(())
    }
}

/// The size of a text of JSON, as its brackets and commas show it.
#[derive(Debug, PartialEq)]
pub(super) struct JsonSize {
    /// The values within it; an empty list counts as if it held one.
    pub values: usize,
    /// The levels of lists and objects.
    pub levels: usize,
}

impl JsonSize {
    /// The size of a text, which is told wrongly where it is no JSON.
    pub fn of(json: &str) -> Self {
        let (mut values, mut level, mut levels) = (0, 0_usize, 0_usize);
        let (mut is_text, mut is_escaped) = (false, false);
        for byte in json.bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = !is_text,
                _ if is_text => {}
                b',' => values += 1,
                b'[' | b'{' => {
                    values += if byte == b'{' { OBJECT_VALUES } else { 1 };
                    level += 1;
                    levels = levels.max(level);
                }
                b']' | b'}' => level = level.saturating_sub(1),
                _ => {}
            }
        }
        Self { values, levels }
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonSize, MAX_BODY_VALUES};

    #[test]
    fn values_and_levels_are_counted_outside_of_texts_alone() {
        for (json, values, levels) in [
            ("1", 0, 0),
            (r#""[{,\"[\\""#, 0, 0),
            ("[]", 1, 1),
            ("[1, 2, 3]", 3, 1),
            (r#"{"a,[": [1, {"b": "]}"}], "c": null}"#, 11, 3),
        ] {
            assert_eq!(JsonSize::of(json), JsonSize { values, levels }, "{json}");
        }
    }

    #[test]
    fn a_body_of_coordinates_is_read() {
        let point = "[12.34,56.78],";
        let body = point.repeat((4 << 20) / point.len());
        assert!(JsonSize::of(&body).values < MAX_BODY_VALUES);
    }
}
