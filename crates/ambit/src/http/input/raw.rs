//! JSON that a route passes on as it was written.

use ambit_storage::Json;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

/// What the reader of bodies knows the type by.
pub(super) const RAW: &str = "ambit::RawJson";

/// Any JSON, `null` too, as the text that it came as.
#[derive(Clone, Debug, PartialEq)]
pub struct RawJson(pub Json);

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_newtype_struct(RAW, RawVisitor)
    }
}

struct RawVisitor;

impl Visitor<'_> for RawVisitor {
    type Value = RawJson;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    /// The text has been read once: it is JSON.
    fn visit_str<E: Error>(self, text: &str) -> Result<RawJson, E> {
        Ok(RawJson(Json::stored(text)))
    }
}

impl PartialSchema for RawJson {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::SchemaType::AnyValue)
            .into()
    }
}

impl ToSchema for RawJson {}
