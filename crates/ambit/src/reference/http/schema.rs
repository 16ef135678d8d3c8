//! What schemas of the OpenAPI document say, in a few words.

use serde_json::Value;

/// So deep references are followed: what a value is can name itself.
const DEPTH: usize = 8;

/// The document's schemas by name.
pub struct SchemaNames<'a>(&'a Value);

/// A field of an object.
pub struct SchemaField<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub schema: &'a Value,
    /// What it means.
    pub means: &'a str,
    /// Whether it must be there.
    pub is_required: bool,
}

impl<'a> SchemaNames<'a> {
    /// Those of a document.
    pub fn of(document: &'a Value) -> Self {
        Self(&document["components"]["schemas"])
    }

    /// What a value is.
    pub fn kind(&self, schema: &Value) -> String {
        self.kind_within(schema, DEPTH)
    }

    fn kind_within(&self, schema: &Value, depth: usize) -> String {
        if depth == 0 {
            return "object".to_owned();
        }
        if let Some(found) = self.referred(schema) {
            return self.kind_within(found, depth - 1);
        }
        if let Some(texts) = schema["enum"].as_array() {
            let texts: Vec<String> = texts.iter().filter_map(named).collect();
            return texts.join(", ");
        }
        let unions = ["oneOf", "anyOf"];
        if let Some(kinds) = unions.iter().find_map(|name| schema[*name].as_array()) {
            let kinds = kinds.iter().filter(|kind| kind["type"] != "null");
            let mut kinds: Vec<String> = kinds
                .map(|kind| self.kind_within(kind, depth - 1))
                .collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
        match name(&schema["type"]) {
            "string" => "text".to_owned(),
            "integer" => "whole number".to_owned(),
            "number" => "number".to_owned(),
            "boolean" => "`true` or `false`".to_owned(),
            "array" => format!("list: {}", self.kind_within(&schema["items"], depth - 1)),
            "object" => "object".to_owned(),
            _ if schema["allOf"].is_array() => "object".to_owned(),
            _ => "anything".to_owned(),
        }
    }

    /// The fields of an object.
    pub fn fields(&self, schema: &'a Value) -> Vec<SchemaField<'a>> {
        let mut found = Vec::new();
        self.find_fields(schema, DEPTH, &mut found);
        found
    }

    fn find_fields(&self, schema: &'a Value, depth: usize, found: &mut Vec<SchemaField<'a>>) {
        if depth == 0 {
            return;
        }
        if let Some(schema) = self.referred(schema) {
            return self.find_fields(schema, depth - 1, found);
        }
        let parts = schema["allOf"].as_array().into_iter().flatten();
        // A body that may be left out is one of a thing and nothing.
        let one = schema["oneOf"].as_array().and_then(|kinds| kinds.first());
        for part in parts.chain(one) {
            self.find_fields(part, depth - 1, found);
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let required = schema["required"].as_array();
            found.push(SchemaField {
                name,
                schema: field,
                means: self.means(field),
                is_required: required.is_some_and(|names| names.iter().any(|it| it == name)),
            });
        }
    }

    /// What is said of a value, else of what it may be.
    fn means(&self, schema: &'a Value) -> &'a str {
        let one = schema["oneOf"].as_array().and_then(|kinds| kinds.first());
        let places = [Some(schema), one, self.referred(schema)];
        let words = places.into_iter().flatten();
        let mut words = words.filter_map(|place| place["description"].as_str());
        words.next().unwrap_or_default()
    }

    fn referred(&self, schema: &Value) -> Option<&'a Value> {
        let name = schema["$ref"].as_str()?.rsplit('/').next()?;
        self.0.get(name)
    }
}

/// The first type that is not `null`.
fn name(kinds: &Value) -> &str {
    let kind = match kinds.as_array() {
        Some(several) => several.iter().find(|kind| *kind != "null"),
        None => Some(kinds),
    };
    kind.and_then(Value::as_str).unwrap_or_default()
}

fn named(text: &Value) -> Option<String> {
    text.as_str().map(|text| format!("`{text}`"))
}
