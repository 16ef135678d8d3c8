//! JSON as a route's type. Values are read where the type asks for them, so that what it ignores is only skipped; what
//! stands twice in an object, which readers of JSON take differently, is refused.

mod size;

pub use size::{MAX_BODY_VALUES, OBJECT_VALUES};

use super::error::InputError;
use super::fields::InputFields;
use super::raw::RAW;
use super::{BodyFields, duplicate};
use ambit_runtime::{Error, Result};
use ambit_storage::json::MAX_GIVEN_LEVELS;
use indexmap::IndexMap;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Number;
use serde_json::value::RawValue;
use size::{JsonSize, ValueBudget};
use std::fmt;

/// At most so many items of a list, or fields of an object, are looked at one by one.
const ITEMS: usize = 10_000;

/// Refuses a text of JSON that holds more values, or is nested deeper, than is read, for readers that do not count. What is within
/// an envelope may have as many levels as a value of its own.
pub fn check_size(json: &str) -> Result<()> {
    let (size, most) = (JsonSize::of(json), 2 * MAX_GIVEN_LEVELS);
    ValueBudget::default().spend(size.values)?;
    if size.levels > most {
        return Err(InputError::new(format!("has more than {most} levels")).into());
    }
    Ok(())
}

/// Reads a body.
pub fn read<T: BodyFields>(body: &[u8]) -> Result<T> {
    let budget = ValueBudget::default();
    let mut unknown = None;
    let reader = BodyReader {
        entries: entries(body, &budget)?,
        unknown: (!T::IGNORES_UNKNOWN).then_some(&mut unknown),
    };
    let value = match T::deserialize(reader) {
        // A name that is not known may be the missing one, misspelt.
        Err(error) if error.is_missing => return Err(unknown.unwrap_or(error).into()),
        read => read?,
    };
    value.check()?;
    match unknown {
        Some(unknown) => Err(unknown.into()),
        None => Ok(value),
    }
}

fn entries<'de, 'a>(
    body: &'de [u8],
    budget: &'a ValueBudget,
) -> Result<InputFields<JsonValue<'de, 'a>>> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = reader.deserialize_map(EntriesVisitor { budget });
    let read = read.and_then(|entries| {
        reader.end()?;
        Ok(entries)
    });
    let entries = read.map_err(|error| match error.is_data() {
        true => Error::invalid("body", "the body must be a JSON object"),
        false => Error::invalid("body", format!("the body is not JSON: {error}")),
    })?;
    check_count(budget, entries.len(), "fields")?;
    Ok(InputFields::of(entries))
}

/// Refuses more of a list or an object than is looked at.
fn check_count(budget: &ValueBudget, count: usize, what: &str) -> Result<(), InputError> {
    match count > ITEMS {
        true => Err(InputError::new(format!("has more than {ITEMS} {what}"))),
        false => budget.spend(count),
    }
}

/// What any value must be.
fn not_json() -> InputError {
    InputError::new(format!(
        "must be JSON of at most {MAX_GIVEN_LEVELS} levels, its texts without lone surrogates"
    ))
}

/// The object that is a body.
struct BodyReader<'de, 'a> {
    entries: InputFields<JsonValue<'de, 'a>>,
    /// Where to say which of its names the type does not know.
    unknown: Option<&'a mut Option<InputError>>,
}

impl<'de> Deserializer<'de> for BodyReader<'de, '_> {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_map(self.entries)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        if let Some(unknown) = self.unknown {
            let names = self.entries.names();
            let first = names.filter(|name| !fields.contains(name)).min();
            *unknown = first.map(|name| InputError::unknown(name, "field of this request", fields));
        }
        visitor.visit_map(self.entries)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A value somewhere in a body.
struct JsonValue<'de, 'a> {
    raw: &'de RawValue,
    /// Its name stands more than once in its object.
    is_twice: bool,
    /// What the body may still hold.
    budget: &'a ValueBudget,
}

impl<'de, 'a> JsonValue<'de, 'a> {
    fn check_once(&self) -> Result<(), InputError> {
        match self.is_twice {
            true => Err(InputError::twice("")),
            false => Ok(()),
        }
    }

    fn first(&self) -> u8 {
        self.raw.get().bytes().next().unwrap_or_default()
    }

    /// The fields of an object.
    fn entries(&self) -> Result<InputFields<Self>, InputError> {
        let mut reader = serde_json::Deserializer::from_str(self.raw.get());
        let budget = self.budget;
        let entries = reader.deserialize_map(EntriesVisitor { budget });
        let entries = entries.map_err(|_| not_json())?;
        check_count(budget, entries.len(), "fields")?;
        Ok(InputFields::of(entries))
    }

