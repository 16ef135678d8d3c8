//! Examples of the values of keys, out of files of an app that has most of them.

use super::parse;
use crate::config::{ConfigStruct, FieldSpec, FileKind, ValueKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// So many letters of a value are shown.
const MOST_LETTERS: usize = 80;

/// A kind of file, and files that are examples of it.
#[derive(Debug)]
pub struct FileExamples {
    /// The kind.
    pub kind: &'static FileKind,
    /// The files.
    pub files: Vec<ExampleFile>,
}

/// A file of an app.
#[derive(Debug)]
pub struct ExampleFile {
    /// Its path below the app's folder.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// The values of keys, by the names of the object and of the key; of several the first one counts.
pub struct KeyExamples(BTreeMap<(&'static str, &'static str), Value>);

impl KeyExamples {
    /// Those that files have.
    pub fn of(all: &[FileExamples]) -> Self {
        let mut found = Self(BTreeMap::new());
        for row in all {
            let files = row.files.iter();
            for node in files.filter_map(|file| parse(&file.path, &file.text).ok()) {
                found.take(&row.kind.kind, &node.value());
            }
        }
        found
    }

    /// The value of a key as a table shows it: an example's, else its default, else one of its kind. Empty for an object whose keys
    /// have rows of their own.
    pub fn shown(&self, object: &ConfigStruct, field: &FieldSpec) -> String {
        let found = self.0.get(&(object.name, field.name)).cloned();
        let found = found.or_else(|| field.default.map(|default| default()));
        match found.or_else(|| typical(&field.kind)) {
            Some(value) if !(has_keys(&field.kind) && holds_object(&value)) => cell(&value),
            _ => String::new(),
        }
    }

    fn take(&mut self, kind: &ValueKind, value: &Value) {
        match (kind, value) {
            (ValueKind::Verbatim(inner) | ValueKind::Optional(inner), _) => self.take(inner, value),
            (ValueKind::Either(kinds), _) => kinds.iter().for_each(|kind| self.take(kind, value)),
            (ValueKind::With(key, with, without), Value::Object(given)) => {
                let has_key = given.contains_key(*key);
                self.take(if has_key { with } else { without }, value);
            }
            (ValueKind::List(inner), Value::Array(items)) => {
                items.iter().for_each(|item| self.take(inner, item));
            }
            (ValueKind::Map(inner), Value::Object(given)) => {
                given.values().for_each(|value| self.take(inner, value));
            }
            (ValueKind::Struct(object), Value::Object(given)) => self.take_object(object, given),
            _ => {}
        }
    }

    fn take_object(&mut self, object: &ConfigStruct, given: &Map<String, Value>) {
        for field in object.fields() {
            let Some(value) = given.get(field.name) else {
                continue;
            };
            let entry = self.0.entry((object.name, field.name));
            entry.or_insert_with(|| value.clone());
            self.take(chosen(&field.kind, given), value);
        }
    }
}

/// The kind of a value, where another key of its object decides which it is.
fn chosen<'k>(kind: &'k ValueKind, given: &Map<String, Value>) -> &'k ValueKind {
    let ValueKind::By(key, cases) = kind else {
        return kind;
    };
    let text = given.get(*key).and_then(Value::as_str).unwrap_or_default();
    let case = cases.iter().find(|(texts, _)| texts.contains(&text));
    case.map_or(kind, |(_, chosen)| chosen)
}

/// A value of a kind that says enough of its values by itself.
fn typical(kind: &ValueKind) -> Option<Value> {
    match kind {
        ValueKind::Boolean => Some(json!(true)),
        ValueKind::Count => Some(json!(10)),
        ValueKind::Duration => Some(json!("30s")),
        ValueKind::Size => Some(json!("64MiB")),
        ValueKind::OneOf(texts) => texts.first().map(|text| json!(text)),
        ValueKind::Verbatim(inner) | ValueKind::Optional(inner) => typical(inner),
        _ => None,
    }
}

/// Whether objects in a value of this kind have known keys.
fn has_keys(kind: &ValueKind) -> bool {
    match kind {
        ValueKind::Struct(_) | ValueKind::With(..) | ValueKind::By(..) => true,
        ValueKind::Either(kinds) => kinds.iter().any(has_keys),
        ValueKind::List(inner)
        | ValueKind::Map(inner)
        | ValueKind::Verbatim(inner)
        | ValueKind::Optional(inner) => has_keys(inner),
        _ => false,
    }
}

fn holds_object(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(holds_object),
        _ => false,
    }
}

/// A value in a cell of a table.
fn cell(value: &Value) -> String {
    let text = value.to_string();
    let mut shown: String = text.chars().take(MOST_LETTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{}`", shown.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::{ExampleFile, FileExamples, KeyExamples};
    use crate::app::FILES;

    #[test]
    fn a_key_is_shown_with_the_value_of_a_file_else_with_its_default() {
        let kind = FILES.iter().find(|kind| kind.name == "store").unwrap();
        let text = r#"{ "name": "A|B", "option": { "ttl": "1m" } }"#;
        let file = ExampleFile {
            path: "stores/a.lru.yao".to_owned(),
            text: text.to_owned(),
        };
        let examples = KeyExamples::of(&[FileExamples {
            kind,
            files: vec![file],
        }]);
        let crate::config::ValueKind::Struct(object) = &kind.kind else {
            panic!("a store is an object");
        };
        let shown = |name: &str| {
            let field = object.fields().find(|field| field.name == name).unwrap();
            examples.shown(object, field)
        };
        assert_eq!(shown("name"), "`\"A\\|B\"`");
        assert_eq!(shown("type"), "`\"lru\"`");
        assert_eq!(shown("label"), "");
        assert_eq!(shown("option"), "");
    }
}
