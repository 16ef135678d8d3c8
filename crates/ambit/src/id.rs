//! What an id from outside must be.

use ambit_runtime::{Error, Result};

/// The most bytes that an id has.
const ID: usize = 200;

/// Says why text is no id, as it goes on behind the name of the field; `None` if it is one.
pub fn fault(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("is empty; an id is 1 to 200 bytes of text")
    } else if text.len() > ID {
        Some("is longer than 200 bytes; an id is 1 to 200 bytes of text")
    } else if text.contains('\0') {
        Some("contains U+0000; an id is 1 to 200 bytes of text")
    } else {
        None
    }
}

/// Refuses text that is no id, by the name of the field that it came in.
pub fn check_id(field: &str, text: &str) -> Result<()> {
    match fault(text) {
        None => Ok(()),
        Some(fault) => Err(Error::invalid(field, format!("{field} {fault}"))),
    }
}
