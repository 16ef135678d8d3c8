//! What checking a value costs, counted before it is done. The check itself remembers nothing and cannot be stopped, so a
//! schema of forty lines that names its parts twice could keep it busy for years.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Schemas that are applied to values, at most.
const STEPS: usize = 200_000;
/// Schemas within schemas, at most: each is a call within a call.
const DEPTH: usize = 256;
/// Where the schemas of schemas are, which are known without asking anybody.
const OF_SCHEMAS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// Whether the check can be afforded, or what of the schema forbids it. The count is never below what the check does.
pub fn bear(schema: &Value, value: &Value) -> Result<(), String> {
    let mut walk = Walk::of(schema);
    walk.visit(schema, value, 0)
}

/// A way through a schema, along a value.
struct Walk<'a> {
    /// The schemas that `#` may stand for.
    wholes: Vec<&'a Value>,
    /// Those with names of their own.
    named: BTreeMap<&'a str, Vec<&'a Value>>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn of(schema: &'a Value) -> Self {
        let mut walk = Self {
            wholes: vec![schema],
            named: BTreeMap::new(),
            steps: 0,
        };
        walk.name(schema, true);
        walk
    }

    /// Finds what references may lead to.
    fn name(&mut self, value: &'a Value, is_root: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.name(item, false)),
            Value::Object(fields) => {
                for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                    let Some(text) = fields.get(key).and_then(Value::as_str) else {
                        continue;
                    };
                    let name = text.rsplit('#').next().unwrap_or_default();
                    self.named.entry(name).or_default().push(value);
                    if key.ends_with("id") && !is_root {
                        self.wholes.push(value);
                    }
                }
                fields.values().for_each(|field| self.name(field, false));
            }
            _ => {}
        }
    }

    fn visit(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Result<(), String> {
        self.pay(1)?;
        if depth > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        let Some(fields) = schema.as_object() else {
            return Ok(());
        };
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
                let targets = self.targets(name)?;
                self.all(targets, value, depth)
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => self.all(parts, value, depth),
            ("not" | "if" | "then" | "else", part) => self.visit(part, value, depth),
            ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                let parts = parts.iter().filter(|(name, _)| value.get(name).is_some());
                self.all(parts.map(|(_, part)| part), value, depth)
            }
            ("enum" | "required", Value::Array(items)) => self.pay(items.len()),
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
            ("patternProperties", Value::Object(parts)) => parts
                .values()
                .flat_map(|part| fields.values().map(move |field| (part, field)))
                .try_for_each(|(part, field)| self.visit(part, field, depth)),
            ("additionalProperties", part) => fields
                .iter()
                .filter(|(name, _)| !is_known(name))
                .try_for_each(|(_, field)| self.visit(part, field, depth)),
            ("unevaluatedProperties", part) => fields
                .values()
                .try_for_each(|field| self.visit(part, field, depth)),
            // Of a name, which is a text, no part can be looked into.
            ("propertyNames", part) => fields
                .values()
                .try_for_each(|_| self.visit(part, &Value::Null, depth)),
            _ => Ok(()),
        }
    }

    fn items(
        &mut self,
        (schema, keyword, part): (&'a Map<String, Value>, &str, &'a Value),
        items: &[Value],
        depth: usize,
    ) -> Result<(), String> {
        let first = |name: &str| {
            schema
                .get(name)
                .and_then(Value::as_array)
                .map_or(0, Vec::len)
        };
        match (keyword, part) {
            ("items" | "prefixItems", Value::Array(parts)) => parts
                .iter()
                .zip(items)
                .try_for_each(|(part, item)| self.visit(part, item, depth)),
            ("items", part) => items
                .iter()
                .skip(first("prefixItems"))
                .try_for_each(|item| self.visit(part, item, depth)),
            ("additionalItems", part) => items
                .iter()
                .skip(first("items"))
                .try_for_each(|item| self.visit(part, item, depth)),
            ("contains" | "unevaluatedItems", part) => items
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
    fn targets(&self, reference: &str) -> Result<Vec<&'a Value>, String> {
        let (place, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let is_outside = OF_SCHEMAS.iter().any(|known| place.starts_with(known));
        if is_outside && self.named.is_empty() {
            return Ok(Vec::new());
        }
        let fragment = decoded(fragment);
        let found: Vec<&Value> = if fragment.is_empty() || fragment.starts_with('/') {
            let wholes = self.wholes.iter();
            wholes
                .filter_map(|whole| whole.pointer(&fragment))
                .collect()
        } else {
            let named = self.named.get(fragment.as_str());
            named.into_iter().flatten().copied().collect()
        };
        match found.is_empty() {
            true => Err(format!("its reference \"{reference}\" leads nowhere")),
            false => Ok(found),
        }
    }

    fn pay(&mut self, steps: usize) -> Result<(), String> {
        self.steps += steps;
        match self.steps > STEPS {
            true => Err(format!("a check would take more than {STEPS} steps")),
            false => Ok(()),
        }
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
mod tests {
    use super::{DEPTH, bear};
    use crate::schema::{Wrong, check};
    use serde_json::{Value, json};
    use std::time::{Duration, Instant};

    const STEPS: &str = "a check would take more than 200000 steps";

    /// Forty definitions, each of which names the next one twice.
    fn doubling(keyword: &str, refer: impl Fn(usize) -> Value) -> Value {
        let mut parts = json!({"a40": {"$anchor": "n40", "type": "object"}});
        for at in 0..40 {
            let next = refer(at + 1);
            parts[format!("a{at}")] = json!({"$anchor": format!("n{at}"), keyword: [next, next]});
        }
        json!({"$ref": "#/$defs/a0", "$defs": parts})
    }

    #[test]
    fn schemas_that_take_years_are_refused_at_once() {
        let by_pointer = |at: usize| json!({"$ref": format!("#/$defs/a{at}")});
        let by_code = |at: usize| json!({"$ref": format!("#/%24defs/%61{at}")});
        let by_name = |at: usize| json!({"$ref": format!("#n{at}")});
        let by_late_name = |at: usize| json!({"$dynamicRef": format!("#n{at}")});
        let mut addressed = doubling("allOf", |at| json!({"$ref": format!("t:x#/$defs/a{at}")}));
        addressed["$id"] = "t:x".into();
        for schema in [
            doubling("allOf", by_pointer),
            doubling("oneOf", by_pointer),
            doubling("allOf", by_code),
            doubling("allOf", by_name),
            doubling("allOf", by_late_name),
            json!({"allOf": [addressed, addressed]}),
            addressed,
        ] {
            let began = Instant::now();
            let found = check(&schema, &json!({}));
            assert_eq!(found, Err(Wrong::Schema(STEPS.to_owned())), "{schema}");
            assert!(began.elapsed() < Duration::from_secs(5));
        }
    }

    #[test]
    fn a_schema_that_doubles_with_each_level_of_a_value_is_refused_for_deep_values_alone() {
        let next = json!({"properties": {"next": {"$ref": "#"}}});
        let schema = json!({"allOf": [next, next]});
        let mut value = json!({});
        for depth in 0..40 {
            let found = bear(&schema, &value);
            assert_eq!(found.is_ok(), depth < 15, "{depth}: {found:?}");
            value = json!({"next": value});
        }
    }

    #[test]
    fn what_refers_to_itself_for_ever_is_refused() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#"}}}),
        ] {
            let why = format!("it is nested deeper than {DEPTH} levels");
            assert_eq!(check(&schema, &json!({})), Err(Wrong::Schema(why)));
        }
    }

    #[test]
    fn the_deepest_schema_that_is_taken_is_checked_on_the_stack_of_a_worker() {
        let mut parts = json!({"p0": {"type": "string"}});
        for at in 1..DEPTH {
            parts[format!("p{at}")] = json!({"$ref": format!("#/$defs/p{}", at - 1)});
        }
        let last = format!("#/$defs/p{}", DEPTH - 1);
        let schema = json!({"$ref": last, "$defs": parts});
        let found = check(&schema, &json!(7));
        let wrong = "at '': want string, but got number";
        assert_eq!(found, Err(Wrong::Value(wrong.to_owned())));
    }

    #[test]
    fn ordinary_schemas_bear_large_values() {
        let tree = json!({"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
            "name": {"type": "string"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}, "rows": {"type": "array", "items": {"$ref": "#/$defs/row%3C1%3E"}}},
            "$defs": {"row<1>": {"type": "object", "properties": {"id": {"type": "integer"}}}}});
        let mut value = json!({"name": "leaf"});
        for _ in 0..12 {
            value = json!({"name": "branch", "left": value, "right": {"name": "leaf"}});
        }
        let row = json!({"id": 1});
        value["rows"] = vec![row; 20_000].into();
        assert_eq!(check(&tree, &value), Ok(()));
        let schema = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
        assert_eq!(check(&schema, &json!({"type": "object"})), Ok(()));
    }
}
