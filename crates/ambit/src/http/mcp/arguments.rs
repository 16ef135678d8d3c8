//! The arguments of a call, read as the bodies of routes are.

use crate::http::input::{BodyFields, read_json};
use ambit_runtime::Result;
use serde_json::{Map, Value};

/// The arguments as the type of their tool; what does not fit is refused by its name.
pub fn read<T: BodyFields>(given: &Map<String, Value>) -> Result<T> {
    let text = Value::from(given.clone()).to_string();
    read_json(text.as_bytes())
}
