//! The tools of a request: those that the client runs, and those of OpenAI's own.

use crate::format::responses::ClientTool;
use ambit_runtime::chat::{ToolChoice, ToolDefinition};
use ambit_runtime::{Error, Result};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The tools of a request.
#[derive(Default)]
pub struct RequestTools {
    /// Those that the client runs, as models are told of them.
    pub definitions: Vec<ToolDefinition>,
    /// The same by name.
    pub client_tools: BTreeMap<String, ClientTool>,
    /// The web may be searched.
    pub has_web_search: bool,
    /// The types of tools that are left out.
    pub left_out: Vec<String>,
}

/// Tools of OpenAI's that nobody here stands in for.
const REFUSED: [&str; 4] = ["file_search", "code_interpreter", "image_generation", "mcp"];

impl RequestTools {
    /// Reads the tools; `place` names the list in errors.
    pub fn read(tools: &[Map<String, Value>]) -> Result<Self> {
        let mut read = Self::default();
        for (at, tool) in tools.iter().enumerate() {
            read.add(&format!("tools[{at}]"), tool)?;
        }
        Ok(read)
    }

    fn add(&mut self, place: &str, tool: &Map<String, Value>) -> Result<()> {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "function" => self.function(place, tool, None),
            "custom" => self.custom(place, tool),
            "namespace" => self.namespace(place, tool),
            kind if kind.starts_with("web_search") => {
                self.has_web_search = true;
                Ok(())
            }
            kind if REFUSED.contains(&kind) || kind.starts_with("computer") => {
                let param = format!("{place}.type");
                let message = format!("{param} \"{kind}\" is not supported");
                Err(Error::unsupported(param, message))
            }
            "" => {
                let param = format!("{place}.type");
                let message = format!("{param} is missing");
                Err(Error::invalid(param, message))
            }
            other => {
                self.left_out.push(other.to_owned());
                Ok(())
            }
        }
    }

    fn function(
        &mut self,
        place: &str,
        tool: &Map<String, Value>,
        namespace: Option<&str>,
    ) -> Result<()> {
        let name = name(place, tool)?;
        let (known, kind) = match namespace {
            None => (name.to_owned(), ClientTool::Function),
            Some(namespace) => (
                format!("{namespace}__{name}"),
                ClientTool::Namespaced {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                },
            ),
        };
        let strict = tool.get("strict").filter(|strict| !strict.is_null());
        let mut function = json!({"name": known, "parameters": tool.get("parameters")});
        for (field, value) in [("description", tool.get("description")), ("strict", strict)] {
            if let Some(value) = value {
                function[field] = value.clone();
            }
        }
        self.push(known, kind, function);
        Ok(())
    }

    /// A tool that takes free text is a function with one argument.
    fn custom(&mut self, place: &str, tool: &Map<String, Value>) -> Result<()> {
        let name = name(place, tool)?;
        let text = |fields: &Map<String, Value>, name: &str| {
            fields.get(name).and_then(Value::as_str).map(str::to_owned)
        };
        let mut description = text(tool, "description").unwrap_or_default();
        let format = tool.get("format").and_then(Value::as_object);
        if let Some(format) = format
            && let Some(grammar) = text(format, "definition")
        {
            let syntax = text(format, "syntax").unwrap_or_default();
            description.push_str(&format!(
                "\n\nThe input must follow this {syntax} grammar:\n{grammar}"
            ));
        }
        let parameters = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"],
            "additionalProperties": false});
        let function = json!({"name": name, "description": description, "parameters": parameters});
        self.push(name.to_owned(), ClientTool::Custom, function);
        Ok(())
    }

    fn namespace(&mut self, place: &str, tool: &Map<String, Value>) -> Result<()> {
        let namespace = name(place, tool)?;
        let tools = tool.get("tools").and_then(Value::as_array);
        for (at, tool) in tools.into_iter().flatten().enumerate() {
            let place = format!("{place}.tools[{at}]");
            match (tool.as_object(), tool.get("type").and_then(Value::as_str)) {
                (Some(tool), Some("function")) => self.function(&place, tool, Some(namespace))?,
                (_, kind) => self.left_out.push(kind.unwrap_or("unknown").to_owned()),
            }
        }
        Ok(())
    }

    fn push(&mut self, name: String, kind: ClientTool, function: Value) {
        let fields = Map::from_iter([("function".to_owned(), function)]);
        self.definitions.push(ToolDefinition::from(fields));
        self.client_tools.insert(name, kind);
    }

    /// What `tool_choice` asks for, in the words of chat completions.
    pub fn choice(&self, choice: Option<&Value>) -> Result<Option<ToolChoice>> {
        let fields = match choice {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(mode)) if ["auto", "none", "required"].contains(&mode.as_str()) => {
                return Ok(Some(ToolChoice::Mode(mode.clone())));
            }
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                let message = "tool_choice must be auto, none, required or an object";
                return Err(Error::invalid("tool_choice", message));
            }
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        match (kind, text("name")) {
            ("function" | "custom", Some(name)) if self.client_tools.contains_key(name) => {
                let function = json!({"name": name});
                let choice = [("type", "function".into()), ("function", function)];
                let choice = choice.map(|(name, value)| (name.to_owned(), value));
                Ok(Some(ToolChoice::Object(choice.into_iter().collect())))
            }
            ("allowed_tools", _) => {
                let mode = text("mode").unwrap_or("auto");
                Ok(Some(ToolChoice::Mode(mode.to_owned())))
            }
            (kind, _) if kind.starts_with("web_search") && self.has_web_search => Ok(None),
            (kind, name) => {
                let name = name.unwrap_or(kind);
                let message = format!("tool_choice names \"{name}\", which is none of the tools");
                Err(Error::invalid("tool_choice", message))
            }
        }
    }
}

fn name<'a>(place: &str, tool: &'a Map<String, Value>) -> Result<&'a str> {
    let name = tool.get("name").and_then(Value::as_str);
    name.filter(|name| !name.is_empty()).ok_or_else(|| {
        let param = format!("{place}.name");
        let message = format!("{param} is missing");
        Error::invalid(param, message)
    })
}
