//! The one place that judges a file: reads its tree by a table of known keys.

use super::node::{ConfigKey, ConfigNode, ConfigValue, FilePosition};
use crate::app::problem::{ProblemReport, Severity};
use crate::app::variables::EnvVariables;
use crate::config::{FieldSpec, ValueKind, units};
use ambit_storage::memory::Ttl;
use ambit_storage::suggestion;
use regex::Regex;
use serde_json::{Map, Number, Value};

/// Of so many keys all are told where none is near.
const FEW_KEYS: usize = 6;

/// Reads one file by a table.
pub struct ConfigReader<'a> {
    /// What `$ENV.NAME` stands for.
    pub variables: &'a EnvVariables,
    /// What is wrong goes there. Values are never told, because they may be secrets.
    pub report: &'a mut ProblemReport,
    /// How bad it is that something is not known: a key, or an optional value of another kind. It is left out.
    pub unknown: Severity,
}

/// Where in the file the reader is.
#[derive(Clone, Copy)]
struct ReaderContext<'a> {
    /// The keys that lead there, joined by dots.
    path: &'a str,
    /// Whether variables are left as they are.
    is_verbatim: bool,
    /// Whether the value is left out where it is of another kind.
    is_optional: bool,
}

impl ReaderContext<'_> {
    /// A value inside of this one.
    fn below(self, path: &str) -> ReaderContext<'_> {
        ReaderContext {
            path,
            is_verbatim: self.is_verbatim,
            is_optional: false,
        }
    }
}

