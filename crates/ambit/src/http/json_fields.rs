//! The fields of a JSON object that a client sent, taken one by one. Each failure names the field's place.

use super::{HttpError, duplicate_keys};
use ambit_runtime::{Error, Result};
use ambit_storage::suggestion;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// At most so many items of a list are looked at.
const ITEMS: usize = 10_000;
/// What any value must be.
const JSON: &str = "JSON of at most 128 levels, its texts without lone surrogates";

/// The fields of an object that nobody has taken yet. An absent field and `null` are the same.
pub struct JsonFields<'a> {
    place: String,
    remaining: BTreeMap<String, &'a RawValue>,
    /// Those that were written more than once.
    duplicates: BTreeSet<String>,
    known: Vec<&'static str>,
}

impl<'a> JsonFields<'a> {
    /// The object that is a request's body.
    pub fn of(body: &'a [u8]) -> Result<Self, HttpError> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let read = reader.deserialize_map(ObjectVisitor).and_then(|entries| {
            reader.end()?;
            Ok(entries)
        });
        let entries = read.map_err(|error| match error.classify() {
            serde_json::error::Category::Data => {
                Error::invalid("body", "the body must be a JSON object")
            }
            _ => Error::invalid("body", format!("the body is not JSON: {error}")),
        })?;
        Ok(Self::at(String::new(), entries))
    }

    fn at(place: String, (left, twice): FieldPairs<'a>) -> Self {
        Self {
            place,
            remaining: left,
            duplicates: twice,
            known: Vec::new(),
        }
    }

    /// The path of a field of this object.
    pub fn place(&self, name: &str) -> String {
        match self.place.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.place),
        }
    }

    /// The field as it was written, `null` too. One that was written twice has no value that could be relied on.
    fn written(&mut self, name: &'static str) -> Result<Option<&'a RawValue>> {
        self.known.push(name);
        self.check_once(name)?;
        Ok(self.remaining.remove(name))
    }

    fn check_once(&self, name: &str) -> Result<()> {
        match self.duplicates.contains(name) {
            true => Err(given_twice(self.place(name))),
            false => Ok(()),
        }
    }

    fn take(&mut self, name: &'static str) -> Result<Option<&'a RawValue>> {
        Ok(self.written(name)?.filter(|raw| raw.get() != "null"))
    }

    fn read<T: DeserializeOwned>(&mut self, name: &'static str, what: &str) -> Result<Option<T>> {
        let Some(raw) = self.take(name)? else {
            return Ok(None);
        };
        read(raw, &self.place(name), what).map(Some)
    }

    /// A text.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        self.read(name, "a string")
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>> {
        self.read(name, "true or false")
    }

    /// A number.
    pub fn number(&mut self, name: &'static str) -> Result<Option<f64>> {
        self.read(name, "a number")
    }

    /// A whole number.
    pub fn whole(&mut self, name: &'static str) -> Result<Option<i64>> {
        self.read(name, "a whole number")
    }

    /// Any value.
    pub fn value(&mut self, name: &'static str) -> Result<Option<Value>> {
        self.read(name, JSON)
    }

    /// Any value; here `null` is one, and not the same as an absent field.
    pub fn non_null_value(&mut self, name: &'static str) -> Result<Option<Value>> {
        let written = self.written(name)?;
        written
            .map(|raw| read(raw, &self.place(name), JSON))
            .transpose()
    }

    /// An object as it is.
    pub fn object(&mut self, name: &'static str) -> Result<Option<Map<String, Value>>> {
        self.read(name, "an object")
    }

    /// An object whose fields are taken one by one.
    pub fn fields(&mut self, name: &'static str) -> Result<Option<Self>> {
        let Some(raw) = self.take(name)? else {
            return Ok(None);
        };
        inner(raw, self.place(name)).map(Some)
    }

    /// A list of anything.
    pub fn list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>> {
        let place = self.place(name);
        let Some(items) = self.items(name)? else {
            return Ok(None);
        };
        let items = items
            .into_iter()
            .enumerate()
            .map(|(at, raw)| read(raw, &format!("{place}[{at}]"), JSON));
        items.collect::<Result<_>>().map(Some)
    }

    /// A list of objects whose fields are taken one by one.
    pub fn objects(&mut self, name: &'static str) -> Result<Option<Vec<Self>>> {
        let place = self.place(name);
        let Some(items) = self.items(name)? else {
            return Ok(None);
        };
        let items = items.into_iter().enumerate();
        let items = items.map(|(at, raw)| inner(raw, format!("{place}[{at}]")));
        items.collect::<Result<_>>().map(Some)
    }

    fn items(&mut self, name: &'static str) -> Result<Option<Vec<&'a RawValue>>> {
        let place = self.place(name);
        let Some(raw) = self.take(name)? else {
            return Ok(None);
        };
        let mut reader = serde_json::Deserializer::from_str(raw.get());
        let read = reader.deserialize_seq(ListVisitor);
        let items = read.map_err(|_| Error::invalid(&place, format!("{place} must be a list")))?;
        if items.len() > ITEMS {
            let message = format!("{place} has more than {ITEMS} items");
            return Err(Error::invalid(place, message));
        }
        Ok(Some(items))
    }

    /// What nobody has taken.
    pub fn rest(self) -> Result<Map<String, Value>> {
        let rest = self.remaining.iter().map(|(name, raw)| {
            self.check_once(name)?;
            let value = read(raw, &self.place(name), JSON)?;
            Ok((name.clone(), value))
        });
        rest.collect()
    }

    /// Refuses fields that nobody has taken.
    pub fn finish(self) -> Result<()> {
        let Some(name) = self.remaining.keys().next() else {
            return Ok(());
        };
        let place = self.place(name);
        let hint = suggestion::hint(name, self.known.iter().copied());
        let message = format!("{place} is not a field of this request{hint}");
        Err(Error::invalid(place, message))
    }
}

fn read<T: DeserializeOwned>(raw: &RawValue, place: &str, what: &str) -> Result<T> {
    let value = serde_json::from_str(raw.get())
        .map_err(|_| Error::invalid(place, format!("{place} must be {what}")))?;
    match duplicate_keys::find(raw) {
        Some(path) => Err(given_twice(format!("{place}{path}"))),
        None => Ok(value),
    }
}

fn given_twice(place: String) -> Error {
    let message = format!("{place} is given twice; which of the values is meant cannot be told");
    Error::invalid(place, message)
}

fn inner(raw: &RawValue, place: String) -> Result<JsonFields<'_>> {
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    let entries = reader.deserialize_map(ObjectVisitor);
    let entries =
        entries.map_err(|_| Error::invalid(&place, format!("{place} must be an object")))?;
    Ok(JsonFields::at(place, entries))
}

/// The fields of an object, and which of them were written more than once.
type FieldPairs<'a> = (BTreeMap<String, &'a RawValue>, BTreeSet<String>);

/// Reads an object.
struct ObjectVisitor;

impl<'a> Visitor<'a> for ObjectVisitor {
    type Value = FieldPairs<'a>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut twice) = (BTreeMap::new(), BTreeSet::new());
        while let Some((name, raw)) = map.next_entry::<String, &'a RawValue>()? {
            if entries.insert(name.clone(), raw).is_some() {
                twice.insert(name);
            }
        }
        Ok((entries, twice))
    }
}

/// Reads a list without keeping more of it than can be used.
struct ListVisitor;

impl<'a> Visitor<'a> for ListVisitor {
    type Value = Vec<&'a RawValue>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            if items.len() <= ITEMS {
                items.push(item);
            }
        }
        Ok(items)
    }
}
