//! Names that stand twice in one object of a JSON text. Readers of JSON disagree on which of the values counts.

use ambit_storage::json::MAX_GIVEN_LEVELS;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

/// The path of the first such name, as it goes on behind the path of the value; an error where an object or a list has too many
/// levels, or texts that are none.
pub fn find(raw: &RawValue) -> serde_json::Result<Option<String>> {
    let is_simple = !raw.get().starts_with(['{', '[']);
    if is_simple {
        return Ok(None);
    }
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    let levels = MAX_GIVEN_LEVELS;
    DuplicateKeyVisitor { levels }.deserialize(&mut reader)
}

#[derive(Clone, Copy)]
struct DuplicateKeyVisitor {
    /// So many more levels may be within it.
    levels: usize,
}

impl DuplicateKeyVisitor {
    /// What reads the next level.
    fn within<E: Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1);
        levels
            .map(|levels| Self { levels })
            .ok_or_else(|| E::custom("too many levels"))
    }
}

impl<'de> DeserializeSeed<'de> for DuplicateKeyVisitor {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateKeyVisitor {
    type Value = Option<String>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let within = self.within()?;
        let (mut at, mut found) = (0, None);
        while let Some(inner) = list.next_element_seed(within)? {
            found = found.or(inner.map(|path| format!("[{at}]{path}")));
            at += 1;
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let within = self.within()?;
        let (mut names, mut found) = (HashSet::new(), None);
        while let Some(name) = map.next_key::<String>()? {
            let inner = map.next_value_seed(within)?;
            found = found.or(inner.map(|path| format!(".{name}{path}")));
            if names.contains(&name) {
                found = found.or(Some(format!(".{name}")));
            }
            names.insert(name);
        }
        Ok(found)
    }
}
