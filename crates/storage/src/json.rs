//! JSON as text. What was stored is passed through; it is parsed only by those who look inside.

use crate::quotes::without_quotes;
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// Levels of what is stored, at most: nothing reads more than 127, and what is stored is read within lists and answers.
const MAX_STORED_LEVELS: usize = 120;
/// Levels of a value that a client, a tool server or a script's message gives, at most: what it is stored within is nested too.
pub const MAX_GIVEN_LEVELS: usize = 64;

/// One valid JSON text, cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// The value as JSON text.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let text = serde_json::to_string(value)
            .map_err(|error| Error::invalid("value", format!("is not JSON: {error}")))?;
        check_levels(&text)?;
        Ok(Self(text.into()))
    }

    /// A text that must be JSON; white space around it is dropped, inside it is kept.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        serde_json::from_str::<&RawValue>(text)
            .map_err(|error| Error::invalid("value", format!("is not JSON: {error}")))?;
        check_levels(text)?;
        Ok(Self(text.into()))
    }

    /// A text read back from a store, which was JSON when it was written. `to` reports what no longer is.
    pub fn stored(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Looks inside; a text that has not the form of `T` is `Corrupt`, without a word of it: people may have said it.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.0).map_err(|error| {
            let reason = without_quotes(&error.to_string());
            Error::corrupt("stored JSON", reason)
        })
    }

    /// The type's name as in the `ctx.memory` reference.
    pub fn kind(&self) -> &'static str {
        match self.0.as_bytes().first() {
            Some(b'"') => "string",
            Some(b'{') => "object",
            Some(b'[') => "list",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        }
    }

    /// A hash that equal values share, whatever the order of their keys.
    pub fn fingerprint(&self) -> i64 {
        let hash = Sha256::digest(self.canonical().as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        i64::from_le_bytes(first)
    }

    /// One text for all equal values: keys sorted, whole numbers without a fraction.
    pub fn canonical(&self) -> String {
        match serde_json::from_str::<serde_json::Value>(&self.0) {
            Ok(value) => canonical(value).to_string(),
            Err(_) => self.0.to_string(),
        }
    }
}

fn check_levels(json: &str) -> Result<()> {
    let opens = |byte: &u8| matches!(byte, b'[' | b'{');
    // Nearly all texts have fewer, and are looked at quickly.
    if json.as_bytes().iter().filter(|byte| opens(byte)).count() <= MAX_STORED_LEVELS {
        return Ok(());
    }
    let (mut level, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json.as_bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b']' | b'}' => level -= 1,
            byte if opens(byte) => level += 1,
            _ => {}
        }
        if level > MAX_STORED_LEVELS {
            let reason =
                format!("is nested deeper than {MAX_STORED_LEVELS} levels; store a flatter one");
            return Err(Error::invalid("value", reason));
        }
    }
    Ok(())
}

fn canonical(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value::{Array, Number, Object};
    match value {
        Array(items) => Array(items.into_iter().map(canonical).collect()),
        Object(fields) => {
            let mut fields: Vec<_> = fields
                .into_iter()
                .map(|(name, value)| (name, canonical(value)))
                .collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Object(fields.into_iter().collect())
        }
        Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                (float as i64).into()
            }
            _ => Number(number),
        },
        other => other,
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0)
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(
            Box::<RawValue>::deserialize(deserializer)?.get().into(),
        ))
    }
}

/// A stored value: a list is kept item by item, so that its ends can be worked on without the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredValue {
    /// Anything but a list.
    Plain(Json),
    /// A list.
    List(Vec<Json>),
}

impl StoredValue {
    /// The type's name as in the `ctx.memory` reference.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Plain(json) => json.kind(),
            Self::List(_) => "list",
        }
    }

    /// The whole value as JSON text.
    pub fn json(&self) -> Json {
        match self {
            Self::Plain(json) => json.clone(),
            Self::List(items) => {
                let items: Vec<&str> = items.iter().map(Json::as_str).collect();
                Json(format!("[{}]", items.join(",")).into())
            }
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Plain(json) => json.as_str().len(),
            Self::List(items) => {
                items
                    .iter()
                    .map(|item| item.as_str().len() + 1)
                    .sum::<usize>()
                    + 2
            }
        }
    }
}

impl From<Json> for StoredValue {
    fn from(json: Json) -> Self {
        match json.kind() {
            "list" => json.to().map_or(Self::Plain(json), Self::List),
            _ => Self::Plain(json),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn what_is_damaged_is_not_quoted() {
        let damaged = Json::stored("\"canary4711\"").to::<u64>().unwrap_err();
        let expected = "stored JSON is corrupt: invalid type: string \"…\", expected u64 at ";
        assert!(damaged.to_string().starts_with(expected), "{damaged}");
    }

    #[test]
    fn what_is_written_can_be_read_back() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let deepest = Json::parse(&nested(120)).unwrap();
        assert!(deepest.to::<serde_json::Value>().is_ok());
        let refused = Json::parse(&nested(121)).unwrap_err();
        let expected = "value is nested deeper than 120 levels";
        assert!(refused.to_string().contains(expected), "{refused}");
        let text = Json::of(&"\\\"[[{".repeat(200)).unwrap();
        assert!(text.to::<String>().is_ok());
        assert!(Json::parse(&format!("[{}]", ["[]"; 200].join(","))).is_ok());
    }
}
