//! Reading the arguments of a call.

use super::ScriptCall;
use crate::error::{Error, Result};
use serde_json::Value;

impl ScriptCall<'_> {
    /// An argument; `None` if it is missing or `undefined`.
    pub fn given(&self, index: usize) -> Option<&Value> {
        let is_undefined = self.undefined.contains(&index);
        self.arguments.get(index).filter(|_| !is_undefined)
    }

    /// An argument as it is stored: what is missing is null.
    pub fn value(&self, index: usize) -> Value {
        self.arguments.get(index).cloned().unwrap_or_default()
    }

    /// A text, or the error that says what the argument must be.
    pub fn text(&self, index: usize, what: &str, rule: &str) -> Result<&str> {
        let text = self.given(index).and_then(Value::as_str);
        text.ok_or_else(|| Error::invalid(what, format!("{what} {rule}")))
    }

    /// A whole number.
    pub fn integer(&self, index: usize, what: &str) -> Result<i64> {
        let number = self.given(index).and_then(Value::as_i64);
        number.ok_or_else(|| Error::invalid(what, format!("{what} must be an integer")))
    }
}
