//! Tools as models are told of them, and their calls.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The type of tools that are functions, and the field that holds them.
const FUNCTION: &str = "function";

/// A call of a tool.
///
/// By itself it is written as the journal of a turn has it, `{id, name, arguments}`; in a message it has OpenAI's shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, if all went well.
    pub arguments: String,
    /// Other fields; those of `function` stand below this name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A tool that a model may call, written in OpenAI's shape: `{type, function: {name, description, parameters}}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDefinition {
    /// What the model calls it; empty for a tool that is no function.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub parameters: Option<Value>,
    /// Other fields; those of `function` stand below this name.
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// Reads OpenAI's shape, `{id, type, function: {name, arguments}}`; a call without a name is given back.
    pub fn from_message(call: Value) -> Result<Self, Value> {
        let mut call = match call {
            Value::Object(fields) if is_call(&fields) => fields,
            call => return Err(call),
        };
        let mut function = take_function(&mut call);
        let id = take_text(&mut call, "id").unwrap_or_default();
        // One that is no text is none.
        call.shift_remove("id");
        let arguments = function.shift_remove("arguments").unwrap_or_default();
        let read = Self {
            id,
            name: take_text(&mut function, "name").unwrap_or_default(),
            arguments: match arguments {
                Value::String(text) => text,
                value => value.to_string(),
            },
            extra: joined(call, function),
        };
        Ok(read)
    }

    /// OpenAI's shape.
    pub fn to_message(&self) -> Value {
        let named = [("name", &self.name), ("arguments", &self.arguments)];
        let named = named.map(|(name, text)| (name.to_owned(), text.as_str().into()));
        written(Some(&self.id), named.into_iter().collect(), &self.extra)
    }
}

impl ToolDefinition {
    /// A tool that is a function.
    pub fn function(name: &str, description: &str, parameters: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            parameters: Some(parameters),
            extra: Map::new(),
        }
    }

    /// OpenAI's shape.
    pub fn to_json(&self) -> Value {
        let name = Some(self.name.as_str()).filter(|name| !name.is_empty());
        let fields = [
            ("name", name.map(Value::from)),
            ("description", self.description.as_deref().map(Value::from)),
            ("parameters", self.parameters.clone()),
        ];
        let fields = fields.into_iter();
        let fields = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        written(None, fields.collect(), &self.extra)
    }
}

impl From<Map<String, Value>> for ToolDefinition {
    fn from(mut tool: Map<String, Value>) -> Self {
        if function_name(&tool).is_none_or(str::is_empty) {
            return Self {
                extra: tool,
                ..Self::default()
            };
        }
        let mut function = take_function(&mut tool);
        let has_schema = function.get("parameters").is_some_and(|it| !it.is_null());
        let schema = has_schema.then(|| function.shift_remove("parameters"));
        Self {
            name: take_text(&mut function, "name").unwrap_or_default(),
            description: take_text(&mut function, "description"),
            parameters: schema.flatten(),
            extra: joined(tool, function),
        }
    }
}

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

/// The name of the function in an object of OpenAI's shape.
fn function_name(fields: &Map<String, Value>) -> Option<&str> {
    fields.get(FUNCTION)?.as_object()?.get("name")?.as_str()
}

fn is_call(fields: &Map<String, Value>) -> bool {
    function_name(fields).is_some()
}

fn take_text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.get_mut(name)? {
        Value::String(text) => {
            let text = std::mem::take(text);
            fields.shift_remove(name);
            Some(text)
        }
        _ => None,
    }
}

/// Takes the function out of an object of OpenAI's shape.
fn take_function(fields: &mut Map<String, Value>) -> Map<String, Value> {
    if fields.get("type").is_some_and(|kind| kind == FUNCTION) {
        fields.shift_remove("type");
    }
    match fields.shift_remove(FUNCTION) {
        Some(Value::Object(function)) => function,
        _ => Map::new(),
    }
}

/// What is left of an object and of its function, in one.
fn joined(mut object: Map<String, Value>, function: Map<String, Value>) -> Map<String, Value> {
    if !function.is_empty() {
        object.insert(FUNCTION.to_owned(), function.into());
    }
    object
}

/// An object of OpenAI's shape with this id and function, and all that has no field here.
fn written(
    id: Option<&str>,
    mut function: Map<String, Value>,
    extra: &Map<String, Value>,
) -> Value {
    let mut object = Map::new();
    object.extend(id.map(|id| ("id".to_owned(), id.into())));
    let is_function = !function.is_empty();
    if is_function {
        object.insert("type".to_owned(), FUNCTION.into());
        if let Some(Value::Object(further)) = extra.get(FUNCTION) {
            function.extend(further.clone());
        }
        object.insert(FUNCTION.to_owned(), function.into());
    }
    let others = extra.iter();
    let others = others.filter(|(name, _)| !is_function || *name != FUNCTION);
    object.extend(others.map(|(name, value)| (name.clone(), value.clone())));
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_read_and_written_in_two_shapes() {
        let message = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}});
        let call = ToolCall::from_message(message.clone()).unwrap();
        assert_eq!(call.to_message().to_string(), message.to_string());
        let journal = json!({"id": "c", "name": "f", "arguments": "{\"a\": 1}"});
        assert_eq!(json!(call).to_string(), journal.to_string());
        assert_eq!(ToolCall::deserialize(journal).unwrap(), call);
    }

    #[test]
    fn what_a_server_adds_to_a_call_goes_back_to_it() {
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", "strict": true},
            "index": 0, "extra_content": {"google": {"thought_signature": "s"}}});
        let read = ToolCall::from_message(call.clone()).unwrap();
        assert_eq!(read.to_message(), call);
    }

    #[test]
    fn arguments_that_are_no_text_become_one() {
        for (function, arguments) in [
            (json!({"name": "f", "arguments": {"a": 1.0}}), "{\"a\":1.0}"),
            (json!({"name": "f", "arguments": null}), "null"),
            (json!({"name": "f"}), "null"),
        ] {
            let call = json!({"id": "c", "function": function});
            assert_eq!(ToolCall::from_message(call).unwrap().arguments, arguments);
        }
    }

    #[test]
    fn a_call_without_a_name_is_given_back() {
        for call in [
            json!({"id": "c", "type": "function"}),
            json!({"id": "c", "function": {"arguments": "{}"}}),
            json!("c"),
        ] {
            assert_eq!(ToolCall::from_message(call.clone()), Err(call));
        }
    }

    #[test]
    fn tools_are_read_and_written_as_they_came() {
        for (tool, name) in [
            (
                json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}),
                "f",
            ),
            (
                json!({"type": "function", "function": {"name": "f", "parameters": null, "strict": true}, "cache": 1}),
                "f",
            ),
            (
                json!({"type": "function", "function": {"name": "", "description": 5}}),
                "",
            ),
            (json!({"type": "function"}), ""),
            (json!({"type": "web_search", "filters": [1]}), ""),
            (
                json!({"type": "function", "function": {"parameters": {}}}),
                "",
            ),
        ] {
            let read = ToolDefinition::deserialize(&tool).unwrap();
            assert_eq!((read.name.as_str(), &read.to_json()), (name, &tool));
        }
        assert!(ToolDefinition::deserialize(json!("f")).is_err());
    }
}
