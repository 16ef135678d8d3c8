//! Translations: reading them, and finding the one that is meant.

use super::loader::AppLoader;
use super::problem::FileProblem;
use super::read::{Setting, ValueKind};
use super::{App, AppAgent, Locales};
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The language whose texts stand in where there is no better one.
const FALLBACK: &str = "en-us";

/// A file of translations: keys of any kind, nested as one likes.
const FILE: ValueKind = ValueKind::Map(&ValueKind::Any);

/// `{{ key }}`.
static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{\{\s*([^{}]*?)\s*\}\}").ok());

/// A tag as it is compared: lower case, with `-`.
pub fn tag(text: &str) -> String {
    text.trim().to_lowercase().replace('_', "-")
}

/// Reads the files of a folder. A broken one is a problem of whoever needs them.
pub fn read(loader: &mut AppLoader, folder: &str) -> (Locales, Option<FileProblem>) {
    let mut locales = Locales::default();
    let mut broken = None;
    let files = loader.within(folder, ".yml").into_iter();
    let files: Vec<_> = files.chain(loader.within(folder, ".yaml")).collect();
    let found = files.into_iter().map(|(id, file)| (tag(&id), file));
    let found = loader.unique(found.collect());
    for (tag, file) in found {
        match file.and_then(|file| loader.value(&file, &FILE)) {
            Ok((value, _)) => {
                let texts = locales.0.entry(tag).or_default();
                flatten(String::new(), &value, texts);
            }
            Err(problem) => broken = broken.or(Some(problem)),
        }
    }
    (locales, broken)
}

impl Locales {
    /// Puts translations given in a package over those of files.
    pub fn merge(&mut self, inline: Self) {
        for (tag, texts) in inline.0 {
            self.0.entry(tag).or_default().extend(texts);
        }
    }

    fn find(&self, tag: &str, key: &str) -> Option<&str> {
        self.0.get(tag)?.get(key).map(String::as_str)
    }
}

/// As a package gives them: by language, nested as one likes.
impl Setting for Locales {
    const KIND: ValueKind = ValueKind::Map(&FILE);

    fn read(value: Value) -> Option<Self> {
        let mut locales = Self::default();
        for (name, texts) in &Map::read(value)? {
            let known = locales.0.entry(tag(name)).or_default();
            flatten(String::new(), texts, known);
        }
        Some(locales)
    }
}

/// Nested keys and lists become one key with dots.
fn flatten(path: String, value: &Value, texts: &mut BTreeMap<String, String>) {
    let below = |name: &str| match path.as_str() {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Null => {}
        Value::String(text) => drop(texts.insert(path, text.clone())),
        Value::Bool(_) | Value::Number(_) => drop(texts.insert(path, value.to_string())),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(below(&index.to_string()), item, texts);
            }
        }
        Value::Object(entries) => {
            for (name, value) in entries {
                flatten(below(name), value, texts);
            }
        }
    }
}

/// The translations that count for one agent and one language.
#[derive(Clone, Copy)]
pub struct Translations<'a> {
    /// The agent's.
    pub own: &'a Locales,
    /// Those of all agents.
    pub global: &'a Locales,
    /// The language, such as `zh-cn`.
    pub locale: &'a str,
}

impl App {
    /// The translations that count for an agent in a language.
    pub fn words<'a>(&'a self, agent: &'a AppAgent, locale: &'a str) -> Translations<'a> {
        let (own, global) = (&agent.locales, &self.locales);
        Translations {
            own,
            global,
            locale,
        }
    }
}

impl Translations<'_> {
    /// The translation of a key, if there is one: the agent's for the tag, for its language, the global ones in the same
    /// order, then those for `en-us`.
    pub fn find(&self, key: &str) -> Option<&str> {
        let tag = tag(self.locale);
        let language = tag.split('-').next().unwrap_or_default();
        let places = [
            (self.own, tag.as_str()),
            (self.own, language),
            (self.global, tag.as_str()),
            (self.global, language),
            (self.own, FALLBACK),
            (self.global, FALLBACK),
        ];
        let mut found = places.iter();
        found.find_map(|(locales, tag)| locales.find(tag, key))
    }

    /// The translation of a key or a whole sentence, as `$L` gives it. Without one it is the text itself.
    pub fn say<'t>(&'t self, text: &'t str) -> &'t str {
        let text = text.strip_prefix("::").unwrap_or(text);
        self.find(text).unwrap_or(text)
    }

    /// The text with each `{{ key }}` that has a translation replaced by it. Translations are not looked at again.
    pub fn fill<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(pattern) = KEY.as_ref() else {
            return Cow::Borrowed(text);
        };
        pattern.replace_all(text, |found: &Captures<'_>| {
            self.find(&found[1]).unwrap_or(&found[0]).to_owned()
        })
    }

    /// The same in every text of a value.
    pub fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(name, value)| (name.clone(), self.fill_value(value)));
                Value::Object(entries.collect())
            }
            other => other.clone(),
        }
    }
}
