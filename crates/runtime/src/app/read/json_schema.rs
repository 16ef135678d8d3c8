//! The JSON Schema of a file, for editors: keys complete, and mistakes are underlined while one types.
//!
//! A schema accepts what the reader accepts. It is weaker where a schema cannot say it: what a variable stands for, whether a
//! regular expression is one, and what is judged when the file has been read.

use crate::config::{ConfigStruct, FieldSpec, ValueKind};
use serde_json::{Map, Value, json};

/// What `$ENV.NAME` looks like.
const VARIABLE: &str = r"\$ENV\.[A-Za-z_][A-Za-z0-9_]*";

/// The schema of a file whose content is of this kind.
pub fn schema(title: &str, kind: &ValueKind) -> Value {
    let mut schema = kind_schema(
        kind,
        SchemaContext {
            is_verbatim: false,
            may_be_null: true,
        },
    );
    if let Value::Object(keywords) = &mut schema {
        keywords.shift_insert(
            0,
            "$schema".to_owned(),
            "https://json-schema.org/draft/2020-12/schema".into(),
        );
        keywords.shift_insert(1, "title".to_owned(), title.into());
    }
    schema
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct SchemaContext {
    /// Whether variables are left as they are, so that none can stand for another value than a text.
    is_verbatim: bool,
    /// Whether `null` is as good as not given.
    may_be_null: bool,
}

impl SchemaContext {
    fn nullable(self, may_be_null: bool) -> Self {
        Self {
            may_be_null,
            ..self
        }
    }
}

fn kind_schema(kind: &ValueKind, place: SchemaContext) -> Value {
    match kind {
        ValueKind::Text => typed(&["string"], place),
        ValueKind::Pattern => with_keyword(typed(&["string"], place), "format", "regex".into()),
        ValueKind::Boolean => scalar("boolean", None, place),
        ValueKind::Number => scalar("number", None, place),
        ValueKind::Whole => scalar("integer", None, place),
        ValueKind::Count => with_keyword(scalar("integer", None, place), "minimum", 0.into()),
        ValueKind::Duration => {
            let text = r"[0-9.]+(ms|s|m|h|d)";
            with_keyword(scalar("number", Some(text), place), "minimum", 0.into())
        }
        ValueKind::Size => {
            let text = "[0-9]+ *(KiB|MiB|GiB|kB|MB|GB|B)";
            with_keyword(scalar("integer", Some(text), place), "minimum", 0.into())
        }
        ValueKind::OneOf(texts) => one_of(texts, place),
        ValueKind::List(item) => {
            let items = kind_schema(item, place.nullable(false));
            with_keyword(typed(&["array"], place), "items", items)
        }
        ValueKind::Map(value) => {
            let values = kind_schema(value, place.nullable(true));
            with_keyword(typed(&["object"], place), "additionalProperties", values)
        }
        ValueKind::Struct(object) => struct_schema(object, place),
        ValueKind::With(key, with, without) => json!({
            "if": {"type": "object", "required": [key]},
            "then": kind_schema(with, place),
            "else": kind_schema(without, place),
        }),
        ValueKind::Either(kinds) => {
            let kinds: Vec<Value> = kinds.iter().map(|kind| kind_schema(kind, place)).collect();
            json!({"anyOf": kinds})
        }
        ValueKind::Verbatim(kind) => kind_schema(
            kind,
            SchemaContext {
                is_verbatim: true,
                ..place
            },
        ),
        ValueKind::Optional(kind) => kind_schema(kind, place),
        ValueKind::Any if !place.may_be_null => json!({"not": {"type": "null"}}),
        ValueKind::By(..) => typed(&["object"], place),
        ValueKind::Any | ValueKind::Unused(_) => json!({}),
    }
}

fn struct_schema(object: &ConfigStruct, place: SchemaContext) -> Value {
    let schema = fields_schema(object.fields(), !object.others.is_empty(), place);
    with_keyword(schema, "description", object.doc.into())
}

fn fields_schema(
    fields: impl Iterator<Item = &'static FieldSpec>,
    is_open: bool,
    place: SchemaContext,
) -> Value {
    let (mut properties, mut required, mut chosen) = (Map::new(), Vec::new(), Vec::new());
    for field in fields {
        properties.insert(field.name.to_owned(), property(field, place));
        if field.is_required {
            required.push(Value::from(field.name));
        }
        if let ValueKind::By(key, cases) = &field.kind {
            chosen = chosen_kinds(field.name, key, cases, place);
        }
    }
    let mut schema = typed(&["object"], place);
    schema = with_keyword(schema, "properties", properties.into());
    if !required.is_empty() {
        schema = with_keyword(schema, "required", required.into());
    }
    if !chosen.is_empty() {
        schema = with_keyword(schema, "allOf", chosen.into());
    }
    match is_open {
        true => schema,
        false => with_keyword(schema, "additionalProperties", false.into()),
    }
}

fn property(field: &FieldSpec, place: SchemaContext) -> Value {
    if let ValueKind::Unused(why) = field.kind {
        let doc = format!("Has no effect{why}.");
        return json!({"description": doc, "deprecated": true});
    }
    let mut schema = kind_schema(&field.kind, place.nullable(!field.is_required));
    if !field.doc.is_empty() {
        schema = with_keyword(schema, "description", field.doc.into());
    }
    match field.default {
        Some(default) => with_keyword(schema, "default", default()),
        None => schema,
    }
}

/// The kind of one key, by the text of another.
fn chosen_kinds(
    name: &str,
    key: &str,
    cases: &[(&[&str], ValueKind)],
    place: SchemaContext,
) -> Vec<Value> {
    let mut before: Vec<&str> = Vec::new();
    let cases = cases.iter().map(|(texts, kind)| {
        let own: Vec<&str> = texts
            .iter()
            .copied()
            .filter(|text| !before.contains(text))
            .collect();
        let condition = json!({"properties": {key: {"enum": own}}, "required": [key]});
        before.extend(own);
        let then = kind_schema(kind, place.nullable(true));
        json!({"if": condition, "then": {"properties": {name: then}}})
    });
    cases.collect()
}

/// A text out of a few, or a variable.
fn one_of(texts: &[&str], place: SchemaContext) -> Value {
    let mut known: Vec<Value> = texts.iter().map(|text| Value::from(*text)).collect();
    if place.may_be_null {
        known.push(Value::Null);
    }
    match place.is_verbatim {
        true => json!({"enum": known}),
        false => {
            json!({"anyOf": [{"enum": known}, {"type": "string", "pattern": whole_text(VARIABLE)}]})
        }
    }
}

/// A value that can also be written as some texts, or be a variable.
fn scalar(name: &str, text: Option<&str>, place: SchemaContext) -> Value {
    let variable = (!place.is_verbatim).then_some(VARIABLE);
    let texts: Vec<&str> = text.into_iter().chain(variable).collect();
    match texts.is_empty() {
        true => typed(&[name], place),
        false => with_keyword(
            typed(&[name, "string"], place),
            "pattern",
            whole_text(&texts.join("|")).into(),
        ),
    }
}

fn whole_text(pattern: &str) -> String {
    format!("^({pattern})$")
}

fn typed(names: &[&str], place: SchemaContext) -> Value {
    let null = place.may_be_null.then_some("null");
    let names: Vec<&str> = names.iter().copied().chain(null).collect();
    match names.as_slice() {
        [name] => json!({"type": name}),
        names => json!({"type": names}),
    }
}

fn with_keyword(mut schema: Value, keyword: &str, value: Value) -> Value {
    if let Value::Object(keywords) = &mut schema {
        keywords.insert(keyword.to_owned(), value);
    }
    schema
}
