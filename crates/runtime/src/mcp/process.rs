//! An app's own processes as a server: nothing leaves this program.

mod arguments;
mod template;
mod uri;

use super::request::McpRequest;
use super::{tool_result, unknown};
use crate::app::{self, McpMapping, PromptMapping, ResourceMapping, ToolMapping};
use crate::error::{Error, ErrorCode, Result};
use crate::tool::{McpLists, McpPrompt, McpPromptArgument, McpResource, McpTool, ToolCaller};
use crate::value_text::value_text;
use arguments::MappingInput;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use uri::{UriTemplate, UriVariables};

/// The processes of a server.
pub struct ProcessServer {
    about: Arc<app::McpServerFile>,
    lists: Arc<McpLists>,
}

impl ProcessServer {
    /// What a server's mapping describes.
    pub fn new(about: Arc<app::McpServerFile>) -> Self {
        let McpMapping {
            tools,
            resources,
            prompts,
        } = &about.mapping;
        let lists = McpLists {
            tools: tools.iter().map(tool).collect(),
            resources: resources.iter().map(resource).collect(),
            prompts: prompts.iter().map(prompt).collect(),
        };
        Self {
            lists: Arc::new(lists),
            about,
        }
    }

    /// Examples of a tool or a resource, if there is one of this name.
    pub fn samples(&self, kind: &str, name: &str) -> Option<&[Value]> {
        let McpMapping {
            tools, resources, ..
        } = &self.about.mapping;
        match kind {
            "tool" => Some(&tools.iter().find(|tool| tool.name == name)?.samples),
            _ => Some(&resources.iter().find(|it| is_called(it, name))?.samples),
        }
    }

    /// All that the resource of this name, address or template can be called by.
    pub fn names_of(&self, name: &str) -> Option<[&str; 3]> {
        let mut known = self.about.mapping.resources.iter();
        let called = known.find(|it| is_called(it, name));
        let resource = called.or_else(|| Some(self.at(name)?.0))?;
        Some([&resource.name, &resource.label, &resource.uri])
    }

    /// The resource at an address, and the variables in it. One that has just this address comes before those whose template
    /// it fits.
    fn at(&self, uri: &str) -> Option<(&ResourceMapping, UriVariables)> {
        let known = self.about.mapping.resources.iter();
        let (same, others): (Vec<_>, Vec<_>) = known.partition(|it| it.uri == uri);
        let mut fitting = same.into_iter().chain(others);
        fitting.find_map(|it| Some((it, UriTemplate::new(&it.uri).variables(uri)?)))
    }

    async fn call(
        &self,
        tool: &ToolMapping,
        given: Map<String, Value>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let given = MappingInput::of_tool(Value::Object(given));
        let arguments = given.arguments(tool.arguments.as_deref());
        match caller.processes.run(&tool.process, arguments).await {
            Ok(result) => Ok(wrapped(result)),
            Err(error) if ends_turn(&error) => Err(error),
            Err(error) => Ok(tool_result::error(&failed(&tool.name, &error.message))),
        }
    }

    async fn read(&self, uri: &str, caller: &ToolCaller) -> Result<Value> {
        let Some((resource, (path, query))) = self.at(uri) else {
            return Err(self.unknown("resource", uri));
        };
        let given = MappingInput::of_resource(&path, query, resource.schema.as_ref());
        let arguments = given.arguments(resource.arguments.as_deref());
        let result = caller.processes.run(&resource.process, arguments).await?;
        if result.get("contents").is_some_and(Value::is_array) {
            return Ok(result);
        }
        let (usual, text) = match result {
            Value::String(text) => ("text/plain", text),
            other => ("application/json", other.to_string()),
        };
        let mime_type = resource.mime_type.as_deref().unwrap_or(usual);
        Ok(json!({"contents": [{"uri": uri, "mimeType": mime_type, "text": text}]}))
    }

    async fn prompt(
        &self,
        name: &str,
        given: Map<String, Value>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let mut known = self.about.mapping.prompts.iter();
        let Some(prompt) = known.find(|prompt| prompt.name == name) else {
            return Err(self.unknown("prompt", name));
        };
        for argument in &prompt.arguments {
            let needed = argument["name"].as_str().unwrap_or_default();
            if argument["required"] == true && !given.contains_key(needed) {
                let message = format!("prompt \"{name}\" needs the argument \"{needed}\"");
                return Err(Error::invalid(needed, message));
            }
        }
        let messages = match (&prompt.template, prompt.messages.as_slice()) {
            (None, []) => return self.prompt_of_process(prompt, given, caller).await,
            (Some(template), []) => vec![said("user", &template::fill(template, &given).into())],
            (_, messages) => {
                let fill = |text: &str| template::fill(text, &given);
                messages.iter().map(|it| filled(it, fill)).collect()
            }
        };
        Ok(json!({"description": prompt.description, "messages": messages}))
    }

