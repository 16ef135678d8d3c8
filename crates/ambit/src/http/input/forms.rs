//! The forms that the document shows of fields whose readers take several.

use utoipa::openapi::schema::{ArrayBuilder, Object, Schema, Type};
use utoipa::openapi::{OneOfBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A number, or a text.
pub enum NumberOrText {}

impl PartialSchema for NumberOrText {
    fn schema() -> RefOr<Schema> {
        one_of(
            Object::with_type(Type::Number),
            Object::with_type(Type::String),
        )
    }
}

impl ToSchema for NumberOrText {}

/// A text, or an object.
pub enum TextOrObject {}

impl PartialSchema for TextOrObject {
    fn schema() -> RefOr<Schema> {
        one_of(
            Object::with_type(Type::String),
            Object::with_type(Type::Object),
        )
    }
}

impl ToSchema for TextOrObject {}

/// A text, or a list of objects.
pub enum TextOrObjects {}

impl PartialSchema for TextOrObjects {
    fn schema() -> RefOr<Schema> {
        let objects = ArrayBuilder::new().items(Object::with_type(Type::Object));
        one_of(Object::with_type(Type::String), objects)
    }
}

impl ToSchema for TextOrObjects {}

fn one_of(one: impl Into<RefOr<Schema>>, other: impl Into<RefOr<Schema>>) -> RefOr<Schema> {
    OneOfBuilder::new().item(one).item(other).into()
}