    /// The items of a list.
    fn items(&self) -> Result<JsonItems<'de, 'a>, InputError> {
        let mut reader = serde_json::Deserializer::from_str(self.raw.get());
        let items = reader.deserialize_seq(ItemsVisitor);
        let items = items.map_err(|_| not_json())?;
        check_count(self.budget, items.len(), "items")?;
        Ok(JsonItems {
            rest: items.into_iter().enumerate(),
            budget: self.budget,
        })
    }

    /// Gives the value to a visitor as what it is.
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        self.check_once()?;
        let text = self.raw.get();
        match self.first() {
            b'{' => visitor.visit_map(self.entries()?),
            b'[' => visitor.visit_seq(self.items()?),
            b'"' => visitor.visit_string(self.string()?),
            b't' => visitor.visit_bool(true),
            b'f' => visitor.visit_bool(false),
            b'n' => visitor.visit_unit(),
            _ => {
                let number: Number = serde_json::from_str(text).map_err(|_| not_json())?;
                match (number.as_u64(), number.as_i64()) {
                    (Some(number), _) => visitor.visit_u64(number),
                    (None, Some(number)) => visitor.visit_i64(number),
                    (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
                }
            }
        }
    }

    fn string(&self) -> Result<String, InputError> {
        serde_json::from_str(self.raw.get()).map_err(|_| not_json())
    }
}

/// What a type asks for is a hint: the value is shown as what it is, and the type refuses what it cannot take.
macro_rules! visit_by_hints {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
            self.visit(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for JsonValue<'de, '_> {
    type Error = InputError;

    /// JSON of any kind, as it is: read in one go, which visits each level of it once.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        self.check_once()?;
        self.budget.spend(JsonSize::of(self.raw.get()).values)?;
        let mut reader = serde_json::Deserializer::from_str(self.raw.get());
        let read = reader.deserialize_any(visitor);
        let value = read.map_err(|_| not_json())?;
        match duplicate::find(self.raw) {
            Err(_) => Err(not_json()),
            Ok(Some(path)) => Err(InputError::twice(&path)),
            Ok(None) => Ok(value),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        self.check_once()?;
        match self.first() {
            b'n' => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// An object alone: what derives a struct would take a list for one too.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        match self.first() {
            b'[' => Err(InputError::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.visit(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        self.check_once()?;
        match self.first() {
            b'"' => visitor.visit_enum(self.string()?.into_deserializer()),
            _ => Err(InputError::invalid_type(
                Unexpected::Other("JSON"),
                &visitor,
            )),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputError> {
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        self.check_once()?;
        if self.first() == b'"' {
            self.string()?;
        }
        match duplicate::find(self.raw) {
            Err(_) => Err(not_json()),
            Ok(Some(path)) => Err(InputError::twice(&path)),
            Ok(None) => visitor.visit_str(self.raw.get()),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match JsonSize::of(self.raw.get()).levels > MAX_GIVEN_LEVELS {
            true => Err(not_json()),
            false => visitor.visit_unit(),
        }
    }

    visit_by_hints! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 deserialize_str deserialize_string deserialize_unit
        deserialize_seq deserialize_map
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit_struct tuple tuple_struct identifier
    }
}

/// The items of a list.
struct JsonItems<'de, 'a> {
    rest: std::iter::Enumerate<std::vec::IntoIter<&'de RawValue>>,
    budget: &'a ValueBudget,
}

impl<'de> SeqAccess<'de> for JsonItems<'de, '_> {
    type Error = InputError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, InputError> {
        let Some((index, raw)) = self.rest.next() else {
            return Ok(None);
        };
        let value = JsonValue {
            raw,
            is_twice: false,
            budget: self.budget,
        };
        let read = seed.deserialize(value).map(Some);
        read.map_err(|error| error.at(index))
    }
}

/// Reads an object without keeping more of it than can be used; of a name that stands more than once the first place counts.
struct EntriesVisitor<'a> {
    budget: &'a ValueBudget,
}

impl<'de, 'a> Visitor<'de> for EntriesVisitor<'a> {
    type Value = IndexMap<String, JsonValue<'de, 'a>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: IndexMap<String, JsonValue<'de, 'a>> = IndexMap::new();
        while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
            if entries.len() > ITEMS {
                continue;
            }
            let value = JsonValue {
                raw,
                is_twice: false,
                budget: self.budget,
            };
            let first = entries.entry(name);
            first
                .and_modify(|first| first.is_twice = true)
                .or_insert(value);
        }
        Ok(entries)
    }
}

/// Reads a list without keeping more of it than can be used.
struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            if items.len() <= ITEMS {
                items.push(item);
            }
        }
        Ok(items)
    }
}
