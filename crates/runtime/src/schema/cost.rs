//! What checking a value costs, counted before it is done. The check itself remembers nothing and cannot be stopped, so a
//! schema of forty lines that names its parts twice could keep it busy for years.

mod patterns;

use patterns::{check_patterns, patterns_of, reading_steps, reading_steps_of_all};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Schemas, their keywords and what these look at, at most.
const STEPS: usize = 500_000;
/// So many bytes of a text are looked at in a step.
const BYTES: usize = 256;
/// Schemas within a schema, at most: before the check each is sought among all others, by its pointer.
const SCHEMAS: usize = 10_000;
/// Up to so many items are compared with each other, and more by what they are hashed to.
const PAIRED: usize = 20;
/// Schemas within schemas, at most: each is a call within a call.
const DEPTH: usize = 256;
/// Steps that a schema of schemas takes for each part of a value, at most.
const OF_SCHEMA: usize = 100;
/// Where the schemas of schemas are, which are known without asking anybody.
const OF_SCHEMAS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// Whether the check can be afforded, or what of the schema forbids it. The count is never below what the check does,
/// but for patterns: each is bounded by itself, and takes a step for each byte that it is sought in.
pub fn check_cost(schema: &Value, value: &Value) -> Result<(), String> {
    let mut walk = SchemaWalk::of(schema);
    if walk.schemas > SCHEMAS {
        return Err(format!("it has more than {SCHEMAS} parts"));
    }
    walk.visit(schema, value, 0)?;
    check_patterns(&walk.patterns)
}

/// A way through a schema, along a value.
struct SchemaWalk<'a> {
    /// The schemas that `#` may stand for.
    roots: Vec<&'a Value>,
    /// Those with names of their own.
    named: BTreeMap<&'a str, Vec<&'a Value>>,
    /// All patterns, also those of what may be no schema: a reference can lead there.
    patterns: Vec<&'a str>,
    /// How many schemas there are, those with long pointers more than once.
    schemas: usize,
    steps: usize,
}

impl<'a> SchemaWalk<'a> {
    fn of(schema: &'a Value) -> Self {
        let mut walk = Self {
            roots: vec![schema],
            named: BTreeMap::new(),
            patterns: Vec::new(),
            schemas: 0,
            steps: 0,
        };
        walk.name(schema, 0);
        walk
    }