impl ConfigReader<'_> {
    /// The plain value, as far as it is right. `null` is as good as not given.
    pub fn read(&mut self, node: &ConfigNode, kind: &ValueKind) -> Option<Value> {
        let here = ReaderContext {
            path: "",
            is_verbatim: false,
            is_optional: false,
        };
        self.value(node, kind, here)
    }

    fn value(
        &mut self,
        node: &ConfigNode,
        kind: &ValueKind,
        here: ReaderContext<'_>,
    ) -> Option<Value> {
        match kind {
            ValueKind::Verbatim(inner) => {
                let is_verbatim = true;
                let here = ReaderContext {
                    is_verbatim,
                    ..here
                };
                return self.value(node, inner, here);
            }
            ValueKind::Optional(inner) => {
                let is_optional = true;
                let here = ReaderContext {
                    is_optional,
                    ..here
                };
                return self.value(node, inner, here);
            }
            ValueKind::Any => return Some(self.any(node, here)),
            ValueKind::Either(kinds) => {
                let fitting = kinds.iter().find(|kind| resembles(node, kind));
                return match fitting {
                    Some(kind) => self.value(node, kind, here),
                    None => self.mismatch(node, kind, here),
                };
            }
            ValueKind::With(key, with, without) => {
                let kind = if node.get(key).is_some() {
                    with
                } else {
                    without
                };
                return self.value(node, kind, here);
            }
            _ => {}
        }
        match &node.content {
            ConfigValue::Null => None,
            ConfigValue::Text(text) => self.text(node, text, kind, here),
            ConfigValue::List(items) => self.list(node, items, kind, here),
            ConfigValue::Object(entries) => self.object(node, entries, kind, here),
            ConfigValue::Boolean(flag) if matches!(kind, ValueKind::Boolean) => {
                Some(Value::Bool(*flag))
            }
            ConfigValue::Number(number) if kind.takes(number) => {
                Some(Value::Number(number.clone()))
            }
            ConfigValue::Boolean(_) | ConfigValue::Number(_) => self.mismatch(node, kind, here),
        }
    }

    fn text(
        &mut self,
        node: &ConfigNode,
        text: &str,
        kind: &ValueKind,
        here: ReaderContext<'_>,
    ) -> Option<Value> {
        let found = self.variable(node.at, text, here);
        let is_variable = found.is_some();
        let text = found.unwrap_or_else(|| text.to_owned());
        match kind {
            ValueKind::Text => Some(Value::String(text)),
            _ if is_variable && text.is_empty() => None,
            ValueKind::Pattern => {
                if let Err(error) = Regex::new(&text) {
                    let reason = error.to_string();
                    let reason = reason.lines().last().unwrap_or_default();
                    let reason = reason.trim_start_matches("error: ");
                    let message = format!("\"{}\" is no regular expression: {reason}", here.path);
                    self.report.error(node.at, message);
                }
                Some(Value::String(text))
            }
            ValueKind::OneOf(names) if names.contains(&text.as_str()) => Some(Value::String(text)),
            ValueKind::OneOf(names) => {
                let hint = suggestion::hint(&text, names.iter().copied());
                let expected = kind.name();
                let message = format!("\"{}\" must be {expected}", here.path);
                self.unfit(node, &message, &hint, here)
            }
            ValueKind::Duration if Ttl::parse(&text).is_ok() => Some(Value::String(text)),
            ValueKind::Size if units::bytes(&text).is_some() => Some(Value::String(text)),
            ValueKind::Boolean if is_variable && matches!(text.as_str(), "true" | "false") => {
                Some(Value::Bool(text == "true"))
            }
            _ => match number_of(&text).filter(|number| is_variable && kind.takes(number)) {
                Some(number) => Some(Value::Number(number)),
                None => self.wrong_text(node, kind, here),
            },
        }
    }

    /// Durations and sizes are texts too, so that the rule for them is told, not their type.
    fn wrong_text(
        &mut self,
        node: &ConfigNode,
        kind: &ValueKind,
        here: ReaderContext<'_>,
    ) -> Option<Value> {
        let rule = match kind {
            ValueKind::Duration => {
                "is no duration: \"30s\" would be one; units are ms, s, m, h and d"
            }
            ValueKind::Size => {
                "is no size: \"64MiB\" would be one; units are B, kB, MB, GB, KiB, MiB and GiB"
            }
            _ => return self.mismatch(node, kind, here),
        };
        self.report
            .error(node.at, format!("\"{}\" {rule}", here.path));
        None
    }

    fn list(
        &mut self,
        node: &ConfigNode,
        items: &[ConfigNode],
        kind: &ValueKind,
        here: ReaderContext<'_>,
    ) -> Option<Value> {
        let ValueKind::List(kind) = kind else {
            return self.mismatch(node, kind, here);
        };
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", here.path);
            let here = here.below(&path);
            if matches!(item.content, ConfigValue::Null) {
                self.mismatch(item, kind, here);
            }
            list.extend(self.value(item, kind, here));
        }
        Some(Value::Array(list))
    }

    fn object(
        &mut self,
        node: &ConfigNode,
        entries: &[(ConfigKey, ConfigNode)],
        kind: &ValueKind,
        here: ReaderContext<'_>,
    ) -> Option<Value> {
        let (fields, is_open) = match kind {
            ValueKind::Struct(object) => (object.fields().collect(), !object.others.is_empty()),
            ValueKind::Map(_) => (Vec::new(), true),
            _ => return self.mismatch(node, kind, here),
        };
        let mut map = Map::new();
        for (key, value) in entries {
            let path = join(here.path, &key.text);
            let here = here.below(&path);
            let field = fields.iter().find(|field| field.name == key.text);
            let kind = match (field, kind) {
                (Some(field), _) => self.chosen(&field.kind, node),
                (None, ValueKind::Map(inner)) => *inner,
                (None, _) if is_open => &ValueKind::Any,
                (None, _) => {
                    self.unknown_key(key, &fields, here);
                    continue;
                }
            };
            if let ValueKind::Unused(why) = kind {
                let message = format!("\"{path}\" has no effect{why}");
                self.report.push(Severity::Notice, key.at, message);
                continue;
            }
            let value = self.value(value, kind, here);
            map.extend(value.map(|value| (key.text.clone(), value)));
        }
        for field in fields.iter().filter(|field| field.is_required) {
            let is_given = |(key, value): &(ConfigKey, ConfigNode)| {
                key.text == field.name && !matches!(value.content, ConfigValue::Null)
            };
            if !entries.iter().any(is_given) {
                let message = format!("\"{}\" is missing", join(here.path, field.name));
                self.report.error(node.at, message);
            }
        }
        Some(Value::Object(map))
    }

    /// The kind of a value of this object, where another key decides which it is.
    fn chosen<'k>(&self, kind: &'k ValueKind, object: &ConfigNode) -> &'k ValueKind {
        let ValueKind::By(key, cases) = kind else {
            return kind;
        };
        let text = match object.get(key).map(|node| &node.content) {
            Some(ConfigValue::Text(text)) => text.as_str(),
            _ => "",
        };
        let named = EnvVariables::named(text).and_then(|name| self.variables.get(name));
        let text = named.unwrap_or(text);
        let case = cases.iter().find(|(texts, _)| texts.contains(&text));
        case.map_or(&ValueKind::Map(&ValueKind::Any), |(_, kind)| kind)
    }

    fn any(&mut self, node: &ConfigNode, here: ReaderContext<'_>) -> Value {
        match &node.content {
            ConfigValue::Text(text) => {
                let text = self
                    .variable(node.at, text, here)
                    .unwrap_or_else(|| text.clone());
                Value::String(text)
            }
            ConfigValue::List(items) => items.iter().map(|item| self.any(item, here)).collect(),
            ConfigValue::Object(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, node)| (key.text.clone(), self.any(node, here)));
                Value::Object(entries.collect())
            }
            _ => node.value(),
        }
    }

    /// What a text stands for, if it is a variable.
    fn variable(
        &mut self,
        at: FilePosition,
        text: &str,
        here: ReaderContext<'_>,
    ) -> Option<String> {
        let name = EnvVariables::named(text).filter(|_| !here.is_verbatim)?;
        let value = self.variables.get(name);
        if value.is_none() {
            let message = format!("$ENV.{name} is not set and counts as \"\"");
            self.report.push(Severity::Warning, at, message);
        }
        Some(value.unwrap_or_default().to_owned())
    }

    fn unknown_key(&mut self, key: &ConfigKey, fields: &[&FieldSpec], here: ReaderContext<'_>) {
        let meant = suggestion::nearest(&key.text, fields.iter().map(|field| field.name));
        let severity = match fields
            .iter()
            .any(|field| field.is_guard && Some(field.name) == meant)
        {
            true => Severity::Error,
            false => self.unknown,
        };
        let hint = meant.map(|meant| format!("; did you mean \"{meant}\"?"));
        let hint = hint.unwrap_or_else(|| few_keys(fields));
        let message = format!("unknown key \"{}\"{hint}", here.path);
        self.report.push(severity, key.at, message);
    }

    fn mismatch(
        &mut self,
        node: &ConfigNode,
        kind: &ValueKind,
        here: ReaderContext<'_>,
    ) -> Option<Value> {
        let (expected, given) = (kind.name(), node.name());
        let message = match here.path {
            "" => format!("the file must hold {expected}, not {given}"),
            path => format!("\"{path}\" must be {expected}, not {given}"),
        };
        self.unfit(node, &message, "", here)
    }

    /// Tells of a value that is not of its kind.
    fn unfit(
        &mut self,
        node: &ConfigNode,
        message: &str,
        hint: &str,
        here: ReaderContext<'_>,
    ) -> Option<Value> {
        let (severity, outcome) = match here.is_optional {
            true => (self.unknown, ": it is left out"),
            false => (Severity::Error, ""),
        };
        let message = format!("{message}{outcome}{hint}");
        self.report.push(severity, node.at, message);
        None
    }
}

