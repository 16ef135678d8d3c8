//! The one place that judges a file: reads its tree by a table of known keys.

use super::node::{Content, Key, Node, Spot};
use super::table::{Field, Kind};
use crate::app::problem::{Report, Severity};
use crate::app::variables::Variables;
use ambit_storage::memory::Ttl;
use ambit_storage::near;
use regex::Regex;
use serde_json::{Map, Number, Value};

/// Reads one file by a table.
pub struct Reader<'a> {
    /// What `$ENV.NAME` stands for.
    pub variables: &'a Variables,
    /// What is wrong goes there. Values are never told, because they may be secrets.
    pub report: &'a mut Report,
}

/// Where in the file the reader is.
#[derive(Clone, Copy)]
struct Here<'a> {
    /// The keys that lead there, joined by dots.
    path: &'a str,
    /// Whether variables are left as they are.
    is_verbatim: bool,
}

impl Reader<'_> {
    /// The plain value, as far as it is right. `null` is as good as not given.
    pub fn read(&mut self, node: &Node, kind: &Kind) -> Option<Value> {
        let here = Here {
            path: "",
            is_verbatim: false,
        };
        self.value(node, kind, here)
    }

    fn value(&mut self, node: &Node, kind: &Kind, here: Here<'_>) -> Option<Value> {
        match kind {
            Kind::Verbatim(inner) => {
                let is_verbatim = true;
                return self.value(
                    node,
                    inner,
                    Here {
                        is_verbatim,
                        ..here
                    },
                );
            }
            Kind::Any => return Some(self.any(node, here)),
            Kind::Either(kinds) => {
                let fitting = kinds.iter().find(|kind| kind.resembles(node));
                return match fitting {
                    Some(kind) => self.value(node, kind, here),
                    None => self.mismatch(node, kind, here),
                };
            }
            Kind::With(key, with, without) => {
                let kind = if node.get(key).is_some() {
                    with
                } else {
                    without
                };
                return self.value(node, kind, here);
            }
            Kind::By(key, choose) => {
                let text = match node.get(key).map(|node| &node.content) {
                    Some(Content::Text(text)) => text.as_str(),
                    _ => "",
                };
                let named = Variables::named(text).and_then(|name| self.variables.get(name));
                return self.value(node, choose(named.unwrap_or(text)), here);
            }
            _ => {}
        }
        match &node.content {
            Content::Null => None,
            Content::Text(text) => self.text(node, text, kind, here),
            Content::List(items) => self.list(node, items, kind, here),
            Content::Object(entries) => self.object(node, entries, kind, here),
            Content::Boolean(flag) if matches!(kind, Kind::Boolean) => Some(Value::Bool(*flag)),
            Content::Number(number) if kind.takes(number) => Some(Value::Number(number.clone())),
            Content::Boolean(_) | Content::Number(_) => self.mismatch(node, kind, here),
        }
    }

    fn text(&mut self, node: &Node, text: &str, kind: &Kind, here: Here<'_>) -> Option<Value> {
        let found = self.variable(node.at, text, here);
        let is_variable = found.is_some();
        let text = found.unwrap_or_else(|| text.to_owned());
        match kind {
            Kind::Text => Some(Value::String(text)),
            _ if is_variable && text.is_empty() => None,
            Kind::Pattern => {
                if let Err(error) = Regex::new(&text) {
                    let reason = error.to_string();
                    let reason = reason.lines().last().unwrap_or_default();
                    let reason = reason.trim_start_matches("error: ");
                    let message = format!("\"{}\" is no regular expression: {reason}", here.path);
                    self.report.error(node.at, message);
                }
                Some(Value::String(text))
            }
            Kind::OneOf(names) if names.contains(&text.as_str()) => Some(Value::String(text)),
            Kind::OneOf(names) => {
                let hint = near::hint(&text, names.iter().copied());
                let expected = kind.name();
                let message = format!("\"{}\" must be {expected}{hint}", here.path);
                self.report.error(node.at, message);
                None
            }
            Kind::Duration if Ttl::parse(&text).is_ok() => Some(Value::String(text)),
            Kind::Size if super::fields::bytes(&text).is_some() => Some(Value::String(text)),
            Kind::Boolean if is_variable && matches!(text.as_str(), "true" | "false") => {
                Some(Value::Bool(text == "true"))
            }
            _ => match number_of(&text).filter(|number| is_variable && kind.takes(number)) {
                Some(number) => Some(Value::Number(number)),
                None => self.mismatch(node, kind, here),
            },
        }
    }

    fn list(&mut self, node: &Node, items: &[Node], kind: &Kind, here: Here<'_>) -> Option<Value> {
        let Kind::List(kind) = kind else {
            return self.mismatch(node, kind, here);
        };
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", here.path);
            let here = Here {
                path: &path,
                ..here
            };
            if matches!(item.content, Content::Null) {
                self.mismatch(item, kind, here);
            }
            list.extend(self.value(item, kind, here));
        }
        Some(Value::Array(list))
    }

    fn object(
        &mut self,
        node: &Node,
        entries: &[(Key, Node)],
        kind: &Kind,
        here: Here<'_>,
    ) -> Option<Value> {
        let (fields, is_open) = match kind {
            Kind::Object(fields) => (*fields, false),
            Kind::Open(fields) => (*fields, true),
            Kind::Map(_) => (&[][..], true),
            _ => return self.mismatch(node, kind, here),
        };
        let mut map = Map::new();
        for (key, value) in entries {
            let path = join(here.path, &key.text);
            let here = Here {
                path: &path,
                ..here
            };
            let field = fields.iter().find(|field| field.name == key.text);
            let kind = match (field, kind) {
                (Some(field), _) => &field.kind,
                (None, Kind::Map(inner)) => *inner,
                (None, _) if is_open => continue,
                (None, _) => {
                    self.unknown(key, fields, here);
                    continue;
                }
            };
            if let Kind::Unused(why) = kind {
                let message = format!("\"{path}\" has no effect{why}");
                self.report.push(Severity::Notice, key.at, message);
                continue;
            }
            let value = self.value(value, kind, here);
            map.extend(value.map(|value| (key.text.clone(), value)));
        }
        for field in fields.iter().filter(|field| field.is_required) {
            let is_given = |(key, value): &(Key, Node)| {
                key.text == field.name && !matches!(value.content, Content::Null)
            };
            if !entries.iter().any(is_given) {
                let message = format!("\"{}\" is missing", join(here.path, field.name));
                self.report.error(node.at, message);
            }
        }
        Some(Value::Object(map))
    }

    fn any(&mut self, node: &Node, here: Here<'_>) -> Value {
        match &node.content {
            Content::Text(text) => {
                let text = self
                    .variable(node.at, text, here)
                    .unwrap_or_else(|| text.clone());
                Value::String(text)
            }
            Content::List(items) => items.iter().map(|item| self.any(item, here)).collect(),
            Content::Object(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, node)| (key.text.clone(), self.any(node, here)));
                Value::Object(entries.collect())
            }
            _ => node.value(),
        }
    }

    /// What a text stands for, if it is a variable.
    fn variable(&mut self, at: Spot, text: &str, here: Here<'_>) -> Option<String> {
        let name = Variables::named(text).filter(|_| !here.is_verbatim)?;
        let value = self.variables.get(name);
        if value.is_none() {
            let message = format!("$ENV.{name} is not set and counts as \"\"");
            self.report.push(Severity::Warning, at, message);
        }
        Some(value.unwrap_or_default().to_owned())
    }

    fn unknown(&mut self, key: &Key, fields: &[Field], here: Here<'_>) {
        let hint = near::hint(&key.text, fields.iter().map(|field| field.name));
        let message = format!("unknown key \"{}\"{hint}", here.path);
        self.report.error(key.at, message);
    }

    fn mismatch(&mut self, node: &Node, kind: &Kind, here: Here<'_>) -> Option<Value> {
        let (expected, given) = (kind.name(), node.name());
        let message = match here.path {
            "" => format!("the file must hold {expected}, not {given}"),
            path => format!("\"{path}\" must be {expected}, not {given}"),
        };
        self.report.error(node.at, message);
        None
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
