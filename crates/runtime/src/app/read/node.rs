//! A value of a file that knows where it was written.

use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// A place in a file; lines and columns count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePosition {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where; nowhere in particular if the text as a whole is to blame.
    pub at: Option<FilePosition>,
    /// What is wrong. Never a value of the file, which may be a secret.
    pub message: String,
}

/// A value with its place.
#[derive(Clone)]
pub struct ConfigNode {
    /// Where it begins.
    pub at: FilePosition,
    /// What it is.
    pub content: ConfigValue,
}

/// A name in an object, with its place.
#[derive(Clone)]
pub struct ConfigKey {
    /// Where it begins.
    pub at: FilePosition,
    /// The name.
    pub text: String,
}

/// A value.
#[derive(Clone)]
pub enum ConfigValue {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<ConfigNode>),
    /// An object, in the order of the file.
    Object(Vec<(ConfigKey, ConfigNode)>),
}

impl ConfigNode {
    /// What an empty file holds.
    pub fn nothing() -> Self {
        Self {
            at: FilePosition { line: 1, column: 1 },
            content: ConfigValue::Null,
        }
    }

    /// A value that stands in no file.
    pub fn of(value: &Value) -> Self {
        let content = match value {
            Value::Null => ConfigValue::Null,
            Value::Bool(flag) => ConfigValue::Boolean(*flag),
            Value::Number(number) => ConfigValue::Number(number.clone()),
            Value::String(text) => ConfigValue::Text(text.clone()),
            Value::Array(items) => ConfigValue::List(items.iter().map(Self::of).collect()),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let at = FilePosition::default();
                    let text = name.clone();
                    (ConfigKey { at, text }, Self::of(value))
                });
                ConfigValue::Object(members.collect())
            }
        };
        let at = FilePosition::default();
        Self { at, content }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &'static str {
        match &self.content {
            ConfigValue::Null => "null",
            ConfigValue::Boolean(_) => "a boolean",
            ConfigValue::Number(_) => "a number",
            ConfigValue::Text(_) => "a string",
            ConfigValue::List(_) => "a list",
            ConfigValue::Object(_) => "an object",
        }
    }

    /// The value of a key, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let ConfigValue::Object(entries) = &self.content else {
            return None;
        };
        let mut found = entries.iter().filter(|(key, _)| key.text == name);
        found.next().map(|(_, value)| value)
    }

    /// Where the value of a key is; where this begins if there is none.
    pub fn position(&self, name: &str) -> FilePosition {
        self.get(name).unwrap_or(self).at
    }

    /// The items, if this is a list.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            ConfigValue::List(items) => items,
            _ => &[],
        }
    }

    /// The items of the list under a key, if this is an object that has it.
    pub fn list(&self, name: &str) -> &[Self] {
        self.get(name).map_or(&[], Self::items)
    }

    /// The plain value.
    pub fn value(&self) -> Value {
        match &self.content {
            ConfigValue::Null => Value::Null,
            ConfigValue::Boolean(flag) => Value::Bool(*flag),
            ConfigValue::Number(number) => Value::Number(number.clone()),
            ConfigValue::Text(text) => Value::String(text.clone()),
            ConfigValue::List(items) => items.iter().map(Self::value).collect(),
            ConfigValue::Object(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, value)| (key.text.clone(), value.value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// Every key that an object of this tree has twice.
    pub fn duplicates(&self) -> Vec<SyntaxError> {
        let mut found = Vec::new();
        self.find_duplicates(&mut found);
        found
    }

    fn find_duplicates(&self, found: &mut Vec<SyntaxError>) {
        self.items()
            .iter()
            .for_each(|item| item.find_duplicates(found));
        let ConfigValue::Object(entries) = &self.content else {
            return;
        };
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for (key, value) in entries {
            if let Some(line) = seen.insert(&key.text, key.at.line) {
                found.push(SyntaxError {
                    at: Some(key.at),
                    message: format!("\"{}\" is given twice, first on line {line}", key.text),
                });
            }
            value.find_duplicates(found);
        }
    }
}
