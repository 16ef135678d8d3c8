//! An app's own processes as a server: nothing leaves this program.

mod arguments;
mod template;
mod uri;

use super::request::McpRequest;
use super::{tool_result, unknown};
use crate::app::{McpMapping, McpServerFile, PromptMapping, ResourceMapping, ToolMapping};
use crate::error::{Error, ErrorCode, Result};
use crate::tool::{McpLists, McpPrompt, McpPromptArgument, McpResource, McpSample, ToolCaller};
use crate::value_text::value_text;
use arguments::MappingInput;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use uri::{UriTemplate, UriVariables};

/// The processes of a server.
pub struct ProcessServer {
    about: Arc<McpServerFile>,
    lists: Arc<McpLists>,
}

impl ProcessServer {
    /// What a server's mapping describes.
    pub fn new(about: Arc<McpServerFile>) -> Self {
        let McpMapping {
            tools,
            resources,
            prompts,
        } = &about.mapping;
        let lists = McpLists {
            tools: tools.iter().map(|it| it.tool.clone()).collect(),
            resources: resources.iter().map(resource).collect(),
            prompts: prompts.iter().map(prompt).collect(),
        };
        Self {
            lists: Arc::new(lists),
            about,
        }
    }

    /// Examples of a tool or a resource, if there is one of this name.
    pub fn samples(&self, kind: &str, name: &str) -> Option<&[McpSample]> {
        let McpMapping {
            tools, resources, ..
        } = &self.about.mapping;
        match kind {
            "tool" => Some(&tools.iter().find(|it| it.tool.name == name)?.samples),
            _ => Some(&resources.iter().find(|it| is_called(it, name))?.samples),
        }
    }

    /// All that the resource of this name, address or template can be called by.
    pub fn names_of(&self, name: &str) -> Option<[&str; 3]> {
        let mut known = self.about.mapping.resources.iter();
        let called = known.find(|it| is_called(it, name));
        let resource = called.or_else(|| Some(self.at(name)?.0))?;
        Some([&resource.name, resource.label(), &resource.file.uri])
    }

    /// The resource at an address, and the variables in it. One that has just this address comes before those whose template
    /// it fits.
    fn at(&self, uri: &str) -> Option<(&ResourceMapping, UriVariables)> {
        let known = self.about.mapping.resources.iter();
        let (same, others): (Vec<_>, Vec<_>) = known.partition(|it| it.file.uri == uri);
        let mut fitting = same.into_iter().chain(others);
        fitting.find_map(|it| Some((it, UriTemplate::new(&it.file.uri).variables(uri)?)))
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
            Err(error) => Ok(tool_result::error(&failed(&tool.tool.name, &error.message))),
        }
    }

    async fn read(&self, uri: &str, caller: &ToolCaller) -> Result<Value> {
        let Some((resource, variables)) = self.at(uri) else {
            return Err(self.unknown("resource", uri));
        };
        let file = &resource.file;
        let given = MappingInput::of_resource(&variables, &file.schema)?;
        let arguments = given.arguments(file.arguments.as_deref());
        let result = caller.processes.run(&resource.process, arguments).await?;
        if result.get("contents").is_some_and(Value::is_array) {
            return Ok(result);
        }
        let (usual, text) = match result {
            Value::String(text) => ("text/plain", text),
            other => ("application/json", other.to_string()),
        };
        let mime_type = file.mime_type.as_deref().unwrap_or(usual);
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
        let file = &prompt.file;
        for argument in &file.arguments {
            let needed = &argument.name;
            if argument.required == Some(true) && !given.contains_key(needed) {
                let message = format!("prompt \"{name}\" needs the argument \"{needed}\"");
                return Err(Error::invalid(needed.as_str(), message));
            }
        }
        let messages = match (&file.template, file.messages.as_slice()) {
            (None, []) => return self.prompt_of_process(prompt, given, caller).await,
            (Some(template), []) => vec![said("user", &template::fill(template, &given).into())],
            (_, messages) => {
                let fill = |text: &str| template::fill(text, &given);
                messages
                    .iter()
                    .map(|it| filled(&it.role, &it.content, fill))
                    .collect()
            }
        };
        Ok(json!({"description": file.description, "messages": messages}))
    }

    async fn prompt_of_process(
        &self,
        prompt: &PromptMapping,
        given: Map<String, Value>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let (process, arguments) = (&prompt.process, vec![Value::Object(given)]);
        let result = caller.processes.run(process, arguments).await?;
        let mut description = prompt.file.description.as_str();
        let messages = match &result {
            Value::String(_) => vec![said("user", &result)],
            result => {
                let Some(messages) = result["messages"].as_array() else {
                    let message =
                        format!("process {process} gave no prompt: a string or {{messages}}");
                    return Err(Error::new(ErrorCode::McpError, message));
                };
                description = result["description"].as_str().unwrap_or(description);
                // What a process says is said as it is.
                let message = |it: &Value| {
                    let role = it["role"].as_str().unwrap_or("user");
                    filled(role, &it["content"], str::to_owned)
                };
                messages.iter().map(message).collect()
            }
        };
        Ok(json!({"description": description, "messages": messages}))
    }

    /// What the mapping offers.
    pub fn lists(&self) -> Arc<McpLists> {
        self.lists.clone()
    }

    /// An answer, as the protocol writes it. Dropping the future cancels the work.
    pub async fn ask(&self, request: McpRequest, caller: &ToolCaller) -> Result<Value> {
        match request {
            McpRequest::Call {
                tool, arguments, ..
            } => {
                let mut known = self.about.mapping.tools.iter();
                match known.find(|known| known.tool.name == tool) {
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
    resource.name == name || resource.label() == name
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
fn filled(role: &str, content: &Value, fill: impl Fn(&str) -> String) -> Value {
    let fill = |value: &Value| match value {
        Value::String(text) => fill(text).into(),
        other => other.clone(),
    };
    match content {
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

fn resource(resource: &ResourceMapping) -> McpResource {
    let file = &resource.file;
    McpResource {
        uri: file.uri.clone(),
        name: resource.label().to_owned(),
        description: Some(file.description.clone()),
        mime_type: file.mime_type.clone(),
        meta: None,
    }
}

fn prompt(prompt: &PromptMapping) -> McpPrompt {
    let arguments = prompt.file.arguments.iter();
    let arguments = arguments.map(|argument| McpPromptArgument {
        name: argument.name.clone(),
        description: argument.description.as_ref().map(|text| text.0.clone()),
        required: argument.required,
    });
    McpPrompt {
        name: prompt.name.clone(),
        description: Some(prompt.file.description.clone()),
        arguments: Some(arguments.collect()),
    }
}
