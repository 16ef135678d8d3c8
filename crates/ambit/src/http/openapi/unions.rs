//! The kinds of unions as schemas of their own: generators of clients make a type of each, and some cannot read kinds that are
//! made of other schemas where they stand, nor objects that extend a union.

use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::openapi::schema::{AllOfBuilder, Schema};
use utoipa::openapi::{OpenApi, Ref, RefOr};

type NamedSchemas = BTreeMap<String, RefOr<Schema>>;

/// The document in which each kind of a union has a name, and an object that extends a union is a union of what extends its kinds.
pub fn with_named_kinds(mut document: OpenApi) -> OpenApi {
    if let Some(components) = &mut document.components {
        extend_kinds(&mut components.schemas);
        name_kinds(&mut components.schemas);
    }
    document
}

/// Puts what extends a union into each of its kinds.
fn extend_kinds(schemas: &mut NamedSchemas) {
    let known = &*schemas;
    let unions = known.iter().filter_map(|(name, schema)| {
        let (base, union) = extended(known, schema)?;
        Some((name.clone(), base, union))
    });
    let unions: Vec<(String, String, Schema)> = unions.collect();
    for (name, base, union) in unions {
        schemas.insert(name, RefOr::T(union));
        // It is written for that one object alone.
        schemas.remove(&base);
    }
}

/// The union that an object extends, with what the object adds in each of its kinds.
fn extended(schemas: &NamedSchemas, object: &RefOr<Schema>) -> Option<(String, Schema)> {
    let RefOr::T(Schema::AllOf(object)) = object else {
        return None;
    };
    let union_of = |part: &RefOr<Schema>| {
        let RefOr::Ref(reference) = part else {
            return None;
        };
        let (_, base) = reference.ref_location.rsplit_once('/')?;
        let RefOr::T(union) = schemas.get(base)? else {
            return None;
        };
        let mut union = union.clone();
        kinds(&mut union)?;
        Some((base.to_owned(), union))
    };
    let mut parts = object.items.iter().enumerate();
    let (place, (base, mut union)) =
        parts.find_map(|(place, part)| Some((place, union_of(part)?)))?;
    let mut others = object.items.clone();
    others.remove(place);
    for kind in kinds(&mut union)? {
        *kind = extend(kind, &others);
    }
    Some((base, union))
}

/// A kind with these parts too.
fn extend(kind: &RefOr<Schema>, others: &[RefOr<Schema>]) -> RefOr<Schema> {
    let (parts, description) = match kind {
        RefOr::T(Schema::AllOf(object)) => (object.items.clone(), object.description.clone()),
        RefOr::T(Schema::Object(object)) => (vec![kind.clone()], object.description.clone()),
        _ => (vec![kind.clone()], None),
    };
    let parts = parts.into_iter().chain(others.iter().cloned());
    let object = AllOfBuilder::new().description(description);
    parts.fold(object, AllOfBuilder::item).into()
}

/// Gives each kind that is an object the name of its union, with what tells it apart or else with its number.
fn name_kinds(schemas: &mut NamedSchemas) {
    let mut named = NamedSchemas::new();
    for (union, schema) in schemas.iter_mut() {
        let RefOr::T(schema) = schema else {
            continue;
        };
        let items = kinds(schema).into_iter().flatten();
        for (number, kind) in (1..).zip(items) {
            let RefOr::T(shape) = &*kind else {
                continue;
            };
            if !is_object(shape) {
                continue;
            }
            let end = tag(shape).map_or_else(|| number.to_string(), pascal_case);
            let name = format!("{union}{end}");
            let reference = RefOr::Ref(Ref::from_schema_name(name.as_str()));
            named.insert(name, std::mem::replace(kind, reference));
        }
    }
    schemas.append(&mut named);
}

/// The kinds of a union.
fn kinds(schema: &mut Schema) -> Option<&mut Vec<RefOr<Schema>>> {
    match schema {
        Schema::OneOf(union) => Some(&mut union.items),
        Schema::AnyOf(union) => Some(&mut union.items),
        _ => None,
    }
}

fn is_object(schema: &Schema) -> bool {
    match schema {
        Schema::Object(object) => !object.properties.is_empty(),
        Schema::AllOf(_) => true,
        _ => false,
    }
}

/// The text that a field of this kind always has.
fn tag(kind: &Schema) -> Option<&str> {
    match kind {
        Schema::AllOf(object) => object.items.iter().find_map(|part| match part {
            RefOr::T(part) => tag(part),
            RefOr::Ref(_) => None,
        }),
        Schema::Object(object) => object.properties.values().find_map(|field| match field {
            RefOr::T(Schema::Object(field)) => match field.enum_values.as_deref() {
                Some([Value::String(text)]) => Some(text.as_str()),
                _ => None,
            },
            _ => None,
        }),
        _ => None,
    }
}

/// `RunStarted` of `RUN_STARTED`.
fn pascal_case(tag: &str) -> String {
    let words = tag.split(['_', '-']);
    let words = words.flat_map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters.flat_map(char::to_lowercase))
    });
    words.collect()
}
