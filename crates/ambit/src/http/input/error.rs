//! Why input is refused.

use crate::suggestion::offer;
use ambit_runtime::Error;
use ambit_storage::suggestion;
use serde::de::{self, Expected, Unexpected};
use std::fmt;

/// So many names are few.
const FEW: usize = 16;

/// Where input is wrong, and how. The place is completed from the inside out while the error is on its way.
#[derive(Debug)]
pub struct InputError {
    /// The path of the field, `messages[0].role`; nothing at the top.
    place: String,
    /// What is wrong, as it goes on behind the field's name.
    reason: String,
    /// A field is not there that has to be.
    pub(super) is_missing: bool,
}

impl InputError {
    /// An error in the field that is being read.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            reason: reason.into(),
            is_missing: false,
        }
    }

    /// The value stands twice in its object, or something within the value at this path does.
    pub(super) fn twice(path: &str) -> Self {
        let mut error = Self::new("is given twice; which of the values is meant cannot be told");
        path.strip_prefix('.')
            .unwrap_or(path)
            .clone_into(&mut error.place);
        error
    }

    /// A name that is not among the known ones. Where they are few and none is near all are told.
    pub(super) fn unknown(name: &str, what: &str, known: &[&'static str]) -> Self {
        let hint = match known.len() <= FEW {
            true => offer(name, known.iter().copied()),
            false => suggestion::hint(name, known.iter().copied()),
        };
        Self::new(format!("is not a {what}{hint}")).within(name)
    }

    /// The same error, seen from the object in which the value has this name.
    pub(super) fn within(mut self, name: &str) -> Self {
        let joint = match self.place.as_bytes().first() {
            None | Some(b'[') => "",
            Some(_) => ".",
        };
        self.place = format!("{name}{joint}{}", self.place);
        self
    }

    /// The same error, seen from the list in which the value stands here.
    pub(super) fn at(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        match error.place.as_str() {
            "" => Self::invalid("body", format!("the body {}", error.reason)),
            place => Self::invalid(place, format!("{place} {}", error.reason)),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.place, self.reason)
    }
}

impl std::error::Error for InputError {}

impl de::Error for InputError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(reason.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("must be {}", plain(&expected.to_string())))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("must be {}", plain(&expected.to_string())))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let hint = suggestion::hint(variant, expected.iter().copied());
        let known = expected.join(", ");
        Self::new(format!("\"{variant}\" is unknown; known are {known}{hint}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown(field, "field of this request", expected)
    }

    fn missing_field(field: &'static str) -> Self {
        let mut error = Self::new("is missing").within(field);
        error.is_missing = true;
        error
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::twice("").within(field)
    }
}

/// What a value must be, in words of JSON instead of Rust's.
fn plain(expected: &str) -> &str {
    match expected {
        "a boolean" => "true or false",
        "f32" | "f64" => "a number",
        "i32" | "i64" | "u32" | "u64" | "usize" => "a whole number",
        "a sequence" => "a list",
        "a map" => "an object",
        // Derived structs and enums.
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") => "a string",
        other => other,
    }
}