    async fn prompt_of_process(
        &self,
        prompt: &PromptMapping,
        given: Map<String, Value>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let arguments = vec![Value::Object(given)];
        let result = caller.processes.run(&prompt.process, arguments).await?;
        match result {
            Value::String(text) => Ok(
                json!({"description": prompt.description, "messages": [said("user", &text.into())]}),
            ),
            result if result["messages"].is_array() => {
                let messages = result["messages"].as_array().into_iter().flatten();
                // What a process says is said as it is.
                let messages: Vec<Value> = messages.map(|it| filled(it, str::to_owned)).collect();
                let own = result["description"].as_str();
                Ok(json!({"description": own.unwrap_or(&prompt.description), "messages": messages}))
            }
            _ => {
                let message = format!(
                    "process {} gave no prompt: a string or {{messages}}",
                    prompt.process
                );
                Err(Error::new(ErrorCode::McpError, message))
            }
        }
    }

    /// What the mapping offers.
    pub fn lists(&self) -> Arc<McpLists> {
        self.lists.clone()
    }

    /// An answer, as the protocol writes it. Dropping the future cancels the work.
    pub async fn ask(&self, request: McpRequest, caller: &ToolCaller) -> Result<Value> {
        match request {
            McpRequest::Call { tool, arguments } => {
                let mut known = self.about.mapping.tools.iter();
                match known.find(|known| known.name == tool) {
                    Some(tool) => self.call(tool, arguments, caller).await,
                    None => Err(self.unknown("tool", &tool)),
                }
            }
            McpRequest::Read { uri } => self.read(&uri, caller).await,
            McpRequest::Prompt { name, arguments } => self.prompt(&name, arguments, caller).await,
        }
    }

    fn unknown(&self, what: &str, name: &str) -> Error {
        unknown(what, name, &self.about.id, [])
    }
}

/// What a call says that has gone wrong.
pub fn failed(tool: &str, why: &str) -> String {
    format!("Error executing tool {tool}: {why}")
}

/// Whether this is a resource's name in the server's file or in its own.
fn is_called(resource: &ResourceMapping, name: &str) -> bool {
    resource.name == name || resource.label == name
}

/// Errors that are not the tool's but the turn's.
pub fn ends_turn(error: &Error) -> bool {
    matches!(error.code, ErrorCode::Cancelled | ErrorCode::Fenced)
}

/// A process's result in the protocol's form.
pub fn wrapped(result: Value) -> Value {
    let mut wrapped = json!({"content": [{"type": "text", "text": value_text(&result)}]});
    if result.is_object() {
        wrapped["structuredContent"] = result;
    }
    wrapped
}

/// A message with its texts filled in, and its content in the protocol's form.
fn filled(message: &Value, fill: impl Fn(&str) -> String) -> Value {
    let role = message["role"].as_str().unwrap_or("user");
    let fill = |value: &Value| match value {
        Value::String(text) => fill(text).into(),
        other => other.clone(),
    };
    match &message["content"] {
        Value::Object(content) => {
            let content = content
                .iter()
                .map(|(key, value)| (key.clone(), fill(value)));
            json!({"role": role, "content": Value::Object(content.collect())})
        }
        content => said(role, &fill(content)),
    }
}

fn said(role: &str, text: &Value) -> Value {
    json!({"role": role, "content": {"type": "text", "text": text}})
}

fn tool(tool: &ToolMapping) -> McpTool {
    let description = tool.input.get("description").and_then(Value::as_str);
    McpTool {
        name: tool.name.clone(),
        description: description.map(str::to_owned),
        input_schema: tool.input.clone(),
        output_schema: tool.output.clone(),
    }
}

fn resource(resource: &ResourceMapping) -> McpResource {
    McpResource {
        uri: resource.uri.clone(),
        name: resource.label.clone(),
        description: Some(resource.description.clone()),
        mime_type: resource.mime_type.clone(),
        meta: None,
    }
}

fn prompt(prompt: &PromptMapping) -> McpPrompt {
    let arguments = prompt.arguments.iter().map(|argument| {
        let text = |key: &str| argument[key].as_str().map(str::to_owned);
        McpPromptArgument {
            name: text("name").unwrap_or_default(),
            description: text("description"),
            required: argument["required"].as_bool(),
        }
    });
    McpPrompt {
        name: prompt.name.clone(),
        description: Some(prompt.description.clone()),
        arguments: Some(arguments.collect()),
    }
}
