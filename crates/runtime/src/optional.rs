//! Values that may be left out: null is as if it were not there.

use serde_json::Value;

/// What a value is read as, and `None` where it is left out. Fails with `wrong` where it cannot be read so.
pub fn optional<'v, T, E>(
    value: Option<&'v Value>,
    read: impl FnOnce(&'v Value) -> Option<T>,
    wrong: impl FnOnce() -> E,
) -> Result<Option<T>, E> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(wrong),
    }
}
