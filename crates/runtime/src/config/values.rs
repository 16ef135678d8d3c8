//! The types that values of configuration files have: texts, numbers, lists and objects.

use super::{Setting, ValueKind, units};
use indexmap::IndexMap;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// A text of which an empty one counts as given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawText(pub String);

impl Setting for RawText {
    const KIND: ValueKind = ValueKind::Text;

    fn read(value: Value) -> Option<Self> {
        value.as_str().map(|text| Self(text.to_owned()))
    }
}

/// A number of bytes, written as a number or as text such as `"64MiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub usize);

impl Setting for String {
    const KIND: ValueKind = ValueKind::Text;

    fn read(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl Setting for bool {
    const KIND: ValueKind = ValueKind::Boolean;

    fn read(value: Value) -> Option<Self> {
        value.as_bool()
    }
}

/// Whole numbers; one that is too large is the largest.
macro_rules! counts {
    ($($kind:ty),+) => {
        $(impl Setting for $kind {
            const KIND: ValueKind = ValueKind::Count;

            fn read(value: Value) -> Option<Self> {
                Some(Self::try_from(value.as_u64()?).unwrap_or(Self::MAX))
            }
        })+
    };
}

counts!(u16, u32, u64, usize);

/// A number as it is written: 1 is not 1.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactNumber(pub Number);

impl Default for ExactNumber {
    fn default() -> Self {
        Self(0.into())
    }
}

impl Setting for ExactNumber {
    const KIND: ValueKind = ValueKind::Number;

    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self(number)),
            _ => None,
        }
    }
}

impl Setting for f64 {
    const KIND: ValueKind = ValueKind::Number;

    fn read(value: Value) -> Option<Self> {
        value.as_f64()
    }
}

/// 0, which means for ever, says nothing.
impl Setting for Duration {
    const KIND: ValueKind = ValueKind::Duration;

    fn read(value: Value) -> Option<Self> {
        units::milliseconds(&value).map(Self::from_millis)
    }
}

impl Setting for ByteSize {
    const KIND: ValueKind = ValueKind::Size;

    fn read(value: Value) -> Option<Self> {
        let bytes = match value {
            Value::String(text) => units::bytes(&text),
            value => value.as_u64(),
        };
        usize::try_from(bytes?).ok().map(Self)
    }
}

impl Setting for Value {
    const KIND: ValueKind = ValueKind::Any;

    fn read(value: Value) -> Option<Self> {
        Some(value)
    }

    fn is_nothing(&self) -> bool {
        self.is_null()
    }
}

impl Setting for Map<String, Value> {
    const KIND: ValueKind = ValueKind::Map(&ValueKind::Any);

    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }
}

/// The entries of an object, as far as they say something.
fn named<T: Setting, C: FromIterator<(String, T)>>(value: Value) -> Option<C> {
    let entries = Map::read(value)?.into_iter();
    let entries = entries.filter_map(|(key, value)| Some((key, T::read(value)?)));
    Some(entries.collect())
}

impl<T: Setting> Setting for BTreeMap<String, T> {
    const KIND: ValueKind = ValueKind::Map(&T::KIND);

    fn read(value: Value) -> Option<Self> {
        named(value)
    }
}

/// In the order of the file.
impl<T: Setting> Setting for IndexMap<String, T> {
    const KIND: ValueKind = ValueKind::Map(&T::KIND);

    fn read(value: Value) -> Option<Self> {
        named(value)
    }
}

impl<T: Setting> Setting for Vec<T> {
    const KIND: ValueKind = ValueKind::List(&T::KIND);

    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Array(items) => Some(items.into_iter().filter_map(T::read).collect()),
            _ => None,
        }
    }
}

impl<T: Setting> Setting for Option<T> {
    const KIND: ValueKind = T::KIND;

    fn read(value: Value) -> Option<Self> {
        T::read(value).map(Some)
    }

    fn is_nothing(&self) -> bool {
        self.as_ref().is_none_or(T::is_nothing)
    }
}
