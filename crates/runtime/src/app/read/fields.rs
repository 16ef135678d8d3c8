//! The values of an object that a table has judged, taken by name. What is not there has its plain default.

use super::field_spec::FieldSpec;
use ambit_storage::memory::Ttl;
use serde_json::{Map, Value};

/// An object whose values have the types that its table says.
#[derive(Clone, Default)]
pub struct FieldMap(pub Map<String, Value>);

impl FieldMap {
    /// A text, `""` if there is none.
    pub fn text(&self, name: &str) -> String {
        self.optional(name).unwrap_or_default()
    }

    /// A text, if it is there and not empty.
    pub fn optional(&self, name: &str) -> Option<String> {
        let text = self.0.get(name)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A boolean.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    /// A whole number from 0 on.
    pub fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.0.get(name)?.as_u64()?).ok()
    }

    /// A duration in milliseconds; none for 0, which means for ever.
    pub fn milliseconds(&self, name: &str) -> Option<u64> {
        milliseconds(self.0.get(name)?)
    }

    /// A duration in seconds, rounded up.
    pub fn seconds(&self, name: &str) -> Option<u64> {
        self.milliseconds(name).map(|millis| millis.div_ceil(1_000))
    }

    /// A list.
    pub fn list(&self, name: &str) -> Vec<Value> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    }

    /// A list of texts.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let list = self.list(name);
        let texts = list.iter().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    /// An object.
    pub fn object(&self, name: &str) -> Self {
        let object = self.0.get(name).and_then(Value::as_object);
        Self(object.cloned().unwrap_or_default())
    }

    /// The values that are only shown.
    pub fn shown(&self, table: &[FieldSpec]) -> Map<String, Value> {
        let shown = table.iter().filter(|field| field.is_display_only);
        let shown = shown.filter_map(|field| {
            let value = self.0.get(field.name)?;
            Some((field.name.to_owned(), value.clone()))
        });
        shown.collect()
    }
}

/// Milliseconds of a duration as files give it: seconds, or a text such as `"30s"`. None for 0, which means for ever.
pub fn milliseconds(value: &Value) -> Option<u64> {
    match Ttl::of(value).ok()?? {
        Ttl::Never => None,
        Ttl::After(millis) => u64::try_from(millis).ok(),
    }
}

/// Units of sizes.
const UNITS: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// Bytes of a size such as `"64MiB"`.
pub fn bytes(text: &str) -> Option<u64> {
    let found = UNITS
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found?;
    let number = number.trim_end();
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_plain)?;
    number.checked_mul(*factor)
}
