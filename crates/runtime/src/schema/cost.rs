//! What checking a value costs, counted before it is done. The check itself remembers nothing and cannot be stopped, so a
//! schema of forty lines that names its parts twice could keep it busy for years.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Schemas, their keywords and what these look at, at most.
const STEPS: usize = 500_000;
/// So many bytes of a text are looked at in a step.
const BYTES: usize = 256;
/// Schemas within a schema, at most: before the check each is sought among all others, by its place.
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
/// but for patterns: they count as the text that is sought through, whatever their own size is.
pub fn afford(schema: &Value, value: &Value) -> Result<(), String> {
    let mut walk = SchemaWalk::of(schema);
    if walk.schemas > SCHEMAS {
        return Err(format!("it has more than {SCHEMAS} parts"));
    }
    walk.visit(schema, value, 0)
}

/// A way through a schema, along a value.
struct SchemaWalk<'a> {
    /// The schemas that `#` may stand for.
    wholes: Vec<&'a Value>,
    /// Those with names of their own.
    named: BTreeMap<&'a str, Vec<&'a Value>>,
    /// How many there are, those with long places more than once.
    schemas: usize,
    steps: usize,
}

impl<'a> SchemaWalk<'a> {
    fn of(schema: &'a Value) -> Self {
        let mut walk = Self {
            wholes: vec![schema],
            named: BTreeMap::new(),
            schemas: 0,
            steps: 0,
        };
        walk.name(schema, 0);
        walk
    }

    /// Finds what references may lead to. The place is so many bytes long.
    fn name(&mut self, value: &'a Value, place: usize) {
        if value.is_object() || value.is_boolean() {
            self.schemas += 1 + place / BYTES;
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.name(item, place + 1)),
            Value::Object(fields) => {
                for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                    let Some(text) = fields.get(key).and_then(Value::as_str) else {
                        continue;
                    };
                    let name = text.rsplit('#').next().unwrap_or_default();
                    self.named.entry(name).or_default().push(value);
                    if key.ends_with("id") && place > 0 {
                        self.wholes.push(value);
                    }
                }
                for (key, field) in fields {
                    self.name(field, place + 1 + key.len());
                }
            }
            _ => {}
        }
    }

    fn visit(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Result<(), String> {
        self.count(1 + breadth(value))?;
        if depth > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        let Some(fields) = schema.as_object() else {
            return Ok(());
        };
        self.count(fields.len())?;
        for (keyword, part) in fields {
            self.keyword((fields, keyword, part), value, depth + 1)?;
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        (schema, keyword, part): (&'a Map<String, Value>, &str, &'a Value),
        value: &Value,
        depth: usize,
    ) -> Result<(), String> {
        match (keyword, part) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(name)) => {
                let targets = self.targets(name, value)?;
                self.all(targets, value, depth)
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => self.all(parts, value, depth),
            ("not" | "if" | "then" | "else", part) => self.visit(part, value, depth),
            ("dependentSchemas" | "dependencies" | "dependentRequired", Value::Object(parts)) => {
                let lists = parts.values().filter(|part| part.is_array());
                self.count(names(parts) + lists.map(weight).sum::<usize>())?;
                let parts = parts
                    .iter()
                    .filter(|(name, part)| !part.is_array() && value.get(name).is_some());
                self.all(parts.map(|(_, part)| part), value, depth)
            }
            ("enum" | "const" | "required", part) => self.count(weight(part)),
            (_, part) => match value {
                Value::Object(fields) => self.fields((schema, keyword, part), fields, depth),
                Value::Array(items) => self.items((schema, keyword, part), items, depth),
                _ => Ok(()),
            },
        }
    }

    fn fields(
        &mut self,
        (schema, keyword, part): (&'a Map<String, Value>, &str, &'a Value),
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        let known = schema.get("properties").and_then(Value::as_object);
        let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
        match (keyword, part) {
            ("properties", Value::Object(parts)) => fields
                .iter()
                .filter_map(|(name, field)| Some((parts.get(name)?, field)))
                .try_for_each(|(part, field)| self.visit(part, field, depth)),
            ("patternProperties", Value::Object(parts)) => {
                self.count(parts.len().saturating_mul(1 + names(fields)))?;
                parts
                    .values()
                    .flat_map(|part| fields.values().map(move |field| (part, field)))
                    .try_for_each(|(part, field)| self.visit(part, field, depth))
            }
            ("additionalProperties", part) => fields
                .iter()
                .filter(|(name, _)| !is_known(name))
                .try_for_each(|(_, field)| self.visit(part, field, depth)),
            ("unevaluatedProperties", part) => fields
                .values()
                .try_for_each(|field| self.visit(part, field, depth)),
            ("propertyNames", part) => fields
                .keys()
                .try_for_each(|name| self.visit(part, &name.as_str().into(), depth)),
            _ => Ok(()),
        }
    }

    fn items(
        &mut self,
        (schema, keyword, part): (&'a Map<String, Value>, &str, &'a Value),
        items: &[Value],
        depth: usize,
    ) -> Result<(), String> {
        match (keyword, part) {
            ("items" | "prefixItems", Value::Array(parts)) => parts
                .iter()
                .zip(items)
                .try_for_each(|(part, item)| self.visit(part, item, depth)),
            ("uniqueItems", Value::Bool(true)) => {
                let all = items.iter().map(weight).sum::<usize>();
                self.count(all.saturating_mul(items.len().min(PAIRED)))
            }
            ("additionalItems", part) => {
                let first = schema.get("items").and_then(Value::as_array);
                items
                    .iter()
                    .skip(first.map_or(0, Vec::len))
                    .try_for_each(|item| self.visit(part, item, depth))
            }
            // Older drafts know no `prefixItems`, and apply `items` to the first ones too.
            ("items" | "contains" | "unevaluatedItems", part) => items
                .iter()
                .try_for_each(|item| self.visit(part, item, depth)),
            _ => Ok(()),
        }
    }

    fn all(
        &mut self,
        parts: impl IntoIterator<Item = &'a Value>,
        value: &Value,
        depth: usize,
    ) -> Result<(), String> {
        let mut parts = parts.into_iter();
        parts.try_for_each(|part| self.visit(part, value, depth))
    }

    /// All schemas that a reference may mean: within schemas with addresses of their own it means another one than outside.
    fn targets(&mut self, reference: &str, value: &Value) -> Result<Vec<&'a Value>, String> {
        let (place, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let is_outside = OF_SCHEMAS.iter().any(|known| place.starts_with(known));
        if is_outside {
            self.count(weight(value).saturating_mul(OF_SCHEMA))?;
        }
        if is_outside && self.named.is_empty() {
            return Ok(Vec::new());
        }
        let length = text(reference);
        self.count(length.saturating_mul(self.wholes.len()))?;
        let fragment = decoded(fragment);
        let found: Vec<&Value> = if fragment.is_empty() || fragment.starts_with('/') {
            let wholes = self.wholes.iter();
            wholes
                .filter_map(|whole| whole.pointer(&fragment))
                .collect()
        } else {
            let named = self.named.get(fragment.as_str()).cloned();
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

/// The text with `%3C` and the like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = &behind[byte.map_or(0, |_| 2)..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
