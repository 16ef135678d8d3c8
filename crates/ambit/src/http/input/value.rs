//! Values that fields of requests share: what each may be, and how the document shows it.

use crate::timestamp;
use ambit_storage::clock::Millis;
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::borrow::Cow;
use std::fmt;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{OneOfBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// An id: 1 to 200 bytes of text without U+0000.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(pub String);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = String::deserialize(reader)?;
        match crate::id::fault(&text) {
            Some(fault) => Err(D::Error::custom(fault)),
            None => Ok(Self(text)),
        }
    }
}

impl PartialSchema for Id {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.min_length(Some(1)).max_length(Some(200)).into()
    }
}

impl ToSchema for Id {}

/// A text that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = String::deserialize(reader)?;
        match text.is_empty() {
            true => Err(D::Error::custom("is empty; leave it out instead")),
            false => Ok(Self(text)),
        }
    }
}

impl PartialSchema for Text {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.min_length(Some(1)).into()
    }
}

impl ToSchema for Text {}

/// A day, an instant, or milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Millis);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        // A hint: in JSON a number is a time too.
        reader.deserialize_str(TimeVisitor).map(Self)
    }
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Millis;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a day, an instant, or milliseconds since 1970")
    }

    fn visit_i64<E: Error>(self, millis: i64) -> Result<Millis, E> {
        Ok(millis)
    }

    fn visit_u64<E: Error>(self, millis: u64) -> Result<Millis, E> {
        let refused = |_| E::invalid_value(Unexpected::Unsigned(millis), &self);
        Millis::try_from(millis).map_err(refused)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Millis, E> {
        if let Ok(millis) = text.parse() {
            return Ok(millis);
        }
        let refused = |why| E::custom(format_args!("\"{text}\" is no time; {why}"));
        timestamp::parse(text).map_err(refused)
    }
}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        let millis = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
        let text = ObjectBuilder::new().schema_type(Type::String);
        OneOfBuilder::new().item(text).item(millis).into()
    }
}

impl ToSchema for Time {}

/// A whole number in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const FROM: u64, const TO: u64>(pub u64);

impl<'de, const FROM: u64, const TO: u64> Deserialize<'de> for Whole<FROM, TO> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_u64(WholeVisitor::<FROM, TO>).map(Self)
    }
}

struct WholeVisitor<const FROM: u64, const TO: u64>;

impl<const FROM: u64, const TO: u64> Visitor<'_> for WholeVisitor<FROM, TO> {
    type Value = u64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match TO {
            u64::MAX => write!(out, "a whole number from {FROM}"),
            _ => write!(out, "a whole number from {FROM} to {TO}"),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        match (FROM..=TO).contains(&number) {
            true => Ok(number),
            false => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }
}

impl<const FROM: u64, const TO: u64> PartialSchema for Whole<FROM, TO> {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer);
        let number = number.minimum(Some(FROM));
        match TO {
            u64::MAX => number.into(),
            _ => number.maximum(Some(TO)).into(),
        }
    }
}

impl<const FROM: u64, const TO: u64> ToSchema for Whole<FROM, TO> {
    fn name() -> Cow<'static, str> {
        format!("Whole{FROM}To{TO}").into()
    }
}
