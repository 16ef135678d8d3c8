//! Objects that may have any fields say so: generators of clients take others without fields for objects that have none.

use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, Object, Schema, SchemaType, Type};
use utoipa::openapi::{OpenApi, RefOr};

/// The document in which an object without named fields may have any.
pub fn with_free_objects(mut document: OpenApi) -> OpenApi {
    let components = document.components.iter_mut();
    components
        .flat_map(|components| components.schemas.values_mut())
        .for_each(open);
    document
}

fn open(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else {
        return;
    };
    match schema {
        Schema::Object(object) => open_object(object),
        Schema::Array(list) => {
            if let ArrayItems::RefOrSchema(items) = &mut list.items {
                open(items);
            }
        }
        Schema::OneOf(union) => union.items.iter_mut().for_each(open),
        Schema::AllOf(whole) => whole.items.iter_mut().for_each(open),
        Schema::AnyOf(union) => union.items.iter_mut().for_each(open),
        _ => {}
    }
}

fn open_object(object: &mut Object) {
    let is_object = match &object.schema_type {
        SchemaType::Type(kind) => *kind == Type::Object,
        SchemaType::Array(kinds) => kinds.contains(&Type::Object),
        SchemaType::AnyValue => false,
    };
    if is_object && object.properties.is_empty() && object.additional_properties.is_none() {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(true)));
    }
    object.properties.values_mut().for_each(open);
    if let Some(AdditionalProperties::RefOr(values)) = object.additional_properties.as_deref_mut() {
        open(values);
    }
}
