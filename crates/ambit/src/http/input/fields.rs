//! The fields of an object, read by a type that knows their names.

use super::error::InputError;
use indexmap::IndexMap;
use indexmap::map::IntoIter;
use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess};

/// Names and values, in the order in which they were written.
pub(super) struct InputFields<V> {
    rest: IntoIter<String, V>,
    /// The field whose name was given out last.
    present: Option<(String, V)>,
}

impl<V> InputFields<V> {
    pub fn of(fields: IndexMap<String, V>) -> Self {
        Self {
            rest: fields.into_iter(),
            present: None,
        }
    }

    /// The names that are still to be read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rest.as_slice().keys().map(String::as_str)
    }
}

impl<'de, V: Deserializer<'de, Error = InputError>> MapAccess<'de> for InputFields<V> {
    type Error = InputError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, InputError> {
        self.present = self.rest.next();
        let Some((name, _)) = &self.present else {
            return Ok(None);
        };
        let name: StringDeserializer<InputError> = name.clone().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, InputError> {
        let Some((name, value)) = self.present.take() else {
            return Err(InputError::new("has no value"));
        };
        let read = seed.deserialize(value);
        read.map_err(|error| error.within(&name))
    }
}