/// Whether a value is of a kind as far as can be seen from the outside.
fn resembles(node: &ConfigNode, kind: &ValueKind) -> bool {
    match (&node.content, kind) {
        (_, ValueKind::Verbatim(inner) | ValueKind::Optional(inner)) => resembles(node, inner),
        (_, ValueKind::Either(kinds)) => kinds.iter().any(|kind| resembles(node, kind)),
        (ConfigValue::Null, _) | (_, ValueKind::Any) => true,
        (ConfigValue::Text(_), kind) => matches!(
            kind,
            ValueKind::Text
                | ValueKind::Pattern
                | ValueKind::OneOf(_)
                | ValueKind::Duration
                | ValueKind::Size
        ),
        (ConfigValue::Boolean(_), kind) => matches!(kind, ValueKind::Boolean),
        (ConfigValue::Number(number), kind) => kind.takes(number),
        (ConfigValue::List(_), kind) => matches!(kind, ValueKind::List(_)),
        (ConfigValue::Object(_), kind) => matches!(
            kind,
            ValueKind::Struct(_) | ValueKind::Map(_) | ValueKind::With(..) | ValueKind::By(..)
        ),
    }
}

/// All keys that there may be, where they are few.
fn few_keys(fields: &[&FieldSpec]) -> String {
    let mut names = Vec::new();
    for field in fields {
        if !matches!(field.kind, ValueKind::Unused(_)) {
            names.push(field.name);
        }
    }
    match names.len() {
        1..=FEW_KEYS => format!("; there are {}", names.join(", ")),
        _ => String::new(),
    }
}

fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn number_of(text: &str) -> Option<Number> {
    text.parse::<Number>().ok()
}
