//! `x-process-args`: what a process gets of what a tool or resource was given.

use super::uri::UriVariables;
use crate::app::ProcessArgument;
use crate::error::{Error, Result};
use crate::schema::fill_in;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

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

    /// The variables of a resource, with the defaults of their schema.
    pub fn of_resource(variables: &UriVariables, schema: &Value) -> Result<Self> {
        let path = values(&variables.path);
        let mut given = path.clone();
        given.extend(values(&variables.query));
        let whole = fill_in(schema, Value::Object(given));
        let whole = whole.map_err(|why| Error::invalid("uri", why))?;
        let mut query = whole.as_object().cloned().unwrap_or_default();
        query.retain(|name, _| !path.contains_key(name));
        Ok(Self {
            groups: Some(json!({"uri": path, "query": query})),
            whole,
        })
    }

    /// What the process gets.
    pub fn arguments(&self, mapped: Option<&[ProcessArgument]>) -> Vec<Value> {
        match mapped {
            None => vec![self.whole.clone()],
            Some(mapped) => mapped.iter().map(|one| self.argument(one)).collect(),
        }
    }

    fn argument(&self, mapped: &ProcessArgument) -> Value {
        match mapped {
            ProcessArgument::Whole => self.whole.clone(),
            ProcessArgument::Path(names) => self.find(names).cloned().unwrap_or_default(),
            ProcessArgument::Plain(value) => value.clone(),
        }
    }

    fn find(&self, names: &[String]) -> Option<&Value> {
        let (group, inner) = names.split_first()?;
        let group = match (group.as_str(), &self.groups) {
            _ if inner.is_empty() => None,
            ("args", None) => Some(&self.whole),
            (group, Some(groups)) => groups.get(group),
            _ => None,
        };
        let (from, names) = match group {
            Some(group) => (group, inner),
            None => (&self.whole, names),
        };
        names.iter().try_fold(from, |value, name| value.get(name))
    }
}

fn values(texts: &IndexMap<String, String>) -> Map<String, Value> {
    let values = texts.iter();
    let values = values.map(|(name, text)| (name.clone(), text.as_str().into()));
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(entries: &Value) -> Vec<ProcessArgument> {
        let entries = entries.as_array().unwrap().iter();
        entries.cloned().map(ProcessArgument::from).collect()
    }

    #[test]
    fn a_process_gets_what_is_mapped() {
        let given = MappingInput::of_tool(json!({"a": 1, "deep": {"b": [2]}}));
        let entries = json!([
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
        let arguments = given.arguments(Some(&mapped(&entries)));
        assert_eq!(Value::Array(arguments), expected);
        assert_eq!(given.arguments(None), [json!({"a": 1, "deep": {"b": [2]}})]);
        assert_eq!(given.arguments(Some(&[])), Vec::<Value>::new());
    }

    #[test]
    fn a_resource_gives_the_variables_of_its_path_and_of_its_query() {
        let text = |name: &str, text: &str| IndexMap::from([(name.to_owned(), text.to_owned())]);
        let schema =
            json!({"properties": {"check": {"default": "all"}, "deep": {"default": true}}});
        let variables = UriVariables {
            path: text("id", "7"),
            query: text("check", "disk"),
        };
        let given = MappingInput::of_resource(&variables, &schema).unwrap();
        let entries = json!(["$uri.id", "$query.check", "$query.deep", "$query.id"]);
        let arguments = given.arguments(Some(&mapped(&entries)));
        assert_eq!(Value::Array(arguments), json!(["7", "disk", true, null]));
        assert_eq!(
            given.arguments(None),
            [json!({"id": "7", "check": "disk", "deep": true})]
        );
    }
}
