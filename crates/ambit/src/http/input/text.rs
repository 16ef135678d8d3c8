//! Fields that are text: the parts of a path, and what stands behind `?`.

use super::error::InputError;
use super::fields::InputFields;
use ambit_runtime::{Error, Result};
use axum::http::request::Parts;
use indexmap::IndexMap;
use percent_encoding::percent_decode_str;
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::str::FromStr;

/// What nothing between `=` and `&` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyText {
    /// It is a text like any other.
    IsText,
    /// It is no way to leave a field out: that would widen what is asked for.
    IsRefused,
}

/// Fields that no type has taken yet.
#[derive(Debug)]
pub struct TextFields {
    rest: IndexMap<String, TextValue>,
    known: Vec<&'static str>,
}

/// The query of a request.
pub(super) fn query_fields(parts: &Parts, empty: EmptyText) -> Result<TextFields> {
    let text = parts.uri.query().unwrap_or_default();
    let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name).ok_or_else(|| Error::invalid("query", "the query is not UTF-8"))?;
        let refused = || Error::invalid(&name, format!("{name} is not UTF-8"));
        let value = decode(value).ok_or_else(refused)?;
        Ok((name, value))
    });
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    Ok(TextFields::of(pairs, empty))
}

/// Reads a query that may hold what its route does not know, and fields without text.
pub fn query<T: DeserializeOwned>(parts: &Parts) -> Result<T> {
    query_fields(parts, EmptyText::IsText)?.take()
}

/// Text behind a `?`, with `+` and `%xx` replaced; `None` where that is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded.ok().map(Cow::into_owned)
}

impl TextFields {
    /// These fields.
    pub(super) fn of(pairs: impl IntoIterator<Item = (String, String)>, empty: EmptyText) -> Self {
        let mut rest = IndexMap::new();
        for (name, text) in pairs {
            let value = TextValue {
                text,
                is_twice: false,
                empty,
            };
            let first = rest.entry(name);
            first
                .and_modify(|first: &mut TextValue| first.is_twice = true)
                .or_insert(value);
        }
        Self {
            rest,
            known: Vec::new(),
        }
    }

    /// Reads a struct from the fields that it knows; the others are left.
    pub(super) fn take<T: DeserializeOwned>(&mut self) -> Result<T> {
        Ok(T::deserialize(self)?)
    }

    /// Refuses what nobody has taken.
    pub(super) fn finish(self) -> Result<()> {
        match self.rest.first() {
            None => Ok(()),
            Some((name, _)) => {
                let what = "condition of this route";
                Err(InputError::unknown(name, what, &self.known).into())
            }
        }
    }
}

impl<'de> Deserializer<'de> for &mut TextFields {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, InputError> {
        Err(InputError::new("is read by its fields' names alone"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        self.known.extend(fields);
        let is_known = |name: &String, _: &mut TextValue| fields.contains(&name.as_str());
        let taken = self.rest.extract_if(.., is_known).collect();
        visitor.visit_map(InputFields::of(taken))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The text of one field.
#[derive(Debug)]
struct TextValue {
    text: String,
    is_twice: bool,
    empty: EmptyText,
}

impl TextValue {
    fn text(self) -> Result<String, InputError> {
        if self.is_twice {
            return Err(InputError::new("is given twice"));
        }
        if self.text.is_empty() && self.empty == EmptyText::IsRefused {
            return Err(InputError::new("is empty; leave it out instead"));
        }
        Ok(self.text)
    }

    /// What the text is written for.
    fn parse<'de, T: FromStr, V: Visitor<'de>>(self, visitor: &V) -> Result<T, InputError> {
        let text = self.text()?;
        let refused = |_| InputError::invalid_type(Unexpected::Str(&text), visitor);
        text.parse().map_err(refused)
    }
}

/// Numbers and truth values are written as text.
macro_rules! parse_by_hints {
    ($($method:ident $visit:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
            let value = self.parse(&visitor)?;
            visitor.$visit(value)
        })*
    };
}

impl<'de> Deserializer<'de> for TextValue {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        visitor.visit_enum(self.text()?.into_deserializer())
    }

    parse_by_hints! {
        deserialize_bool visit_bool
        deserialize_i32 visit_i32
        deserialize_i64 visit_i64
        deserialize_u32 visit_u32
        deserialize_u64 visit_u64
        deserialize_f64 visit_f64
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
