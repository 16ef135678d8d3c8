//! `x-process-args`: what a process gets of what a tool or resource was given.

use crate::schema::fill_in;
use serde_json::{Map, Value, json};

const WHOLE: &str = ":arguments";

/// What was given.
pub struct MappingInput {
    /// All of it, which is also the only argument where nothing is mapped.
    whole: Value,
    /// The variables of a resource's path and of its query, by the name that stands for each group.
    groups: Option<Value>,
}

impl MappingInput {
    /// The arguments of a tool.
    pub fn of_tool(arguments: Value) -> Self {
        Self {
            whole: arguments,
            groups: None,
        }
    }

    /// The variables of a resource, those of its path and those of its query.
    pub fn of_resource(
        path: &Map<String, Value>,
        query: Map<String, Value>,
        schema: Option<&Value>,
    ) -> Self {
        let mut whole = path.clone();
        whole.extend(query);
        let whole = fill_in(schema.unwrap_or(&Value::Null), Value::Object(whole));
        let query = whole.as_object().into_iter().flatten();
        let query = query.filter(|(name, _)| !path.contains_key(*name));
        let query: Map<String, Value> = query
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Self {
            groups: Some(json!({"uri": path, "query": query})),
            whole,
        }
    }

    /// What the process gets.
    pub fn arguments(&self, mapped: Option<&[Value]>) -> Vec<Value> {
        match mapped {
            None => vec![self.whole.clone()],
            Some(mapped) => mapped.iter().map(|one| self.argument(one)).collect(),
        }
    }

    fn argument(&self, mapped: &Value) -> Value {
        let Some(text) = mapped.as_str() else {
            return mapped.clone();
        };
        if text == WHOLE {
            return self.whole.clone();
        }
        let Some(path) = text.strip_prefix('$').filter(|path| is_path(path)) else {
            return mapped.clone();
        };
        let (from, path) = match (path.split_once('.'), &self.groups) {
            (Some(("args", path)), None) => (&self.whole, path),
            (Some((group @ ("uri" | "query"), path)), Some(groups)) => (&groups[group], path),
            _ => (&self.whole, path),
        };
        let mut found = Some(from);
        for name in path.split('.') {
            found = found.and_then(|value| value.get(name));
        }
        found.cloned().unwrap_or_default()
    }
}

/// `a.b`: anything else behind a `$` is a plain text, such as a price.
fn is_path(path: &str) -> bool {
    path.split('.').all(|name| {
        let mut letters = name.chars();
        let is_first = |letter: char| letter.is_alphabetic() || letter == '_';
        letters.next().is_some_and(is_first)
            && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_gets_what_is_mapped() {
        let given = MappingInput::of_tool(json!({"a": 1, "deep": {"b": [2]}}));
        let mapped = json!([
            ":arguments",
            "$args.a",
            "$args.deep.b",
            "$deep",
            "$gone",
            "$args.deep.gone",
            "$5",
            "text",
            7,
            null,
            "$a b"
        ]);
        let expected = json!([
            {"a": 1, "deep": {"b": [2]}}, 1, [2], {"b": [2]}, null, null, "$5", "text", 7, null, "$a b",
        ]);
        let arguments = given.arguments(Some(mapped.as_array().unwrap()));
        assert_eq!(Value::Array(arguments), expected);
        assert_eq!(given.arguments(None), [json!({"a": 1, "deep": {"b": [2]}})]);
        assert_eq!(given.arguments(Some(&[])), Vec::<Value>::new());
    }

    #[test]
    fn a_resource_gives_the_variables_of_its_path_and_of_its_query() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let schema =
            json!({"properties": {"check": {"default": "all"}, "deep": {"default": true}}});
        let (path, query) = (map(json!({"id": "7"})), map(json!({"check": "disk"})));
        let given = MappingInput::of_resource(&path, query, Some(&schema));
        let mapped = json!(["$uri.id", "$query.check", "$query.deep", "$query.id"]);
        let arguments = given.arguments(Some(mapped.as_array().unwrap()));
        assert_eq!(Value::Array(arguments), json!(["7", "disk", true, null]));
        assert_eq!(
            given.arguments(None),
            [json!({"id": "7", "check": "disk", "deep": true})]
        );
    }
}