    /// Finds what references may lead to. The pointer to it is so many bytes long.
    fn name(&mut self, value: &'a Value, pointer: usize) {
        if value.is_object() || value.is_boolean() {
            self.schemas += 1 + pointer / BYTES;
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.name(item, pointer + 1)),
            Value::Object(fields) => {
                self.patterns.extend(patterns_of(fields));
                for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                    let Some(text) = fields.get(key).and_then(Value::as_str) else {
                        continue;
                    };
                    let name = text.rsplit('#').next().unwrap_or_default();
                    self.named.entry(name).or_default().push(value);
                    if key.ends_with("id") && pointer > 0 {
                        self.roots.push(value);
                    }
                }
                for (key, field) in fields {
                    self.name(field, pointer + 1 + key.len());
                }
            }
            _ => {}
        }
    }

    /// Counts what the check does with a schema and a value, and with what lies in both.
    fn visit(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Result<(), String> {
        self.count(1 + breadth(value))?;
        if depth > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        for (keyword, part) in schema.as_object().into_iter().flatten() {
            self.count(1)?;
            match (keyword.as_str(), part) {
                ("$defs" | "definitions", _) => {}
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(name)) => {
                    let targets = self.targets(name, value)?;
                    self.all(targets, [value], depth)?;
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                    self.all(parts, [value], depth)?;
                }
                ("not" | "if" | "then" | "else", _) => self.all([part], [value], depth)?,
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    self.count(weight(part))?;
                    self.all(parts.values(), [value], depth)?;
                }
                ("pattern", _) => {
                    let sought = value.as_str().map_or(0, str::len);
                    self.count(weight(part).saturating_add(sought))?;
                }
                ("format", Value::String(format)) if format == "regex" => {
                    self.count(value.as_str().map_or(1, reading_steps))?;
                }
                (keyword, _) => match value {
                    Value::Object(fields) => self.fields(keyword, part, fields, depth)?,
                    Value::Array(items) => self.items(keyword, part, items, depth)?,
                    _ => self.count(weight(part))?,
                },
            }
        }
        Ok(())
    }

    fn fields(
        &mut self,
        keyword: &str,
        part: &'a Value,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        match (keyword, part) {
            ("properties", Value::Object(parts)) => fields
                .iter()
                .try_for_each(|(name, field)| self.all(parts.get(name), [field], depth)),
            ("patternProperties", Value::Object(parts)) => {
                let sought: usize = fields.keys().map(String::len).sum();
                self.count(parts.len().saturating_mul(1 + fields.len() + sought))?;
                self.all(parts.values(), fields.values(), depth)
            }
            ("additionalProperties" | "unevaluatedProperties", _) => {
                self.all([part], fields.values(), depth)
            }
            ("propertyNames", _) => fields
                .keys()
                .try_for_each(|name| self.all([part], [&name.as_str().into()], depth)),
            _ => self.count(weight(part)),
        }
    }

    fn items(
        &mut self,
        keyword: &str,
        part: &'a Value,
        items: &[Value],
        depth: usize,
    ) -> Result<(), String> {
        match (keyword, part) {
            ("items" | "prefixItems", Value::Array(parts)) => parts
                .iter()
                .zip(items)
                .try_for_each(|(part, item)| self.all([part], [item], depth)),
            // Older drafts know no `prefixItems`, and apply `items` to the first ones too.
            ("items" | "contains" | "additionalItems" | "unevaluatedItems", _) => {
                self.all([part], items, depth)
            }
            ("uniqueItems", Value::Bool(true)) => {
                let all: usize = items.iter().map(weight).sum();
                self.count(all.saturating_mul(items.len().min(PAIRED)))
            }
            _ => self.count(weight(part)),
        }
    }

    /// Each of the schemas for each of the values.
    fn all<'v>(
        &mut self,
        schemas: impl IntoIterator<Item = &'a Value>,
        values: impl IntoIterator<Item = &'v Value>,
        depth: usize,
    ) -> Result<(), String> {
        let values: Vec<&Value> = values.into_iter().collect();
        for schema in schemas {
            for value in &values {
                self.visit(schema, value, depth + 1)?;
            }
        }
        Ok(())
    }

    /// All schemas that a reference may mean: within schemas with addresses of their own it means another one than outside.
    fn targets(&mut self, reference: &str, value: &Value) -> Result<Vec<&'a Value>, String> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let is_outside = OF_SCHEMAS.iter().any(|known| address.starts_with(known));
        if is_outside {
            let steps = weight(value).saturating_mul(OF_SCHEMA);
            self.count(steps.saturating_add(reading_steps_of_all(value)))?;
        }
        if is_outside && self.named.is_empty() {
            return Ok(Vec::new());
        }
        let length = text(reference);
        self.count(length.saturating_mul(self.roots.len()))?;
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        let found: Vec<&Value> = if fragment.is_empty() || fragment.starts_with('/') {
            let roots = self.roots.iter();
            roots.filter_map(|root| root.pointer(&fragment)).collect()
        } else {
            let named = self.named.get(&*fragment).cloned();
            let named = named.unwrap_or_default();
            self.count(named.len())?;
            named
        };
        match found.is_empty() {
            true => Err(format!("its reference \"{reference}\" leads nowhere")),
            false => Ok(found),
        }
    }

    fn count(&mut self, steps: usize) -> Result<(), String> {
        self.steps = self.steps.saturating_add(steps);
        match self.steps > STEPS {
            true => Err(format!("a check would take more than {STEPS} steps")),
            false => Ok(()),
        }
    }
}

/// Steps that it takes to look at a text.
fn text(text: &str) -> usize {
    1 + text.len() / BYTES
}

/// Steps that it takes to look at all names.
fn names(fields: &Map<String, Value>) -> usize {
    fields.keys().map(|name| text(name)).sum()
}

/// Steps that every schema may take for a value, whatever it says: it goes over all fields, and what is not evaluated yet
/// is noted for all items.
fn breadth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => names(fields),
        Value::Array(items) => items.len(),
        Value::String(all) => all.len() / BYTES,
        _ => 0,
    }
}

/// Steps that it takes to compare a value, at every depth.
fn weight(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + names(fields) + fields.values().map(weight).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::String(all) => text(all),
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
